//! Runs of stored automations.

use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AutomationKey;
use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::external_id::ExternalId;
use serde_json::json;

use super::agent_runs::{AcceptedTurn, AgentRuns, TurnRequest};
use super::pipelines::PipelineSource;
use crate::ServiceError;

/// A turn to start for an automation.
#[derive(Debug, Clone)]
pub struct AutomationTurn<'a> {
    pub automation: AutomationKey,
    pub thread: &'a ExternalId,
    /// The same id is the same run.
    pub client_run: &'a ExternalId,
    /// The id of the message, which the caller cannot choose.
    pub message_id: &'a ExternalId,
    /// The message, instead of the prompt of the automation.
    pub message: Option<&'a str>,
}

/// Starts runs of automations.
#[derive(Debug, Clone)]
pub struct AutomationRuns {
    agent_runs: AgentRuns,
}

impl AutomationRuns {
    pub(super) const fn new(agent_runs: AgentRuns) -> Self {
        Self { agent_runs }
    }

    /// Starts a turn with the agent of an automation, in a thread of the caller.
    pub async fn start(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        start: AutomationTurn<'_>,
    ) -> Result<AcceptedTurn, ServiceError> {
        let AutomationTurn { automation, thread, client_run, message_id, message } = start;
        let mut payload =
            json!({ "clientMessageId": message_id.as_str(), "runtimeMode": RuntimeMode::Automation });
        if let Some(text) = message {
            payload["prompt"] = json!(text);
        }
        let source = PipelineSource::Automation(&automation);
        let request = TurnRequest {
            thread,
            client_run,
            message: message_id,
            device_zone: None,
            payload,
            images: Vec::new(),
        };
        self.agent_runs.find_or_start_turn(caller, None, source, request).await
    }
}
