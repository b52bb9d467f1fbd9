//! `guildhall whoami`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::client::session::Common;
use crate::client::wait;
use crate::output::{clean, show, table};

const EXAMPLES: &str = "Examples:
  guildhall whoami
  guildhall whoami --json | jq -r .principal";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &WhoamiArgs) -> Result<()> {
    wait(ask(args))
}

async fn ask(args: &WhoamiArgs) -> Result<()> {
    let session = args.common.open()?;
    let whoami = session.client.whoami().await?;
    show(args.common.json, &json!(whoami), || {
        let operator = if whoami.operator { ", operates the installation" } else { "" };
        let who = format!(
            "{} at {}\n{} ({}{operator})",
            clean(&session.context.name),
            session.context.url,
            whoami.principal,
            whoami.kind
        );
        if whoami.tenants.is_empty() {
            return format!("{who}\nno tenants yet");
        }
        let rows =
            whoami.tenants.iter().map(|it| [it.tenant.slug.clone(), it.role.clone(), it.tenant.id.clone()]);
        format!("{who}\n\n{}", table(["TENANT", "ROLE", "ID"], &rows.collect::<Vec<_>>()))
    })?;
    Ok(())
}
