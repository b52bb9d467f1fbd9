//! `guildhall runs explain`.

use anyhow::Result;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::liveness::Recovery;
use guildhall_protocol::rest::runs::RunView;
use serde_json::json;

use crate::client::session::Common;
use crate::output::{clean, show};

pub(super) async fn run(run: RunId, common: &Common) -> Result<()> {
    let run = common.open()?.client.show_run(run).await?;
    let value = json!({ "runId": run.run_id, "status": run.status, "liveness": run.liveness });
    show(common.json, &value, || {
        let steps = run.liveness.recovery_actions.iter().filter_map(|action| step(&run, &action.action));
        let lines = std::iter::once(clean(&run.liveness.sentence)).chain(steps);
        lines.collect::<Vec<_>>().join("\n")
    })?;
    Ok(())
}

/// Returns the command for something that can be done, where there is one.
fn step(run: &RunView, action: &str) -> Option<String> {
    let id = &run.run_id;
    let command = match Recovery::from_name(action).ok()? {
        Recovery::StartRunner => return None,
        Recovery::Wait => format!("guildhall runs events {id} -f --after {}", run.last_seq),
        Recovery::CancelCommand => {
            format!("guildhall runs cancel {id} --command {}", run.open_command_ids.first()?)
        }
        Recovery::CancelRun => format!("guildhall runs cancel {id}"),
        Recovery::SendCommand => format!("guildhall runs send {id} '...'"),
        Recovery::CreateRun => format!("guildhall runs create --session {} '...'", run.session_id),
        Recovery::ReadResult => format!("guildhall runs result {id}"),
    };
    Some(format!("  next: {command}"))
}
