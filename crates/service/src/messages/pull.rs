//! Reads inboxes page by page. Reading changes nothing.

use std::time::Duration;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{
    DeviceCopies, InboxMessage, InboxSeq, MessageContent, MessageKind, PageLimit, PageView, PeerCoverage,
    PeerPosition, fit_page, peer_coverage, settled_seq,
};
use guildhall_store::inbox_messages::{self, PageQuery, SenderPageQuery};
use guildhall_store::ring_messages::{self, RingState};
use guildhall_store::{Store, inbox_cursors, inbox_senders};

use super::InboxClient;
use super::addresses::Addresses;
use crate::ServiceError;

/// What clients of the second version of end-to-end encryption cannot open.
pub(super) const SEALED_V1: [MessageKind; 3] =
    [MessageKind::SealedV1, MessageKind::SealedV1Copies, MessageKind::SealedV1SelfCopies];

/// A page over all senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePage {
    pub messages: Vec<InboxMessage>,
    /// Everything up to here was looked at.
    pub scanned_to: InboxSeq,
    pub has_more: bool,
    pub ack_seq: InboxSeq,
    /// Everything up to here is confirmed, or not for this instance.
    pub settled_seq: InboxSeq,
    pub ring_earliest: Option<InboxSeq>,
    pub ring_dropped: u64,
}

/// A page of one sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPage {
    pub messages: Vec<InboxMessage>,
    pub coverage: PeerCoverage,
    /// Messages up to here are gone.
    pub floor: InboxSeq,
    pub ack_seq: InboxSeq,
}

impl PeerPage {
    /// Returns the page of a sender that has sent nothing.
    fn empty(after: InboxSeq) -> Self {
        let position = PeerPosition { after, floor: InboxSeq::ZERO, head: InboxSeq::ZERO };
        Self {
            messages: Vec::new(),
            coverage: peer_coverage(position, None, false),
            floor: InboxSeq::ZERO,
            ack_seq: InboxSeq::ZERO,
        }
    }
}

/// Reads inboxes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pulls {
    store: Store,
    addresses: Addresses,
    queue_lifetime: Duration,
}

impl Pulls {
    pub(super) fn new(store: Store, addresses: Addresses, queue_lifetime: Duration) -> Self {
        Self { store, addresses, queue_lifetime }
    }

    /// Reads the messages of all senders after a seq, of both delivery modes.
    pub async fn page(
        &self,
        client: &InboxClient,
        after: InboxSeq,
        limit: PageLimit,
        view: PageView,
    ) -> Result<MessagePage, ServiceError> {
        let (device, slot) = (client.instance.device(), client.instance.slot_key());
        let queue_lifetime = self.queue_lifetime;
        ring_messages::assign(&self.store, client.inbox, device, slot).await?;
        let query = PageQuery { inbox: client.inbox, after, limit, device, slot, queue_lifetime };
        let mut found = inbox_messages::page(&self.store, &query).await?;
        fit_page(&mut found);
        let RingState { earliest, dropped } =
            ring_messages::state(&self.store, client.inbox, queue_lifetime).await?;
        let ack_seq = inbox_cursors::find(&self.store, client.inbox, &client.instance, None).await?;
        let scanned_to = found.last().map_or(after, |message| message.seq);
        let has_more = self.has_more(client, scanned_to, found.is_empty()).await?;
        let messages: Vec<InboxMessage> =
            found.into_iter().filter_map(|message| for_instance(message, client, view)).collect();
        let unread = messages.iter().map(|message| message.seq).find(|seq| *seq > ack_seq);
        Ok(MessagePage {
            messages,
            scanned_to,
            has_more,
            ack_seq,
            settled_seq: settled_seq(ack_seq, after, unread, scanned_to),
            ring_earliest: earliest,
            ring_dropped: dropped,
        })
    }

    async fn has_more(
        &self,
        client: &InboxClient,
        after: InboxSeq,
        is_empty: bool,
    ) -> Result<bool, ServiceError> {
        if is_empty {
            return Ok(false);
        }
        let query = PageQuery {
            inbox: client.inbox,
            after,
            limit: PageLimit::new(Some(1)),
            device: client.instance.device(),
            slot: client.instance.slot_key(),
            queue_lifetime: self.queue_lifetime,
        };
        Ok(!inbox_messages::page(&self.store, &query).await?.is_empty())
    }

    /// Reads the durable messages of one sender after a seq. The page of an AID that is not registered here is empty: it has sent
    /// nothing.
    pub async fn page_of_sender(
        &self,
        client: &InboxClient,
        sender: &Aid,
        after: InboxSeq,
        limit: PageLimit,
    ) -> Result<PeerPage, ServiceError> {
        let Some(sender) = self.addresses.find(sender).await? else { return Ok(PeerPage::empty(after)) };
        // Before the page: a message that is stored in between is in the page, and the coverage takes it in.
        let (head, oldest) = inbox_senders::find(&self.store, client.inbox, sender).await?;
        let floor = oldest.map_or(head, InboxSeq::previous);
        let query = SenderPageQuery {
            inbox: client.inbox,
            sender,
            after: after.max(floor),
            limit,
            without: &SEALED_V1,
        };
        let mut messages = inbox_messages::page_of_sender(&self.store, &query).await?;
        fit_page(&mut messages);
        let last = messages.last().map(|message| message.seq);
        let is_cut = last.is_some_and(|last| last < head);
        // Covered, and left out: one row that its reader cannot open stops the reader for good.
        messages.retain(|message| message.is_sealed_for(&client.aid, client.instance.device()));
        let coverage = peer_coverage(PeerPosition { after, floor, head }, last, is_cut);
        let ack_seq = inbox_cursors::find(&self.store, client.inbox, &client.instance, Some(sender)).await?;
        Ok(PeerPage { messages, coverage, floor, ack_seq })
    }
}

/// Returns a message as one instance gets it; none where there is nothing for it.
#[must_use]
pub fn for_instance(mut message: InboxMessage, client: &InboxClient, view: PageView) -> Option<InboxMessage> {
    if !message.is_sealed_for(&client.aid, client.instance.device()) {
        return None;
    }
    match (message.kind, view) {
        (
            MessageKind::Plain | MessageKind::SealedV2 | MessageKind::SealedV2SelfCopy | MessageKind::Recall,
            _,
        ) => {}
        (MessageKind::SealedV1, PageView::All) => {}
        (MessageKind::SealedV1Copies | MessageKind::SealedV1SelfCopies, PageView::All) => {
            if let MessageContent::Payload(copies) = &message.content {
                let copy = DeviceCopies::find(copies, client.instance.device())?;
                message.content = MessageContent::Payload(copy.to_string());
            }
        }
        (
            MessageKind::SealedV1 | MessageKind::SealedV1Copies | MessageKind::SealedV1SelfCopies,
            PageView::WithoutSealedV1,
        ) => return None,
    }
    Some(message)
}
