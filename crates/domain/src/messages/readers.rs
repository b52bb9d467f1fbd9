//! Which devices a sealed message of the second version is for.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::inbox::{InboxMessage, MessageContent, MessageKind};
use crate::identity::Aid;

/// The rows of an envelope, as far as the server has to know them. They were checked when the message was sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SealedReaders {
    aad: SealedNames,
    recipients: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SealedNames {
    from_device: String,
}

/// AID and device; the rest is the key of the message, wrapped for that device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RowMembers")]
struct Row {
    aid: String,
    /// Empty where the row is for every device of the AID.
    device: String,
}

type Ignored = IgnoredAny;
type RowMembers = (String, String, Ignored, Ignored, Ignored, Ignored, Ignored, Ignored);

impl From<RowMembers> for Row {
    fn from((aid, device, ..): RowMembers) -> Self {
        Self { aid, device }
    }
}

impl SealedReaders {
    /// Reads the rows of an envelope; none where it has none.
    #[must_use]
    pub fn parse(envelope: &str) -> Option<Self> {
        serde_json::from_str(envelope).ok()
    }

    /// Returns whether a device has a row.
    #[must_use]
    pub fn includes(&self, aid: &Aid, device: &str) -> bool {
        let aid = aid.to_string();
        self.recipients.iter().any(|row| row.aid == aid && (row.device.is_empty() || row.device == device))
    }

    /// Returns whether another device of the sender has a row, in a message to somebody else.
    #[must_use]
    pub fn includes_other_devices_of(&self, sender: &Aid) -> bool {
        let sender = sender.to_string();
        self.recipients.iter().any(|row| row.aid == sender && row.device != self.aad.from_device)
    }

    /// Returns whether a device of the sender has a row, and is not the one that has sent the message.
    fn is_copy_for(&self, sender: &Aid, device: &str) -> bool {
        device != self.aad.from_device && self.includes(sender, device)
    }
}

impl InboxMessage {
    /// Returns whether a device of the inbox's owner can open this message, if it is a sealed one of the second version: a device
    /// that the sender did not know cannot. Other messages are for every device.
    #[must_use]
    pub fn is_sealed_for(&self, owner: &Aid, device: &str) -> bool {
        let MessageContent::Payload(envelope) = &self.content else { return true };
        match self.kind {
            MessageKind::SealedV2 => {
                SealedReaders::parse(envelope).is_none_or(|readers| readers.includes(owner, device))
            }
            MessageKind::SealedV2SelfCopy => {
                SealedReaders::parse(envelope).is_none_or(|readers| readers.is_copy_for(owner, device))
            }
            MessageKind::Plain
            | MessageKind::SealedV1
            | MessageKind::SealedV1Copies
            | MessageKind::SealedV1SelfCopies
            | MessageKind::Recall => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn aid(name: &str) -> Aid {
        format!("{name}.guild.example").parse().expect("an AID")
    }

    fn row(name: &str, device: &str, role: &str) -> Value {
        json!([
            aid(name).to_string(),
            device,
            role,
            "peer_device_prekey",
            "sha256:0",
            "sha256:1",
            "bm9uY2U=",
            "a2V5"
        ])
    }

    fn envelope(rows: &[Value]) -> String {
        json!({ "type": "e2ee.p2p_encrypted", "aad": { "from_device": "laptop" }, "recipients": rows })
            .to_string()
    }

    #[test]
    fn device_is_a_reader_where_it_has_a_row() {
        let envelope = envelope(&[row("alice", "tablet", "self_sync"), row("bobby", "phone", "peer")]);
        let readers = SealedReaders::parse(&envelope).expect("rows");
        for (name, device, expected) in [
            ("bobby", "phone", true),
            ("bobby", "tablet", false),
            ("bobby", "", false),
            ("alice", "tablet", true),
            ("carol", "phone", false),
        ] {
            assert_eq!(readers.includes(&aid(name), device), expected, "{name} {device}");
        }
    }

    #[test]
    fn row_without_a_device_is_for_every_device() {
        let readers = SealedReaders::parse(&envelope(&[row("bobby", "", "peer")])).expect("rows");
        assert!(readers.includes(&aid("bobby"), "phone") && readers.includes(&aid("bobby"), ""));
        assert!(!readers.includes(&aid("alice"), "phone"));
    }

    #[test]
    fn copy_is_for_the_other_devices_of_the_sender() {
        for (devices, tablet, other) in [
            (vec!["tablet"], true, true),
            (vec![""], true, true),
            (vec!["laptop"], false, false),
            (vec![], false, false),
        ] {
            let rows: Vec<Value> = devices.iter().map(|device| row("alice", device, "self_sync")).collect();
            let readers = SealedReaders::parse(&envelope(&rows)).expect("rows");
            assert_eq!(readers.is_copy_for(&aid("alice"), "tablet"), tablet, "{devices:?}");
            assert!(!readers.is_copy_for(&aid("alice"), "laptop"), "it has sent the message");
            assert_eq!(readers.includes_other_devices_of(&aid("alice")), other, "{devices:?}");
            assert!(!readers.includes_other_devices_of(&aid("bobby")));
        }
    }

    #[test]
    fn envelope_without_rows_has_no_readers() {
        for text in ["", "{}", r#"{"recipients":[["a","b"]]}"#, r#"{"recipients":[{}]}"#] {
            assert_eq!(SealedReaders::parse(text), None, "{text}");
        }
    }
}
