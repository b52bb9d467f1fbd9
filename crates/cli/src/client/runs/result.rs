//! `guildhall runs result`.

use anyhow::Result;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runs::commands::ResultView;
use serde_json::json;

use super::event_renderer::format_outcome;
use crate::client::connection::CommonArgs;
use crate::output::{print_result, sanitize_text};

pub(super) async fn run(run: RunId, command: Option<CommandId>, common: &CommonArgs) -> Result<()> {
    let result = common.connect()?.client.run_result(run, command).await?;
    print_result(common.json, &json!(result), || sanitize_text(&format_result(&result)))?;
    Ok(())
}

fn format_result(result: &ResultView) -> String {
    if result.completed {
        return result.reply.clone().unwrap_or_else(|| "completed without a reply".to_owned());
    }
    if result.terminal_status.is_none() {
        return format!("{}. {}", result.status, result.liveness.sentence);
    }
    format_outcome(&json!({
        "terminalStatus": result.terminal_status, "failureKind": result.failure_kind, "message": result.blocker,
    }))
}
