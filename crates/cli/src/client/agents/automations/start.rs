//! `guildhall automations run`.

use anyhow::Result;
use clap::Args;
use guildhall_protocol::rest::agents::automations::StartAutomation;
use serde_json::json;

use super::resolve;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::print_result;

#[derive(Args)]
pub(super) struct RunArgs {
    /// Slug or id of the automation
    automation: String,
    /// The message, instead of the prompt of the automation
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// A conversation of yours to continue (UUID); without it a new one
    #[arg(long, value_name = "UUID")]
    thread: Option<String>,
    /// An id of your own: in the same conversation, the same id is the same run
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &RunArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let automation = resolve(&client, tenant, &args.automation).await?;
    let run = StartAutomation {
        thread_id: args.thread.clone(),
        run_id: args.run_id.clone(),
        message: args.message.clone(),
    };
    let started = client.start_automation(automation, &run).await?;
    print_result(args.common.json, &json!(started), || {
        format!(
            "started run {} in conversation {}\ncommand {}",
            started.run_id, started.thread_id, started.task_id
        )
    })?;
    Ok(())
}
