//! The questions of a locked run: their states, and the stream of the tenant's approvals.

use guildhall_domain::approvals::state::{ApprovalState, Decision, EndReason};
use guildhall_domain::ids::{ApprovalId, CommandId, EntryId};
use guildhall_domain::runs::event;
use guildhall_store::approvals;
use guildhall_store::journal::{self, NewEntry, StreamUpdate};
use serde_json::{Value, json};

use super::LockedRun;
use crate::ServiceError;

impl LockedRun {
    /// Appends an event of an approval to the run's journal, and to that of the tenant's approvals.
    pub(crate) fn append_approval_event(&mut self, kind: &'static str, command: CommandId, payload: Value) {
        let body = json!({
            "runId": self.run.id.to_string(), "sessionId": self.run.session.to_string(),
            "commandId": command.to_string(), "payload": payload,
        });
        let id = EntryId::generate();
        // One may have been asked in this transaction.
        self.has_open_approvals = true;
        self.approval_entries.push(NewEntry {
            id,
            kind: kind.into(),
            body: body.to_string(),
            parsed_event: None,
        });
        self.append_event(kind, Some(command), payload);
    }

    /// Ends the questions of a command whose process is gone, or must stop.
    pub(super) async fn end_approvals(
        &mut self,
        command: CommandId,
        reason: EndReason,
    ) -> Result<(), ServiceError> {
        if !self.has_open_approvals {
            return Ok(());
        }
        for approval in approvals::load_open(&mut self.tx, command).await? {
            let settled = approval.state.settle().ok().filter(|_| reason != EndReason::Cancelled);
            if let Some(state) = settled.or_else(|| approval.state.asker_gone(reason)) {
                self.set_approval_state(approval.id, command, &state).await?;
            }
        }
        Ok(())
    }

    /// Stores the new state of an approval, with its event.
    pub(crate) async fn set_approval_state(
        &mut self,
        id: ApprovalId,
        command: CommandId,
        state: &ApprovalState,
    ) -> Result<(), ServiceError> {
        approvals::set_state(&mut self.tx, id, state).await?;
        if let ApprovalState::Withdrawn(_) = state {
            self.withdrawn.push(id);
        }
        let decision = state.decision();
        let payload = json!({
            "approvalId": id.to_string(),
            "status": state.status().as_str(),
            "optionId": decision.map(Decision::option),
            "effect": decision.map(|decision| decision.effect().as_str()),
            "by": decision.map(|decision| decision.by().names()),
            "reason": if *state == (ApprovalState::Pending { is_parked: true }) {
                Some("parked")
            } else {
                state.end_reason().map(EndReason::as_str)
            },
        });
        if state.concerns_approvers() {
            self.append_approval_event(event::APPROVAL_STATUS, command, payload);
        } else {
            self.append_event(event::APPROVAL_STATUS, Some(command), payload);
        }
        Ok(())
    }

    /// Withdraws the parked questions of a run that ends.
    pub(super) async fn end_parked_approvals(&mut self) -> Result<(), ServiceError> {
        for parked in approvals::load_parked(&mut self.tx, self.run.id).await? {
            if let Some(state) = parked.state.asker_gone(EndReason::Cancelled) {
                self.set_approval_state(parked.id, parked.command, &state).await?;
            }
        }
        Ok(())
    }

    /// Appends to the stream of the tenant's approvals. Other runs of the tenant wait from here to the commit, so this is
    /// the last step of a transaction.
    pub(super) async fn append_approval_entries(&mut self) -> Result<Option<StreamUpdate>, ServiceError> {
        let entries = std::mem::take(&mut self.approval_entries);
        if entries.is_empty() {
            return Ok(None);
        }
        let stream = approvals::stream(self.run.tenant);
        let last_seq = journal::append_new(&mut self.tx, stream, &entries).await?;
        Ok(Some(StreamUpdate { stream, last_seq }))
    }
}
