//! Which calls of tools are accepted. The server sees that a message is a call, who sends it and to whom; what is called is sealed.

use guildhall_domain::ids::AgentId;
use guildhall_domain::messages::{DeliveryMode, InboxId};
use guildhall_domain::ops::rate::{RateKey, Tier};
use guildhall_store::Store;
use guildhall_store::tool_calls::{self, ToolCaller};

use super::InboxClient;
use super::error::MessageError;
use super::request::MessageRequest;
use crate::ServiceError;
use crate::ops::rates::Rates;

/// Refuses calls of strangers, and too many. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ToolCallGate {
    store: Store,
    rates: Rates,
}

impl ToolCallGate {
    pub(super) fn new(store: Store, rates: Rates) -> Self {
        Self { store, rates }
    }

    /// Returns the agent that calls a tool; none for a message that is no call. Only an agent with which the recipient has an active
    /// relation may call. Whoever may not learns nothing else. The
    /// relation is read again when the call is stored.
    pub(super) async fn caller(
        &self,
        client: &InboxClient,
        recipient: InboxId,
        request: &MessageRequest,
    ) -> Result<Option<ToolCaller>, ServiceError> {
        if !request.payload.is_tool_call() {
            return Ok(None);
        }
        if request.mode == DeliveryMode::Queue {
            // A revocation removes what is stored.
            return Err(MessageError::EphemeralToolCall.into());
        }
        let caller = tool_calls::find_caller(&self.store, &client.aid, recipient).await?;
        Ok(Some(caller.ok_or(MessageError::RelationRequired)?))
    }

    /// Counts a call, before it is stored.
    pub(super) async fn count(&self, agent: AgentId) -> Result<(), ServiceError> {
        self.rates.count(Tier::ToolCall, RateKey::Agent(agent)).await.map(drop)
    }
}
