//! The outcome of a followed run or command, and whether another turn may continue it.

use std::time::Duration;

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::approval::BlockingQuestion;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::{TerminalStatus, event};
use guildhall_protocol::rest::runs::EventView;
use guildhall_sdk::{ApprovalFilter, Client, ClientError};
use serde_json::json;

use super::event_renderer::format_outcome;
use super::outage::OutageReporter;
use super::watch_display::WatchDisplay;

/// Delay between two requests to an unreachable server.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Parked questions of a run that are looked at. A turn has at most 16.
const MAX_PARKED: u32 = 100;

/// An outcome that was read from the server, with the last event of the run at that time.
pub(super) struct FetchedOutcome {
    pub(super) outcome: WatchOutcome,
    pub(super) last_seq: i64,
}

/// How the run or command ended.
pub(super) struct WatchOutcome {
    pub(super) status: TerminalStatus,
    pub(super) kind: Option<FailureKind>,
    /// Text to print if no event has shown the outcome.
    pub(super) text: Option<String>,
}

/// What to read the outcome of.
pub(super) struct OutcomeQuery<'a> {
    pub(super) client: &'a Client,
    pub(super) run: RunId,
    /// `None` for the run itself.
    pub(super) command: Option<CommandId>,
}

impl OutcomeQuery<'_> {
    /// Reads the outcome from the server; retries while the server is unreachable.
    pub(super) async fn fetch(&self, display: &mut WatchDisplay) -> Result<Option<FetchedOutcome>> {
        let mut outage = OutageReporter::default();
        loop {
            match self.try_fetch().await {
                Ok(outcome) => {
                    outage.report_restored(display)?;
                    return Ok(outcome);
                }
                Err(error) if error.is_transient() => outage.report_lost(&error, display)?,
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn try_fetch(&self) -> Result<Option<FetchedOutcome>, ClientError> {
        let command = match self.command {
            Some(command) => Some(self.client.get_command(self.run, command).await?),
            None => None,
        };
        // Read after the command, so that it has the event that ended the command.
        let run = self.client.get_run(self.run).await?;
        let (status, kind, message) = match command {
            Some(command) => (command.terminal_status, command.failure_kind, command.message),
            None => (run.terminal_status, run.failure_kind, run.message),
        };
        let mut last_seq = run.last_seq;
        if message.as_deref().is_some_and(is_blocked_by_question) {
            if self.has_parked_question(&run.tenant_id).await? {
                return Ok(None);
            }
            // Read after the questions, so that it has the event of the turn that an answer has sent.
            last_seq = self.client.get_run(self.run).await?.last_seq;
        }
        let scope = if self.command.is_some() { "command" } else { "run" };
        let text = format_outcome(&json!({
            "scope": scope, "terminalStatus": status, "failureKind": kind, "message": message,
        }));
        let outcome = parse_outcome(status.as_deref(), kind.as_deref(), Some(text));
        Ok(outcome.map(|outcome| FetchedOutcome { outcome, last_seq }))
    }

    /// Returns whether a question of the followed turn is parked: its answer continues the turn.
    async fn has_parked_question(&self, tenant: &str) -> Result<bool, ClientError> {
        let Ok(tenant) = tenant.parse() else { return Ok(false) };
        let filter = ApprovalFilter {
            run: Some(self.run),
            session: None,
            answerable: false,
            all: false,
            before: None,
            limit: MAX_PARKED,
        };
        let open = self.client.list_approvals(tenant, filter).await?.approvals;
        let is_ours = |turn: &str| self.command.is_none_or(|command| turn == command.to_string());
        Ok(open.iter().any(|question| question.parked && is_ours(&question.command_id)))
    }
}

/// Returns whether the message of a turn says that a question has blocked it.
fn is_blocked_by_question(message: &str) -> bool {
    message.parse::<BlockingQuestion>().is_ok()
}

/// Returns whether an event ends a turn that a question has blocked.
pub(super) fn is_end_by_question(event: &EventView) -> bool {
    let message = event.payload.as_ref().and_then(|payload| payload["message"].as_str());
    event.r#type == event::TERMINAL_STATUS && message.is_some_and(is_blocked_by_question)
}

/// Returns whether an event ends a question without an answer of a person: it does not continue the turn.
pub(super) fn is_end_without_answer(event: &EventView) -> bool {
    let status = event.payload.as_ref().and_then(|payload| payload["status"].as_str());
    event.r#type == event::APPROVAL_STATUS && matches!(status, Some("expired" | "withdrawn"))
}

pub(super) fn parse_outcome(
    status: Option<&str>,
    kind: Option<&str>,
    text: Option<String>,
) -> Option<WatchOutcome> {
    // An unknown status, newer than this client, is also an end.
    let status = TerminalStatus::from_name(status?).unwrap_or(TerminalStatus::Failed);
    Some(WatchOutcome { status, kind: kind.and_then(FailureKind::from_name), text })
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ids::ApprovalId;

    use super::*;

    fn event(kind: &str, payload: serde_json::Value) -> EventView {
        serde_json::from_value(json!({
            "v": 1, "seq": 1, "type": kind, "eventId": null, "commandId": null, "payload": payload,
            "erased": false, "recordedAt": "2026-11-17T00:00:00Z",
        }))
        .expect("an event")
    }

    #[test]
    fn turn_that_a_question_has_blocked_may_be_continued() {
        let message = format!("approval:{}", ApprovalId::generate());
        for (message, is_blocked) in [(message.as_str(), true), ("the agent stopped", false)] {
            let end =
                event(event::TERMINAL_STATUS, json!({ "terminalStatus": "blocked", "message": message }));
            assert_eq!(is_end_by_question(&end), is_blocked, "{message}");
        }
    }

    #[test]
    fn only_expiry_and_withdrawal_end_a_question_without_an_answer() {
        for (status, ends) in [("expired", true), ("withdrawn", true), ("decided", false), ("pending", false)]
        {
            let status_event = event(event::APPROVAL_STATUS, json!({ "status": status }));
            assert_eq!(is_end_without_answer(&status_event), ends, "{status}");
        }
        assert!(!is_end_without_answer(&event(event::COMMAND_STATUS, json!({ "status": "expired" }))));
    }
}
