//! Notices that somebody has confirmed messages.

use guildhall_domain::identity::Aid;
use guildhall_protocol::rpc::message::AckEvent;
use jiff::Timestamp;

use crate::socket::{ServerNotification, SocketError, SocketEvent, SocketEvents};

const ACK_EVENT: &str = "event/message.ack";

/// A device of a recipient has confirmed messages of this AID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryMark {
    pub by: Aid,
    pub device: String,
    /// The newest confirmed message of this AID, as [`SentMessage::seq`](super::SentMessage::seq).
    pub seq: i64,
    pub confirmed_at: Timestamp,
}

/// The delivery marks of an AID. They are not stored: those of the time without a connection are missed.
#[derive(Debug)]
pub struct DeliveryMarks(SocketEvents);

impl DeliveryMarks {
    pub(super) fn new(events: SocketEvents) -> Self {
        Self(events)
    }

    /// Waits for the next mark. An error is the end of the socket. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<DeliveryMark, SocketError> {
        loop {
            match self.0.next().await {
                Some(SocketEvent::Notification(notification)) => {
                    if let Some(mark) = mark(&notification) {
                        return Ok(mark);
                    }
                }
                Some(SocketEvent::Connected(_) | SocketEvent::Disconnected(_) | SocketEvent::Missed) => {}
                Some(SocketEvent::Ended(error)) => return Err(error),
                None => return Err(SocketError::Closed),
            }
        }
    }
}

fn mark(notification: &ServerNotification) -> Option<DeliveryMark> {
    if notification.method != ACK_EVENT {
        return None;
    }
    let event: AckEvent = serde_json::from_value(notification.params.clone()).ok()?;
    Some(DeliveryMark {
        by: event.to.parse().ok()?,
        device: event.device_id,
        seq: event.ack_seq,
        confirmed_at: Timestamp::from_millisecond(event.timestamp).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_valid_notices_of_confirmed_messages_are_marks() {
        let notification = |method: &str, to: &str| ServerNotification {
            method: method.to_owned(),
            params: json!({ "to": to, "device_id": "phone", "slot_id": "", "ack_seq": 7, "timestamp": 1_000 }),
        };
        let expected = DeliveryMark {
            by: "bobby.guild.example".parse().expect("an AID"),
            device: "phone".to_owned(),
            seq: 7,
            confirmed_at: Timestamp::from_second(1).expect("a time"),
        };
        assert_eq!(mark(&notification(ACK_EVENT, "bobby.guild.example")), Some(expected));
        assert_eq!(mark(&notification(ACK_EVENT, "")), None);
        assert_eq!(mark(&notification("event/message.received", "bobby.guild.example")), None);
    }
}
