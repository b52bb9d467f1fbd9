//! How messages of an inbox are written for clients.

use guildhall_domain::messages::{InboxMessage, MessageContent, MessageKind};
use serde_json::{Value, json};

use super::message::{LegacyPayload, MessageRow, PeerMessageEvent, RecalledEvent};

/// The type of a row that stands for recalled messages.
const RECALLED: &str = "message.recalled";

/// The type of a sealed message of the first version.
const SEALED_V1: &str = "e2ee.encrypted";

/// A sealed message up to this size is written twice for `message.pull`. As a string, a larger one can take the room of a frame.
const MAX_REPEATED_BYTES: usize = 64 * 1024;

impl MessageRow {
    /// Writes a message for `event/message.received`. `device` is the one that reads it.
    #[must_use]
    pub fn pushed(message: &InboxMessage, device: &str) -> Self {
        let is_copy = matches!(message.kind, MessageKind::SealedV1Copies | MessageKind::SealedV1SelfCopies);
        let is_own = matches!(message.kind, MessageKind::SealedV1SelfCopies | MessageKind::SealedV2SelfCopy);
        let timestamp = message.sent_at.as_millisecond();
        let recalled = recalled_ids(message);
        let envelope_type = match (&recalled, message.kind) {
            (Some(_), _) => RECALLED,
            (None, MessageKind::SealedV1 | MessageKind::SealedV1Copies | MessageKind::SealedV1SelfCopies) => {
                SEALED_V1
            }
            (
                None,
                MessageKind::Plain
                | MessageKind::SealedV2
                | MessageKind::SealedV2SelfCopy
                | MessageKind::Recall,
            ) => &message.envelope_type,
        };
        Self {
            message_id: message.id.to_string(),
            seq: message.seq.get(),
            from: message.from.to_string(),
            from_aid: message.from.to_string(),
            to: message.to.to_string(),
            timestamp,
            t_server: timestamp,
            envelope_type: envelope_type.to_owned(),
            delivery_mode: message.mode.as_str().to_owned(),
            encrypted: message.kind.is_sealed() && recalled.is_none(),
            payload: Some(payload(message, recalled.as_deref())),
            message_ids: recalled,
            device_id: is_copy.then(|| device.to_owned()),
            direction: is_own.then(|| "outbound_sync".to_owned()),
            version: None,
            envelope_json: None,
            legacy_v1: None,
            prev_peer_seq: None,
        }
    }

    /// Writes a message for `message.pull`, with the members that clients of each version read.
    #[must_use]
    pub fn pulled(message: &InboxMessage, device: &str) -> Self {
        let row = Self::pushed(message, device);
        if let Some(envelope) = sealed_v2(message) {
            let is_repeated = envelope.len() <= MAX_REPEATED_BYTES;
            let envelope_json = is_repeated.then(|| envelope.to_owned());
            return Self { version: Some("v2".to_owned()), envelope_json, ..row };
        }
        let legacy = |payload| LegacyPayload { payload, to: row.to.clone() };
        let legacy_v1 = row.payload.clone().map(legacy);
        Self { version: Some("v1".to_owned()), legacy_v1, ..row }
    }

    /// Writes a message for `message.v2.pull`. Its clients do not accept a sealed message that has a payload too.
    #[must_use]
    pub fn pulled_v2(message: &InboxMessage, device: &str) -> Self {
        let row = Self::pulled(message, device);
        let envelope_json = sealed_v2(message).map(str::to_owned);
        let payload = row.payload.filter(|_| envelope_json.is_none());
        let prev_peer_seq = Some(message.previous_of_sender.get());
        Self { payload, envelope_json, prev_peer_seq, ..row }
    }
}

impl PeerMessageEvent {
    /// Writes the event for a sealed message of the second version.
    #[must_use]
    pub fn new(message: &InboxMessage, inline: Option<MessageRow>) -> Self {
        Self {
            seq: message.seq.get(),
            message_id: message.id.to_string(),
            from_aid: message.from.to_string(),
            to: message.to.to_string(),
            t_server: message.sent_at.as_millisecond(),
            prev_peer_seq: message.previous_of_sender.get(),
            inline_message: inline,
        }
    }
}

impl RecalledEvent {
    /// Writes the event for a notice of a recall; none for other messages.
    #[must_use]
    pub fn new(message: &InboxMessage) -> Option<Self> {
        let message_ids = (message.kind == MessageKind::Recall).then(|| recalled_ids(message)).flatten()?;
        Some(Self {
            from: message.from.to_string(),
            to: message.to.to_string(),
            message_ids,
            timestamp: message.sent_at.as_millisecond(),
            seq: message.seq.get(),
        })
    }
}

/// Returns the envelope of a sealed message of the second version.
fn sealed_v2(message: &InboxMessage) -> Option<&str> {
    match &message.content {
        MessageContent::Payload(envelope) => {
            let is_v2 = matches!(message.kind, MessageKind::SealedV2 | MessageKind::SealedV2SelfCopy);
            is_v2.then_some(envelope)
        }
        MessageContent::Recalled => None,
    }
}

/// Returns the ids of the messages that a row says were recalled: its own, or those of a notice.
fn recalled_ids(message: &InboxMessage) -> Option<Vec<String>> {
    let payload = match &message.content {
        MessageContent::Recalled => return Some(vec![message.id.to_string()]),
        MessageContent::Payload(payload) if message.kind == MessageKind::Recall => payload,
        MessageContent::Payload(_) => return None,
    };
    let notice: Value = serde_json::from_str(payload).unwrap_or_default();
    let ids = notice["message_ids"].as_array().cloned().unwrap_or_default();
    Some(ids.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn payload(message: &InboxMessage, recalled: Option<&[String]>) -> Value {
    match (recalled, &message.content) {
        (Some(ids), _) => json!({ "type": RECALLED, "message_ids": ids }),
        // Stored as JSON; never anything else.
        (None, MessageContent::Payload(payload)) => serde_json::from_str(payload).unwrap_or_default(),
        (None, MessageContent::Recalled) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::messages::{DeliveryMode, InboxId, InboxSeq, MAX_PAGE, fit_page};
    use jiff::Timestamp;

    use super::*;

    fn message(kind: MessageKind, content: MessageContent) -> InboxMessage {
        InboxMessage {
            inbox: InboxId::new(1),
            seq: InboxSeq::new(7).expect("a seq"),
            previous_of_sender: InboxSeq::new(5).expect("a seq"),
            id: "m-1".parse().expect("an id"),
            from: "alice.guild.example".parse().expect("an AID"),
            to: "bobby.guild.example".parse().expect("an AID"),
            kind,
            envelope_type: String::new(),
            mode: DeliveryMode::Fanout,
            sent_at: Timestamp::from_millisecond(1_700_000_000_123).expect("a time"),
            content,
        }
    }

    fn payload_of(text: &Value) -> MessageContent {
        MessageContent::Payload(text.to_string())
    }

    #[test]
    fn plain_message_has_its_payload_in_the_place_of_each_version() {
        let text = json!({ "type": "text", "text": "hi" });
        let message = message(MessageKind::Plain, payload_of(&text));
        let row = json!({
            "message_id": "m-1", "seq": 7, "from": "alice.guild.example", "from_aid": "alice.guild.example",
            "to": "bobby.guild.example", "timestamp": 1_700_000_000_123_i64, "t_server": 1_700_000_000_123_i64,
            "type": "", "delivery_mode": "fanout", "encrypted": false, "payload": text,
        });
        assert_eq!(json!(MessageRow::pushed(&message, "d")), row);
        let mut pulled = row;
        pulled["version"] = "v1".into();
        pulled["legacy_v1"] = json!({ "payload": text, "to": "bobby.guild.example" });
        assert_eq!(json!(MessageRow::pulled(&message, "d")), pulled);
        pulled["prev_peer_seq"] = 5.into();
        assert_eq!(json!(MessageRow::pulled_v2(&message, "d")), pulled);
    }

    #[test]
    fn message_of_the_first_version_has_its_envelope_in_the_place_of_each() {
        let envelope = json!({ "type": SEALED_V1, "n": 1 });
        let message = message(MessageKind::SealedV1, payload_of(&envelope));
        let row = MessageRow::pulled(&message, "d");
        assert_eq!((row.version.as_deref(), row.encrypted), (Some("v1"), true));
        assert_eq!(row.payload.as_ref(), Some(&envelope));
        assert_eq!(row.legacy_v1, Some(LegacyPayload { payload: envelope, to: row.to }));
    }

    #[test]
    fn sealed_message_of_the_second_version_is_a_string_for_its_clients() {
        let envelope = json!({ "type": "e2ee.p2p_encrypted", "n": 1 });
        let message = message(MessageKind::SealedV2, payload_of(&envelope));
        let row = MessageRow::pulled_v2(&message, "d");
        assert_eq!((row.version.as_deref(), row.encrypted), (Some("v2"), true));
        assert_eq!(row.envelope_json, Some(envelope.to_string()));
        assert_eq!((row.payload.as_ref(), row.legacy_v1.as_ref()), (None, None));
        let pulled = MessageRow { payload: Some(envelope), prev_peer_seq: None, ..row };
        assert_eq!(MessageRow::pulled(&message, "d"), pulled, "a client of both versions reads the payload");
    }

    #[test]
    fn large_sealed_message_is_written_once() {
        let envelope = json!({ "type": "e2ee.p2p_encrypted", "ciphertext": "x".repeat(MAX_REPEATED_BYTES) });
        let message = message(MessageKind::SealedV2, payload_of(&envelope));
        let row = MessageRow::pulled(&message, "d");
        assert_eq!(
            (row.version.as_deref(), row.envelope_json, row.payload),
            (Some("v2"), None, Some(envelope))
        );
        assert!(MessageRow::pulled_v2(&message, "d").envelope_json.is_some());
    }

    #[test]
    fn recalled_message_keeps_its_place_and_no_content() {
        for kind in [MessageKind::Plain, MessageKind::SealedV1, MessageKind::SealedV2] {
            let message = message(kind, MessageContent::Recalled);
            let row = MessageRow::pushed(&message, "d");
            assert_eq!((row.seq, row.envelope_type.as_str(), row.encrypted), (7, RECALLED, false));
            assert_eq!(row.payload, Some(json!({ "type": RECALLED, "message_ids": ["m-1"] })));
            assert_eq!(row.message_ids, Some(vec!["m-1".to_owned()]));
            assert_eq!(RecalledEvent::new(&message), None);
        }
    }

    #[test]
    fn notice_of_a_recall_names_the_messages() {
        let notice = json!({ "type": RECALLED, "message_ids": ["a", "b"] });
        let message = message(MessageKind::Recall, payload_of(&notice));
        assert_eq!(MessageRow::pushed(&message, "d").payload, Some(notice));
        let event = RecalledEvent::new(&message).expect("an event");
        assert_eq!((event.message_ids, event.seq), (vec!["a".to_owned(), "b".to_owned()], 7));
    }

    #[test]
    fn copies_name_their_device_and_direction() {
        let envelope = json!({ "type": "e2ee.encrypted" });
        let copy = MessageRow::pushed(&message(MessageKind::SealedV1Copies, payload_of(&envelope)), "phone");
        assert_eq!((copy.device_id.as_deref(), copy.direction), (Some("phone"), None));
        assert_eq!((copy.envelope_type.as_str(), copy.encrypted), (SEALED_V1, true));
        let own =
            MessageRow::pushed(&message(MessageKind::SealedV1SelfCopies, payload_of(&envelope)), "phone");
        assert_eq!(own.direction.as_deref(), Some("outbound_sync"));
        let own =
            MessageRow::pulled_v2(&message(MessageKind::SealedV2SelfCopy, payload_of(&envelope)), "phone");
        assert_eq!((own.device_id, own.direction.as_deref()), (None, Some("outbound_sync")));
        assert_eq!((own.version.as_deref(), own.envelope_json), (Some("v2"), Some(envelope.to_string())));
    }

    /// A page that is too large ends the connection of its client, each time that it asks for it.
    #[test]
    fn page_of_the_longest_messages_stays_below_a_megabyte() {
        let (id, label) = ("m".repeat(128), "x".repeat(64));
        let aid = format!("{label}.{}.guild.example", vec!["i".repeat(63); 2].join("."));
        let quotes = json!({ "type": "e2ee.p2p_encrypted", "rest": "\"\\".repeat(100_000) });
        let notice = json!({ "type": RECALLED, "message_ids": vec![&id; 100] });
        let text = |bytes: usize| json!({ "text": "x".repeat(bytes) });
        for (kind, payload) in [
            (MessageKind::Plain, text(4_400)),
            (MessageKind::Plain, text(430_000)),
            (MessageKind::SealedV1, text(430_000)),
            (MessageKind::SealedV2, quotes),
            (MessageKind::SealedV2, text(0)),
            (MessageKind::Recall, notice),
        ] {
            let longest = InboxMessage {
                id: id.parse().expect("an id"),
                from: aid.parse().expect("an AID"),
                to: aid.parse().expect("an AID"),
                seq: InboxSeq::new(i64::MAX).expect("a seq"),
                previous_of_sender: InboxSeq::new(i64::MAX).expect("a seq"),
                envelope_type: "t".repeat(64),
                ..message(kind, payload_of(&payload))
            };
            let mut page = vec![longest; usize::try_from(MAX_PAGE).expect("small")];
            fit_page(&mut page);
            for write in [MessageRow::pulled, MessageRow::pulled_v2] {
                let rows: Vec<MessageRow> = page.iter().map(|message| write(message, "device")).collect();
                let bytes = json!(rows).to_string().len();
                assert!(bytes < 1024 * 1024 - 1024, "{} messages of {kind:?}: {bytes} bytes", rows.len());
            }
        }
    }
}
