//! Notifications about an inbox, as each client expects them.

use guildhall_domain::messages::{InboxMessage, MessageKind, PageView};
use guildhall_protocol::rpc::Notification;
use guildhall_protocol::rpc::auth::ClientCapabilities;
use guildhall_protocol::rpc::message::{AckEvent, MessageRow, PeerMessageEvent, RecalledEvent};
use guildhall_service::messages::{AckNotice, InboxClient, InboxEvent, for_instance};

/// The versions of end-to-end encryption, in the capabilities of a client. Some clients open both.
const E2EE_V1: &str = "e2ee";
const E2EE_V2: &str = "e2ee_v2";

/// The largest payload that an event repeats for clients of the second version. Larger ones are pulled.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Which events a client expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventStyle {
    /// It keeps one cursor for each sender.
    is_v2: bool,
    /// It opens sealed messages of the first version.
    opens_v1: bool,
    takes_inline: bool,
}

impl EventStyle {
    pub(super) fn new(capabilities: Option<&ClientCapabilities>) -> Self {
        let supports = |version: &str| {
            capabilities.is_some_and(|found| found.supported_p2p_e2ee.iter().any(|name| name == version))
        };
        let is_v2 = supports(E2EE_V2);
        Self {
            is_v2,
            opens_v1: !is_v2 || supports(E2EE_V1),
            takes_inline: capabilities.is_some_and(|found| found.inline_realtime_payload_v1),
        }
    }

    /// Returns the notification of an event; none where it is not for this client.
    pub(super) fn notification(self, event: &InboxEvent, client: &InboxClient) -> Option<String> {
        match event {
            InboxEvent::Confirmed(notice) => Some(confirmed(notice)),
            InboxEvent::Message(message) => self.message(message, client),
        }
    }

    fn message(self, message: &InboxMessage, client: &InboxClient) -> Option<String> {
        if let Some(recalled) = RecalledEvent::new(message) {
            return Some(Notification::new("event/message.recalled", recalled).to_text());
        }
        let device = client.instance.device();
        if !message.is_sealed_for(&client.aid, device) {
            return None;
        }
        if matches!(message.kind, MessageKind::SealedV2 | MessageKind::SealedV2SelfCopy) {
            let inline = self.takes_inline && message.content.len() <= MAX_INLINE_BYTES;
            let inline = inline.then(|| MessageRow::pulled_v2(message, device));
            let event = PeerMessageEvent::new(message, inline);
            return Some(Notification::new("event/peer.v2.message_received", event).to_text());
        }
        let view = if self.opens_v1 { PageView::All } else { PageView::WithoutSealedV1 };
        let message = for_instance(message.clone(), client, view)?;
        let mut row = MessageRow::pushed(&message, device);
        row.prev_peer_seq = self.is_v2.then_some(message.previous_of_sender.get());
        Some(Notification::new("event/message.received", row).to_text())
    }
}

fn confirmed(notice: &AckNotice) -> String {
    let event = AckEvent {
        to: notice.by.to_string(),
        device_id: notice.instance.device().to_owned(),
        slot_id: notice.instance.slot().to_owned(),
        ack_seq: notice.ack_seq.get(),
        timestamp: notice.at.as_millisecond(),
    };
    Notification::new("event/message.ack", event).to_text()
}
