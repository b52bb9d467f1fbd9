//! `guildhall runs result` and `cancel`.

use anyhow::Result;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runs::commands::ResultView;
use serde_json::json;

use super::screen::ending;
use crate::client::session::Common;
use crate::output::{clean_text, show};

pub(super) async fn result(run: RunId, command: Option<CommandId>, common: &Common) -> Result<()> {
    let result = common.open()?.client.run_result(run, command).await?;
    show(common.json, &json!(result), || clean_text(&answer(&result)))?;
    Ok(())
}

fn answer(result: &ResultView) -> String {
    if result.completed {
        return result.reply.clone().unwrap_or_else(|| "completed, without an answer".to_owned());
    }
    if result.terminal_status.is_none() {
        return format!("{}. {}", result.status, result.liveness.sentence);
    }
    ending(&json!({
        "terminalStatus": result.terminal_status, "failureKind": result.failure_kind, "message": result.blocker,
    }))
}

pub(super) async fn cancel(run: RunId, command: Option<CommandId>, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let (value, id, status, ended) = match command {
        Some(command) => {
            // One of another run is somebody's mistake.
            client.show_command(run, command).await?;
            let command = client.cancel_command(command).await?;
            (json!(command), command.command_id, command.status, command.terminal_status.is_some())
        }
        None => {
            let run = client.cancel_run(run).await?;
            (json!(run), run.run_id, run.status, run.terminal_status.is_some())
        }
    };
    show(common.json, &value, || {
        if ended {
            format!("{id} has ended: {status}")
        } else {
            format!("{id} is {status}; it ends when its runner has stopped the work")
        }
    })?;
    Ok(())
}
