//! Questions whose process has ended: their answers continue the work in a new turn.

use guildhall_domain::agents::turn_pipeline::TurnPipeline;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::state::{ApprovalState, Decision, EndReason};
use guildhall_domain::ids::{CommandId, PrincipalId};
use guildhall_domain::runs::command::{self, CommandKind};
use guildhall_store::{approvals as rows, commands};
use serde_json::json;

use super::Approvals;
use super::error::ApprovalError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{CommandRecord, insert_command};

/// Stores a decision. The end of the last parked question of a turn sends the turn that continues it, if people have
/// answered one of them; the agent asks again there, and gets the answer at once. `actor` is none if nobody answered in
/// time.
pub(super) async fn decide(
    approvals: &Approvals,
    locked: &mut LockedRun,
    actor: Option<PrincipalId>,
    approval: &Approval,
    decision: Decision,
) -> Result<ApprovalState, ServiceError> {
    let is_parked = approval.state == ApprovalState::Pending { is_parked: true };
    let mut state = approval.state.decide(decision).map_err(ApprovalError::from)?;
    locked.set_approval_state(approval.id, approval.command, &state).await?;
    if !is_parked {
        return Ok(state);
    }
    if !locked.open.iter().any(|open| open.id == approval.command) {
        // The process is gone, so the answer waits for the next question about the same action.
        state = state.asker_gone(EndReason::TurnEnded).unwrap_or(state);
        locked.set_approval_state(approval.id, approval.command, &state).await?;
    }
    continue_turn(approvals, locked, actor, approval.command).await?;
    Ok(state)
}

/// Stores that a person has withdrawn a question. It continues nothing, but may be the last open one of a parked turn.
pub(super) async fn withdraw(
    approvals: &Approvals,
    locked: &mut LockedRun,
    actor: PrincipalId,
    approval: &Approval,
) -> Result<ApprovalState, ServiceError> {
    let is_parked = approval.state == ApprovalState::Pending { is_parked: true };
    let state = approval.state.withdraw().map_err(ApprovalError::from)?;
    locked.set_approval_state(approval.id, approval.command, &state).await?;
    if is_parked {
        continue_turn(approvals, locked, Some(actor), approval.command).await?;
    }
    Ok(state)
}

/// Sends the turn that continues a parked one, if none of its questions is open and the agent has not got an answer of
/// people.
async fn continue_turn(
    approvals: &Approvals,
    locked: &mut LockedRun,
    actor: Option<PrincipalId>,
    turn: CommandId,
) -> Result<(), ServiceError> {
    let parked = rows::load_parked(&mut locked.tx, locked.run.id).await?;
    // A run that is being cancelled takes no turn.
    let takes_turn = command::submit(&locked.run.state, CommandKind::Turn, false).is_ok();
    if !takes_turn || parked.iter().any(|open| open.command == turn) {
        return Ok(());
    }
    let undelivered = rows::load_undelivered(&mut locked.tx, turn).await?;
    let answers = undelivered.into_iter().filter(|stored| stored.state.continues_turn());
    match answers.max_by_key(|stored| stored.state.decision().map(Decision::at)) {
        Some(last) => send_next_turn(locked, actor, &approvals.open_question(last)?).await,
        None => Ok(()),
    }
}

/// Sends the turn that continues a parked one, for who sent that.
async fn send_next_turn(
    locked: &mut LockedRun,
    actor: Option<PrincipalId>,
    approval: &Approval,
) -> Result<(), ServiceError> {
    let turn = commands::load(&mut locked.tx, approval.command).await?.ok_or(ServiceError::NOT_FOUND)?;
    let effect = approval.state.decision().map_or(OptionEffect::Deny, Decision::effect);
    let mut payload = json!({
        "prompt": prompt(&approval.question.action.tool, effect),
        "continues": approval.command.to_string(),
        "approvalId": approval.id.to_string(),
    });
    // The agent knows its instructions from the parked turn; what it may use stays the same.
    let parked = serde_json::from_str(&turn.payload).ok().and_then(|sent| TurnPipeline::of_payload(&sent));
    if let Some(TurnPipeline { worker, enabled_tools, .. }) = parked {
        payload[TurnPipeline::FIELD] =
            json!(TurnPipeline { worker, enabled_tools, ..TurnPipeline::default() });
    }
    let id = CommandId::generate();
    let record = CommandRecord {
        id,
        kind: CommandKind::Turn,
        payload: &payload,
        sealed_payload: None,
        target: None,
        continues: Some(approval.command),
        attached: &[],
        created_by: turn.created_by,
    };
    insert_command(locked, record).await?;
    let detail = json!({
        "runId": locked.run.id.to_string(), "type": CommandKind::Turn, "continues": approval.command.to_string(),
        "approvalId": approval.id.to_string(),
    });
    let log = AuditLog::Tenant(locked.run.tenant);
    let event = AuditEvent { log, action: "command.created", actor, object: id.to_string(), detail };
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
