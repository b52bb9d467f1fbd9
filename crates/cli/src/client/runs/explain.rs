//! `guildhall runs explain`.

use anyhow::Result;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::liveness::RecoveryAction;
use guildhall_protocol::rest::runs::RunView;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::{print_result, sanitize_line};

pub(super) async fn run(run: RunId, common: &CommonArgs) -> Result<()> {
    let run = common.connect()?.client.get_run(run).await?;
    let value = json!({ "runId": run.run_id, "status": run.status, "liveness": run.liveness });
    print_result(common.json, &value, || {
        let steps =
            run.liveness.recovery_actions.iter().filter_map(|action| next_command(&run, &action.action));
        let lines = std::iter::once(sanitize_line(&run.liveness.sentence)).chain(steps);
        lines.collect::<Vec<_>>().join("\n")
    })?;
    Ok(())
}

/// Returns the command for a recovery action, if there is one.
fn next_command(run: &RunView, action: &str) -> Option<String> {
    let id = &run.run_id;
    let command = match RecoveryAction::from_name(action).ok()? {
        RecoveryAction::StartRunner => return None,
        RecoveryAction::AnswerQuestion => format!("guildhall approvals ls --run {id}"),
        RecoveryAction::Wait => format!("guildhall runs events {id} -f --after {}", run.last_seq),
        RecoveryAction::CancelCommand => {
            format!("guildhall runs cancel {id} --command {}", run.open_command_ids.first()?)
        }
        RecoveryAction::CancelRun => format!("guildhall runs cancel {id}"),
        RecoveryAction::SendCommand => format!("guildhall runs send {id} '...'"),
        RecoveryAction::CreateRun => format!("guildhall runs create --session {} '...'", run.session_id),
        RecoveryAction::ReadResult => format!("guildhall runs result {id}"),
    };
    Some(format!("  next: {command}"))
}
