//! The methods `message.*`, except those of end-to-end encryption.

use std::collections::BTreeSet;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{
    DeliveryMode, InboxSeq, MAX_RECALLED, MessageId, PageLimit, PageView, SentPayload,
};
use guildhall_protocol::rpc::RpcError;
use guildhall_protocol::rpc::message::{
    AckParams, AckResult, MessageRow, PullParams, PullResult, QueryOnlineParams, QueryOnlineResult,
    RecallFailure, RecallParams, RecallResult, SendParams, SendResult,
};
use guildhall_service::ServiceError;
use guildhall_service::messages::{InboxClient, MessageError, MessageRequest};

use super::call_error::CallError;
use super::session::ClientSession;
use crate::edge::input::parse;

/// AIDs in one question.
const MAX_AIDS: usize = 100;

pub(super) async fn send(session: &ClientSession, params: SendParams) -> Result<SendResult, CallError> {
    let SendParams { to, device_id, payload, envelope_type, encrypted, message_id, delivery_mode } = params;
    let request = MessageRequest {
        to: parse("to", &to)?,
        device: device_id,
        id: message_id.map(|id| parse("message_id", &id)).transpose()?,
        payload: SentPayload::parse(payload, &envelope_type, encrypted)
            .map_err(|error| ServiceError::from(MessageError::from(error)))?,
        envelope_type: envelope_type_of(envelope_type)?,
        mode: mode(delivery_mode.as_ref().map(|mode| mode.mode.as_str()))?,
    };
    let sent = session.app.messages.sends.send(session.inbox_client()?, request).await?;
    Ok(SendResult {
        message_id: sent.id.to_string(),
        seq: sent.seq.get(),
        timestamp: sent.sent_at.as_millisecond(),
        status: if sent.is_repeated { "duplicate" } else { "sent" }.to_owned(),
        delivery_mode: sent.mode.as_str().to_owned(),
    })
}

pub(super) async fn pull(session: &ClientSession, params: PullParams) -> Result<PullResult, CallError> {
    let client = session.inbox_client()?;
    check_instance(client, params.device_id.as_deref(), params.slot_id.as_deref())?;
    let (after, limit) = (seq("after_seq", params.after_seq)?, PageLimit::new(params.limit));
    let page = session.app.messages.pulls.page(client, after, limit, PageView::All).await?;
    let messages: Vec<MessageRow> =
        page.messages.iter().map(|message| MessageRow::pulled(message, client.instance.device())).collect();
    Ok(PullResult {
        count: messages.len(),
        messages,
        latest_seq: page.scanned_to.get(),
        has_more: page.has_more,
        server_ack_seq: page.settled_seq.get(),
        ephemeral_earliest_available_seq: page.ring_earliest.map(InboxSeq::get),
        ephemeral_dropped_count: page.ring_dropped,
    })
}

pub(super) async fn ack(session: &ClientSession, params: AckParams) -> Result<AckResult, CallError> {
    let client = session.inbox_client()?;
    check_instance(client, params.device_id.as_deref(), params.slot_id.as_deref())?;
    let confirmed = session.app.messages.acks.confirm(client, None, seq("seq", params.seq)?).await?;
    Ok(AckResult { success: true, ack_seq: confirmed.ack_seq.get() })
}

pub(super) async fn recall(session: &ClientSession, params: RecallParams) -> Result<RecallResult, CallError> {
    if params.message_ids.len() > MAX_RECALLED {
        return Err(ServiceError::from(MessageError::RecallSize).into());
    }
    let mut errors = Vec::new();
    let mut ids: Vec<MessageId> = Vec::new();
    for text in &params.message_ids {
        match text.parse() {
            Ok(id) if ids.contains(&id) => {}
            Ok(id) => ids.push(id),
            // It cannot be the id of any message.
            Err(_) => errors.push(RecallFailure { message_id: text.clone(), error: "not_found".to_owned() }),
        }
    }
    let client = session.inbox_client()?;
    let mut recalled = 0;
    if !ids.is_empty() || params.message_ids.is_empty() {
        let outcome = session.app.messages.recalls.recall(client, &ids).await?;
        recalled = outcome.recalled.len();
        errors.extend(outcome.errors.into_iter().map(|(id, error)| RecallFailure {
            message_id: id.to_string(),
            error: error.as_str().to_owned(),
        }));
    }
    let accepted = params.message_ids.len();
    Ok(RecallResult { success: true, accepted, recalled, errors: (!errors.is_empty()).then_some(errors) })
}

pub(super) async fn query_online(
    session: &ClientSession,
    params: QueryOnlineParams,
) -> Result<QueryOnlineResult, CallError> {
    if params.aids.len() > MAX_AIDS {
        return Err(ServiceError::from(MessageError::TooManyAids).into());
    }
    // What is no AID is not online.
    let aids: BTreeSet<Aid> = params.aids.iter().filter_map(|aid| aid.parse().ok()).collect();
    let online = session.app.messages.query_online(session.inbox_client()?, &aids).await?;
    let is_online = |text: &str| text.parse().is_ok_and(|aid: Aid| online.contains(&aid));
    let online = params.aids.iter().map(|text| (text.clone(), is_online(text))).collect();
    Ok(QueryOnlineResult { online })
}

/// Refuses another device or slot than the connection's.
pub(super) fn check_instance(
    client: &InboxClient,
    device: Option<&str>,
    slot: Option<&str>,
) -> Result<(), ServiceError> {
    let instance = &client.instance;
    let is_device = device.is_none_or(|device| device == instance.device());
    // With its label or without.
    let is_slot = slot.is_none_or(|slot| slot == instance.slot() || slot == instance.slot_key());
    if is_device && is_slot { Ok(()) } else { Err(MessageError::OtherInstance.into()) }
}

pub(super) fn seq(member: &'static str, number: i64) -> Result<InboxSeq, CallError> {
    let invalid = || RpcError::invalid_params(format!("{member}: expected 0 or more"));
    InboxSeq::new(number).ok_or_else(|| invalid().into())
}

/// Parses a delivery mode. Clients that say none send durable messages.
pub(super) fn mode(name: Option<&str>) -> Result<DeliveryMode, CallError> {
    let Some(name) = name else { return Ok(DeliveryMode::Fanout) };
    DeliveryMode::from_name(name)
        .map_err(|error| RpcError::invalid_params(format!("delivery_mode.mode: {error}")).into())
}

/// The longest `type` beside a payload.
const MAX_ENVELOPE_TYPE: usize = 64;

fn envelope_type_of(text: String) -> Result<String, CallError> {
    let is_valid = text.len() <= MAX_ENVELOPE_TYPE && text.bytes().all(|byte| byte.is_ascii_graphic());
    let message = "type: expected at most 64 printable ASCII characters";
    if is_valid { Ok(text) } else { Err(RpcError::invalid_params(message).into()) }
}
