//! The methods of clients that keep one cursor for each sender.

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{InboxId, InboxMessage, InboxSeq, PageLimit, PageView, SenderState};
use guildhall_protocol::rpc::RpcError;
use guildhall_protocol::rpc::message::MessageRow;
use guildhall_protocol::rpc::message_v2::{
    AckV2Params, AckV2Result, AllPage, PeerPage, PeerRow, PeersParams, PeersResult, PullV2Params,
    PullV2Result,
};
use guildhall_service::messages::InboxClient;

use super::call_error::CallError;
use super::message::{check_instance, seq};
use super::session::ClientSession;
use crate::edge::input::parse;

/// The scope of a cursor for one sender.
const PEER: &str = "peer";

/// Where every new device begins: with all that has not expired.
const BOOTSTRAP_FLOOR: i64 = 0;

const DEFAULT_PEERS: u32 = 100;

pub(super) async fn peers(session: &ClientSession, params: PeersParams) -> Result<PeersResult, CallError> {
    let (client, peers) = (session.inbox_client()?, &session.app.messages.peers);
    let (list, is_paged) = match params.filter.as_deref() {
        Some("all") => {
            let after = params.page_token.as_deref().map_or(Ok(0), str::parse);
            let after = after.map_err(|_| RpcError::invalid_params("page_token: not one of this server"))?;
            let limit = params.limit.unwrap_or(DEFAULT_PEERS);
            (peers.all(client, InboxId::new(after), limit).await?, true)
        }
        None | Some("pending") => (peers.pending(client).await?, false),
        Some(_) => return Err(RpcError::invalid_params("filter: expected pending or all").into()),
    };
    Ok(PeersResult {
        cursor_scope: PEER.to_owned(),
        receiver_aid: client.aid.to_string(),
        device_id: client.instance.device().to_owned(),
        slot_id: client.instance.slot().to_owned(),
        catalog_ready: true,
        bootstrap_floor_seq: BOOTSTRAP_FLOOR,
        peers: list.peers.iter().map(peer_row).collect(),
        has_more: is_paged.then_some(list.next.is_some()),
        next_page_token: list.next.map(|next| next.get().to_string()),
    })
}

fn peer_row(peer: &SenderState) -> PeerRow {
    PeerRow {
        sender_aid: peer.aid.to_string(),
        head_seq: peer.head.get(),
        server_ack_seq: peer.ack.get(),
        initial_after_seq: BOOTSTRAP_FLOOR,
        next_pending_seq: peer.pending.map(InboxSeq::get),
        volatile_has_more: false,
        retention_floor_seq: peer.oldest.map_or(peer.head, InboxSeq::previous).get(),
    }
}

pub(super) async fn pull(session: &ClientSession, params: PullV2Params) -> Result<PullV2Result, CallError> {
    let client = session.inbox_client()?;
    check_instance(client, params.device_id.as_deref(), params.slot_id.as_deref())?;
    let sender = sender(params.cursor_scope.as_deref(), params.sender_aid.as_deref())?;
    if let Some(up_to) = params.ack_up_to_seq.filter(|up_to| *up_to > 0) {
        let up_to = seq("ack_up_to_seq", up_to)?;
        session.app.messages.acks.confirm(client, sender.as_ref(), up_to).await?;
    }
    let (after, limit) = (seq("after_seq", params.after_seq)?, PageLimit::new(params.limit));
    match sender {
        Some(sender) => {
            let page = session.app.messages.pulls.page_of_sender(client, &sender, after, limit).await?;
            let messages = rows(&page.messages, client);
            let has_more = page.coverage.has_more;
            Ok(PullV2Result::Peer(Box::new(PeerPage {
                cursor_scope: PEER.to_owned(),
                sender_aid: sender.to_string(),
                device_id: client.instance.device().to_owned(),
                slot_id: client.instance.slot().to_owned(),
                count: messages.len(),
                messages,
                scan_after_seq: page.coverage.scan_after.get(),
                covered_through_seq: page.coverage.covered_through.get(),
                next_after_seq: page.coverage.covered_through.get(),
                head_seq: page.coverage.head.get(),
                persistent_has_more: has_more,
                volatile_has_more: false,
                has_more,
                retention_floor_seq: page.floor.get(),
                server_ack_seq: page.ack_seq.get(),
            })))
        }
        None => {
            let page =
                session.app.messages.pulls.page(client, after, limit, PageView::WithoutSealedV1).await?;
            let messages = rows(&page.messages, client);
            Ok(PullV2Result::All(Box::new(AllPage {
                count: messages.len(),
                messages,
                latest_seq: page.scanned_to.get(),
                has_more: page.has_more,
                server_ack_seq: page.ack_seq.get(),
                retention_floor_seq: 0,
                ephemeral_earliest_available_seq: page.ring_earliest.map(InboxSeq::get),
                ephemeral_dropped_count: page.ring_dropped,
            })))
        }
    }
}

pub(super) async fn ack(session: &ClientSession, params: AckV2Params) -> Result<AckV2Result, CallError> {
    let client = session.inbox_client()?;
    check_instance(client, params.device_id.as_deref(), params.slot_id.as_deref())?;
    let sender = sender(params.cursor_scope.as_deref(), params.sender_aid.as_deref())?;
    let up_to = seq("up_to_seq", params.up_to_seq)?;
    let confirmed = session.app.messages.acks.confirm(client, sender.as_ref(), up_to).await?;
    let ack_seq = confirmed.ack_seq.get();
    Ok(AckV2Result {
        success: true,
        ack_seq,
        cursor_scope: sender.as_ref().map(|_| PEER.to_owned()),
        effective_ack_seq: sender.as_ref().map(|_| ack_seq),
        peer_ack_seq: sender.as_ref().map(|_| ack_seq),
        sender_aid: sender.map(|sender| sender.to_string()),
    })
}

/// Returns the sender that a call is about; none for all.
fn sender(scope: Option<&str>, sender: Option<&str>) -> Result<Option<Aid>, CallError> {
    match (scope, sender) {
        (Some(PEER), Some(sender)) => Ok(Some(parse("sender_aid", sender)?)),
        (Some(PEER), None) => Err(RpcError::invalid_params("sender_aid: missing").into()),
        (None | Some(""), _) => Ok(None),
        (Some(_), _) => Err(RpcError::invalid_params("cursor_scope: expected peer").into()),
    }
}

fn rows(messages: &[InboxMessage], client: &InboxClient) -> Vec<MessageRow> {
    messages.iter().map(|message| MessageRow::pulled_v2(message, client.instance.device())).collect()
}
