//! `guildhall runs history`.

use anyhow::Result;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::message::{message_text, title};
use guildhall_protocol::rest::runs::commands::CommandView;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::{format_table, format_time, print_result};

pub(super) async fn run(run: RunId, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let (mut commands, mut after) = (Vec::new(), Some(0));
    while let Some(seq) = after {
        let page = client.list_commands(run, seq).await?;
        commands.extend(page.commands);
        after = page.next_after_seq;
    }
    print_result(common.json, &json!({ "commands": commands }), || {
        let rows: Vec<_> = commands.iter().map(row).collect();
        format_table(["COMMAND", "TYPE", "STATUS", "CREATED", "TEXT"], &rows)
    })?;
    Ok(())
}

fn row(command: &CommandView) -> [String; 5] {
    let text = message_text(&command.payload).and_then(title).unwrap_or_default();
    let (kind, status) = (command.r#type.clone(), command.status.clone());
    [command.command_id.clone(), kind, status, format_time(command.created_at), text]
}
