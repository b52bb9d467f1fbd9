//! Sends answers to agents.

use guildhall_domain::FailureKind;
use guildhall_domain::agents::tool_calls::{ToolMessage, ToolResponse, tool_headers};
use guildhall_domain::identity::Aid;

use super::incoming::RESPONSE;
use crate::backoff::Backoff;
use crate::messages::{Messenger, MessengerError, SendOptions};

/// Sends an answer until the server has stored it. It is sealed in the second version, or not sent.
pub(super) async fn send_answer(
    messenger: &Messenger,
    agent: &Aid,
    conversation: &str,
    response: ToolResponse,
) -> Result<(), MessengerError> {
    let message_id = response.id.answer_message_id(agent);
    let mut options = SendOptions::default().with_headers(tool_headers(RESPONSE, conversation));
    if let Ok(id) = message_id.parse() {
        options = options.with_message_id(id);
    }
    let payload = ToolMessage::Response(response).to_payload();
    let mut backoff = Backoff::default();
    loop {
        match messenger.send(agent, &payload, &options).await {
            Ok(_) => return Ok(()),
            Err(MessengerError::Socket(error)) if error.kind() == Some(FailureKind::IdempotencyConflict) => {
                // Its answer was stored before.
                return Ok(());
            }
            Err(MessengerError::Socket(error)) if error.is_transient() => {
                backoff.record_failure(error.retry_after());
                tokio::time::sleep(backoff.delay()).await;
            }
            Err(error) => return Err(error),
        }
    }
}
