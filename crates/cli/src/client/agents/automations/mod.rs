//! `guildhall automations`.

mod start;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{AutomationId, TenantId};
use guildhall_protocol::rest::agents::automations::{AutomationView, CreateAutomation, UpdateAutomation};
use guildhall_sdk::Client;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::agents::pipeline_file::PipelineArg;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::NotFoundError;
use crate::output::{format_fields, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall automations create daily-report --agent demo --prompt 'Summarise what changed since yesterday.'
  guildhall automations ls
  guildhall automations update daily-report --pipeline pipeline.json
  guildhall automations run daily-report";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AutomationsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct CreateArgs {
    /// Short name, unique in the tenant: lower-case letters, digits and inner hyphens
    slug: String,
    /// Slug or id of the agent that it talks to
    #[arg(long)]
    agent: String,
    /// The message of its runs; it must contain no secret
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    /// Display name; without it the slug
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    pipeline: PipelineArg,
    /// Idempotency key: a repeated command with the same key does not create a second automation
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
struct UpdateArgs {
    /// Slug or id of the automation
    automation: String,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// The message of its runs
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    #[command(flatten)]
    pipeline: PipelineArg,
    /// Let it start runs
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Refuse new runs; runs that were started go on
    #[arg(long)]
    disable: bool,
    /// Change it only if it still has this revision
    #[arg(long, value_name = "NUMBER")]
    revision: Option<i64>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create an automation
    Create(CreateArgs),
    /// List the automations of a tenant
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show an automation
    Show {
        /// Slug or id of the automation
        automation: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Change an automation; what is not given stays as it is
    Update(UpdateArgs),
    /// Start a run of an automation
    Run(start::RunArgs),
}

pub(crate) fn run(args: &AutomationsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Show { automation, tenant, common } => block_on(show(automation, tenant, common)),
        Commands::Update(args) => block_on(update(args)),
        Commands::Run(args) => block_on(start::run(args)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let pipeline = args.pipeline.read()?;
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let automation = CreateAutomation {
        tenant_id: tenant.to_string(),
        agent_id: args.agent.clone(),
        slug: args.slug.clone(),
        name: args.name.clone().unwrap_or_else(|| args.slug.clone()),
        prompt: args.prompt.clone(),
        pipeline,
    };
    let created = client.create_automation(&automation, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(created), || {
        format!("created automation {} ({})", created.slug, created.id)
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let automations = client.list_automations(tenant).await?;
    print_result(common.json, &json!({ "automations": automations }), || {
        let row = |it: &AutomationView| {
            [
                it.slug.clone(),
                it.name.clone(),
                state(it).to_owned(),
                format_time(it.updated_at),
                it.id.clone(),
            ]
        };
        let rows: Vec<_> = automations.iter().map(row).collect();
        format_table(["AUTOMATION", "NAME", "STATE", "UPDATED", "ID"], &rows)
    })?;
    Ok(())
}

async fn show(automation: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let automation = client.get_automation(resolve(&client, tenant, automation).await?).await?;
    print_result(common.json, &json!(automation), || fields(&automation))?;
    Ok(())
}

async fn update(args: &UpdateArgs) -> Result<()> {
    let pipeline = args.pipeline.read()?;
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let automation = resolve(&client, tenant, &args.automation).await?;
    let change = UpdateAutomation {
        revision: args.revision,
        name: args.name.clone(),
        prompt: args.prompt.clone(),
        pipeline,
        enabled: (args.enable || args.disable).then_some(args.enable),
    };
    let changed = client.update_automation(automation, &change).await?;
    print_result(args.common.json, &json!(changed), || fields(&changed))?;
    Ok(())
}

/// Returns the id of an automation that is named by slug or id.
async fn resolve(client: &Client, tenant: TenantId, given: &str) -> Result<AutomationId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let found =
        client.list_automations(tenant).await?.into_iter().find(|automation| automation.slug == given);
    let found = found.ok_or_else(|| NotFoundError {
        object: "automation",
        name: given.to_owned(),
        next: "`guildhall automations ls` lists the automations of a tenant",
    })?;
    Ok(found.id.parse()?)
}

fn state(automation: &AutomationView) -> &'static str {
    if automation.enabled { "enabled" } else { "disabled" }
}

fn fields(automation: &AutomationView) -> String {
    format_fields(&[
        ("automation", automation.slug.clone()),
        ("name", automation.name.clone()),
        ("agent", automation.agent_id.clone()),
        ("prompt", automation.prompt.replace('\n', "\\n")),
        ("pipeline", automation.pipeline.to_string()),
        ("state", state(automation).to_owned()),
        ("revision", automation.revision.to_string()),
        ("updated", format_time(automation.updated_at)),
        ("id", automation.id.clone()),
    ])
}
