//! `guildhall whoami`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::output::{format_table, print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall whoami
  guildhall whoami --json | jq -r .principal";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &WhoamiArgs) -> Result<()> {
    block_on(print_user(args))
}

async fn print_user(args: &WhoamiArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let whoami = connection.client.whoami().await?;
    print_result(args.common.json, &json!(whoami), || {
        let operator = if whoami.operator { ", operator of the installation" } else { "" };
        let who = format!(
            "{} at {}\n{} ({}{operator})",
            sanitize_line(&connection.context.name),
            connection.context.url,
            whoami.principal,
            whoami.kind
        );
        if whoami.tenants.is_empty() {
            return format!("{who}\nno tenants");
        }
        let rows =
            whoami.tenants.iter().map(|it| [it.tenant.slug.clone(), it.role.clone(), it.tenant.id.clone()]);
        format!("{who}\n\n{}", format_table(["TENANT", "ROLE", "ID"], &rows.collect::<Vec<_>>()))
    })?;
    Ok(())
}
