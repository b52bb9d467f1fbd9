//! Calls tools of users, for agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::agents::tool_calls::{
    CallId, ToolCall, ToolMessage, ToolMessageKind, ToolOutcome, tool_headers,
};
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::random_id;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::ToolCallError;
use super::incoming::{ToolTraffic, is_from_other, read};
use crate::messages::{Messenger, ReceivedMessage, SendOptions};

/// Calls that wait for their answer: more than the server accepts in an hour.
const MAX_WAITING: usize = 5_000;

/// What to call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRequest {
    pub tool: String,
    /// That of the manifest.
    pub scope: String,
    pub arguments: Value,
    /// Empty for the one conversation without an id. People are asked once for each, where the sensitivity is medium.
    pub conversation: String,
    /// Shorter than what the manifest declares.
    pub timeout_ms: Option<u64>,
}

type Waiting = BTreeMap<(Aid, CallId), oneshot::Sender<ToolOutcome>>;

/// Sends calls and matches their answers. Cheap to clone.
///
/// It reads no inbox: whoever follows the inbox of the agent hands messages to [`ToolCaller::receive`].
#[derive(Debug, Clone)]
pub struct ToolCaller {
    messenger: Messenger,
    waiting: Arc<Mutex<Waiting>>,
}

/// A call that waits. It is forgotten when this is dropped.
struct WaitingCall<'a> {
    caller: &'a ToolCaller,
    key: (Aid, CallId),
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.caller.waiting().remove(&self.key);
    }
}

impl ToolCaller {
    #[must_use]
    pub fn new(messenger: Messenger) -> Self {
        Self { messenger, waiting: Arc::default() }
    }

    /// Takes a message of the inbox. Returns whether it was the answer to a call.
    #[must_use]
    pub fn receive(&self, message: &ReceivedMessage) -> bool {
        if !is_from_other(message, self.messenger.aid()) {
            return false;
        }
        let Ok(Some(ToolTraffic::Response(response))) = read(message) else { return false };
        // Only the user who was called can answer.
        let found = self.waiting().remove(&(message.from.clone(), response.id));
        found.is_some_and(|waiting| waiting.send(response.outcome).is_ok())
    }

    /// Calls a tool of a user's device, and waits for the answer. The call is sealed in the second version, or not sent.
    ///
    /// After [`ToolCallError::NoAnswer`], the tool may have run, or may run later.
    pub async fn call(
        &self,
        to: &Aid,
        request: ToolCallRequest,
        wait: Duration,
    ) -> Result<ToolOutcome, ToolCallError> {
        let ToolCallRequest { tool, scope, arguments, conversation, timeout_ms } = request;
        let id = format!("call-{}", random_id()).parse::<CallId>();
        let id = id.unwrap_or_else(|_| unreachable!("a random id is printable"));
        let (answer, answered) = oneshot::channel();
        let key = (to.clone(), id.clone());
        {
            let mut waiting = self.waiting();
            if waiting.len() >= MAX_WAITING {
                return Err(ToolCallError::TooManyCalls);
            }
            waiting.insert(key.clone(), answer);
        }
        let _forgotten_at_the_end = WaitingCall { caller: self, key };
        let call = ToolMessage::Call(ToolCall { id, tool, arguments, scope, timeout_ms });
        let headers = tool_headers(ToolMessageKind::Call, &conversation);
        let sending = async {
            self.messenger
                .send(to, &call.to_payload(), &SendOptions::default().with_headers(headers))
                .await?;
            answered.await.map_err(|_| ToolCallError::NoAnswer(to.clone()))
        };
        timeout(wait, sending).await.unwrap_or_else(|_| Err(ToolCallError::NoAnswer(to.clone())))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
