//! The request of a webhook, as Standard Webhooks defines it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::event::WebhookEventType;
use crate::ids::WebhookEventId;

pub const ID_HEADER: &str = "webhook-id";
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// The prefix of a signing secret in its text form.
pub const SECRET_PREFIX: &str = "whsec_";

/// Returns the body of a request. It is the same text at every attempt.
#[must_use]
pub fn body(event: WebhookEventType, occurred_at: Timestamp, data: &Value) -> String {
    json!({ "type": event, "timestamp": occurred_at, "data": data }).to_string()
}

/// Returns what is signed: the id of the event, the time of the attempt and the body. Neither of the first two contains
/// the separator, so no other message has the same content.
#[must_use]
pub fn signed_content(event: WebhookEventId, attempted_at: Timestamp, body: &str) -> String {
    format!("{event}.{}.{body}", attempted_at.as_second())
}

/// Returns the value of the signature header. Receivers accept a message if one of the signatures is valid. They split at
/// every space, so there is exactly one between two signatures.
#[must_use]
pub fn signature_header(signatures: &[String]) -> String {
    let versioned: Vec<String> = signatures.iter().map(|signature| format!("v1,{signature}")).collect();
    versioned.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn request_has_the_form_of_standard_webhooks() {
        let at: Timestamp = "2026-11-17T08:00:00.5Z".parse().expect("a time");
        let body = body(WebhookEventType::Test, at, &json!({ "b": 1, "a": "é" }));
        assert_eq!(
            body,
            r#"{"data":{"a":"é","b":1},"timestamp":"2026-11-17T08:00:00.5Z","type":"webhook.test"}"#
        );
        let id = WebhookEventId::from_uuid(Uuid::from_u128(1));
        assert_eq!(signed_content(id, at, "{}"), "evt_00000000000000000000000000000001.1794902400.{}");
        assert_eq!(signature_header(&["one=".to_owned(), "two=".to_owned()]), "v1,one= v1,two=");
        assert_eq!(signature_header(&["one=".to_owned()]), "v1,one=");
    }

    proptest! {
        #[test]
        fn different_messages_have_different_signed_content(
            ids in any::<(u128, u128)>(),
            times in (0i64..4_000_000_000, 0i64..4_000_000_000),
            bodies in (".{0,20}", ".{0,20}"),
        ) {
            let content = |id: u128, second: i64, body: &str| {
                let at = Timestamp::from_second(second).expect("a time");
                signed_content(WebhookEventId::from_uuid(Uuid::from_u128(id)), at, body)
            };
            let is_same = (ids.0, times.0, &bodies.0) == (ids.1, times.1, &bodies.1);
            let one = content(ids.0, times.0, &bodies.0);
            prop_assert_eq!(one == content(ids.1, times.1, &bodies.1), is_same);
        }
    }
}
