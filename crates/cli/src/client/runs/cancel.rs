//! `guildhall runs cancel`.

use anyhow::Result;
use guildhall_domain::ids::{CommandId, RunId};
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::print_result;

pub(super) async fn run(run: RunId, command: Option<CommandId>, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let (value, id, status, ended) = match command {
        Some(command) => {
            // Fails if the command belongs to another run.
            client.get_command(run, command).await?;
            let command = client.cancel_command(command).await?;
            (json!(command), command.command_id, command.status, command.terminal_status.is_some())
        }
        None => {
            let run = client.cancel_run(run).await?;
            (json!(run), run.run_id, run.status, run.terminal_status.is_some())
        }
    };
    print_result(common.json, &value, || {
        if ended {
            format!("{id} has ended: {status}")
        } else {
            format!("{id} is {status}; it ends when its runner has stopped")
        }
    })?;
    Ok(())
}
