//! `guildhall retention`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_protocol::rest::retention::{RetentionPlanView, RetentionView};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, resolve_tenant};
use crate::output::{format_table, print_result};

const EXAMPLES: &str = "Examples:
  guildhall retention plan
  guildhall retention plan --tenant acme --history-days 90
  guildhall retention set acme --history-days 90
  guildhall retention show acme
  guildhall retention clear acme

A tenant keeps its history for good until an operator sets a number of days.
The audit log is always kept.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RetentionArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Show what would be erased now; it changes nothing
    Plan {
        /// Slug or id of a tenant; otherwise all tenants with a limit
        #[arg(long)]
        tenant: Option<String>,
        /// Plan as if the tenant kept its history for this number of days
        #[arg(long, value_name = "DAYS", requires = "tenant")]
        history_days: Option<u32>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show how long a tenant keeps its history
    Show {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Erase sessions of a tenant some days after their last use, with their runs, events and approvals
    Set {
        /// Slug or id of the tenant
        tenant: String,
        /// Days after the last use, 1 to 3650
        #[arg(long, value_name = "DAYS")]
        history_days: u32,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Keep the history of a tenant for good
    Clear {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &RetentionArgs) -> Result<()> {
    block_on(async {
        match &args.command {
            Commands::Plan { tenant, history_days, common } => {
                plan(tenant.as_deref(), *history_days, common).await
            }
            Commands::Show { tenant, common } => {
                let client = common.connect()?.client;
                print_retention(common, &client.get_retention(resolve_tenant(&client, tenant).await?).await?)
            }
            Commands::Set { tenant, history_days, common } => {
                let client = common.connect()?.client;
                let tenant = resolve_tenant(&client, tenant).await?;
                print_retention(common, &client.set_retention(tenant, *history_days).await?)
            }
            Commands::Clear { tenant, common } => {
                let client = common.connect()?.client;
                let tenant = resolve_tenant(&client, tenant).await?;
                print_retention(common, &client.clear_retention(tenant).await?)
            }
        }
    })
}

async fn plan(tenant: Option<&str>, history_days: Option<u32>, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let tenant = match tenant {
        Some(tenant) => Some(resolve_tenant(&client, tenant).await?),
        None => None,
    };
    let plan = client.plan_retention(tenant, history_days).await?;
    print_result(common.json, &json!(plan), || plan_text(&plan))?;
    Ok(())
}

fn print_retention(common: &CommonArgs, retention: &RetentionView) -> Result<()> {
    print_result(common.json, &json!(retention), || match retention.history_days {
        Some(days) => format!("sessions are erased {days} days after their last use"),
        None => "history is kept for good".to_owned(),
    })?;
    Ok(())
}

fn plan_text(plan: &RetentionPlanView) -> String {
    let technical = &plan.technical;
    let rows = [
        ("ended runner jobs", technical.jobs),
        ("enrolments of started runners", technical.enrolments),
        ("unused runners", technical.runners),
        ("ended logins", technical.logins),
    ];
    let technical = rows.map(|(name, count)| [name.to_owned(), count.to_string()]);
    let tenants: Vec<[String; 5]> = plan
        .tenants
        .iter()
        .map(|tenant| {
            let days = tenant.history_days.map_or_else(|| "for good".to_owned(), |days| days.to_string());
            let counts = [tenant.sessions, tenant.runs, tenant.events].map(|count| count.to_string());
            let [sessions, runs, events] = counts;
            [tenant.tenant_id.clone(), days, sessions, runs, events]
        })
        .collect();
    let tenants = if tenants.is_empty() {
        "No tenant has a limit: history is kept for good.".to_owned()
    } else {
        format_table(["TENANT", "DAYS", "SESSIONS", "RUNS", "EVENTS"], &tenants)
    };
    format!("{}\n\n{tenants}", format_table(["TECHNICAL ROWS", "COUNT"], &technical))
}
