//! Questions whose process has ended: their answers continue the work in a new turn.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::state::{ApprovalState, Decision, EndReason};
use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::command::{self, CommandKind};
use guildhall_store::{approvals as rows, commands};
use serde_json::json;

use super::error::ApprovalError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{CommandRecord, insert_command};

/// Stores a decision. The last decision about the parked questions of a turn sends the turn that continues it; the agent
/// asks again there, and gets the answer at once.
pub(super) async fn decide(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    approval: &Approval,
    decision: Decision,
) -> Result<ApprovalState, ServiceError> {
    let is_parked = approval.state == ApprovalState::Pending { is_parked: true };
    let mut state = approval.state.decide(decision.clone()).map_err(ApprovalError::from)?;
    locked.set_approval_state(approval.id, approval.command, &state).await?;
    if !is_parked {
        return Ok(state);
    }
    if !locked.open.iter().any(|open| open.id == approval.command) {
        // The process is gone, so the answer waits for the next question about the same action.
        state = state.asker_gone(EndReason::TurnEnded).unwrap_or(state);
        locked.set_approval_state(approval.id, approval.command, &state).await?;
    }
    let parked = rows::load_parked(&mut locked.tx, locked.run.id).await?;
    let is_last = !parked.iter().any(|other| other.command == approval.command);
    // A run that is being cancelled takes no turn.
    if is_last && command::submit(&locked.run.state, CommandKind::Turn, false).is_ok() {
        send_next_turn(locked, caller, approval, &decision).await?;
    }
    Ok(state)
}

/// Sends the turn that continues a parked one, for who sent that.
async fn send_next_turn(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    approval: &Approval,
    decision: &Decision,
) -> Result<(), ServiceError> {
    let turn = commands::load(&mut locked.tx, approval.command).await?.ok_or(ServiceError::NOT_FOUND)?;
    let payload = json!({
        "prompt": prompt(&approval.question.action.tool, decision.effect()),
        "continues": approval.command.to_string(),
        "approvalId": approval.id.to_string(),
    });
    let id = CommandId::generate();
    let record = CommandRecord {
        id,
        kind: CommandKind::Turn,
        payload: &payload,
        sealed_payload: None,
        target: None,
        continues: Some(approval.command),
        created_by: turn.created_by,
    };
    insert_command(locked, record).await?;
    let detail = json!({
        "runId": locked.run.id.to_string(), "type": CommandKind::Turn, "continues": approval.command.to_string(),
        "approvalId": approval.id.to_string(),
    });
    let event = AuditEvent::by_member(caller, "command.created", id.to_string(), detail);
    audit::record(&mut locked.tx, &event).await
}

/// Returns what the agent is told. The action itself is in its thread; it may hold secrets.
fn prompt(tool: &str, effect: OptionEffect) -> String {
    match effect {
        OptionEffect::Allow => format!(
            "You were interrupted while you waited for a permission ({tool}). A person has allowed it now. Ask for exactly \
             the same action again: it is allowed at once. Then continue your work."
        ),
        OptionEffect::Deny => format!(
            "You were interrupted while you waited for a permission ({tool}). A person has denied it. Do not ask for the \
             same action again: continue without it, or say what you cannot do."
        ),
        OptionEffect::Answer => format!(
            "You were interrupted while you waited for an answer ({tool}). A person has answered now. Ask the same \
             question again: it is answered at once. Then continue your work."
        ),
    }
}
