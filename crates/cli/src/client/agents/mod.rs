//! `guildhall agents`.

mod aid;
pub(crate) mod automations;
mod change;
mod end_users;
mod inbox;
pub(crate) mod pipeline_file;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{AgentId, TenantId};
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::runs::policy::{Approval, Sandbox};
use guildhall_protocol::rest::agents::{AgentView, CreateAgent};
use guildhall_sdk::Client;
use serde_json::{Value, json};

use self::end_users::EndUsersArgs;
use self::pipeline_file::PipelineArg;
use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::client::runs::workspace;
use crate::error::{NotFoundError, UsageError};
use crate::output::{format_fields, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall agents create helper --profile demo --default
  guildhall agents create reviewer --profile codex --workspace git:https://github.com/OWNER/REPOSITORY#main
  guildhall agents ls
  guildhall agents show helper
  guildhall agents update helper --instructions 'Answer in one sentence.'
  guildhall agents inbox helper --senders members";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct CreateArgs {
    /// Short name, unique in the tenant: lower-case letters, digits and inner hyphens
    slug: String,
    /// Display name; without it the slug
    #[arg(long)]
    name: Option<String>,
    /// What the agent is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What the agent is told before the first turn of a conversation; it must contain no secret
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Project of its runs
    #[arg(long, default_value = "default")]
    project: String,
    /// Backend profile: demo, codex, or a profile of your own
    #[arg(long, default_value = "demo")]
    profile: String,
    /// Provider to run on, such as a machine or a region
    #[arg(long, default_value = "local")]
    provider: String,
    /// Workspace of a new conversation: empty, git:URL#BRANCH, or on the runner's machine a directory, copy:REPOSITORY or git:REPOSITORY#BRANCH
    #[arg(long, default_value = "empty", value_name = "WORKSPACE")]
    workspace: String,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    pipeline: PipelineArg,
    #[command(flatten)]
    end_users: EndUsersArgs,
    /// Make it the agent for requests that name none
    #[arg(long)]
    default: bool,
    /// Idempotency key: a repeated command with the same key does not create a second agent
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
struct PolicyArgs {
    /// Sandbox of the agent: read-only, workspace-write or danger-full-access; without it the maximum of the tenant
    #[arg(long, value_parser = parse_sandbox)]
    sandbox: Option<Sandbox>,
    /// When people are asked before the agent acts: untrusted, on-request or never; without it the maximum of the tenant
    #[arg(long, value_parser = parse_approval)]
    approval: Option<Approval>,
}

impl PolicyArgs {
    /// Returns the execution policy, if one was given.
    fn value(&self) -> Option<Value> {
        let sandbox = self.sandbox.map(|sandbox| ("sandbox".to_owned(), json!(sandbox)));
        let approval = self.approval.map(|approval| ("approval".to_owned(), json!(approval)));
        let parts: serde_json::Map<_, _> = sandbox.into_iter().chain(approval).collect();
        (!parts.is_empty()).then_some(Value::Object(parts))
    }
}

fn parse_sandbox(text: &str) -> Result<Sandbox, UnknownName> {
    Sandbox::from_name(text)
}

fn parse_approval(text: &str) -> Result<Approval, UnknownName> {
    Approval::from_name(text)
}

#[derive(Subcommand)]
enum Commands {
    /// Create an agent
    Create(CreateArgs),
    /// List the agents of a tenant
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show an agent and its settings
    Show {
        /// Slug or id of the agent
        agent: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Change an agent; what is not given stays as it is
    Update(change::UpdateArgs),
    /// Set or show the AID of an agent that runs elsewhere, with a key of its own
    Aid(aid::AgentAidArgs),
    /// Give an agent an AID and an inbox, so that messages to it start work
    Inbox(inbox::AgentInboxArgs),
}

pub(crate) fn run(args: &AgentsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Show { agent, tenant, common } => block_on(show(agent, tenant, common)),
        Commands::Update(args) => block_on(change::run(args)),
        Commands::Aid(args) => block_on(aid::run(args)),
        Commands::Inbox(args) => block_on(inbox::run(args)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let workspace_ref = workspace::parse(&args.workspace)?;
    let pipeline = args.pipeline.read()?;
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent = CreateAgent {
        tenant_id: tenant.to_string(),
        slug: args.slug.clone(),
        name: args.name.clone().unwrap_or_else(|| args.slug.clone()),
        description: args.description.clone(),
        instructions: args.instructions.clone(),
        project_id: args.project.clone(),
        workspace_ref,
        provider_id: args.provider.clone(),
        backend_profile: args.profile.clone(),
        execution_policy: args.policy.value(),
        pipeline,
        end_users: args.end_users.value(),
        default: args.default,
        capability_manifest: None,
    };
    let agent = client.create_agent(&agent, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(agent), || format!("created agent {} ({})", agent.slug, agent.id))?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let agents = client.list_agents(tenant).await?;
    print_result(common.json, &json!({ "agents": agents }), || {
        let rows: Vec<_> = agents.iter().map(row).collect();
        format_table(["AGENT", "NAME", "PROFILE", "STATE", "UPDATED", "ID"], &rows)
    })?;
    Ok(())
}

fn row(agent: &AgentView) -> [String; 6] {
    let (slug, name, profile) = (agent.slug.clone(), agent.name.clone(), agent.backend_profile.clone());
    [slug, name, profile, state(agent).to_owned(), format_time(agent.updated_at), agent.id.clone()]
}

fn state(agent: &AgentView) -> &'static str {
    match (agent.enabled, agent.default) {
        (false, _) => "disabled",
        (true, true) => "default",
        (true, false) => "enabled",
    }
}

async fn show(agent: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let agent = client.get_agent(resolve(&client, tenant, agent).await?).await?;
    print_result(common.json, &json!(agent), || fields(&agent))?;
    Ok(())
}

/// Returns the id of an agent that is named by slug or id.
pub(crate) async fn resolve(client: &Client, tenant: TenantId, given: &str) -> Result<AgentId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let found = client.list_agents(tenant).await?.into_iter().find(|agent| agent.slug == given);
    let found = found.ok_or_else(|| NotFoundError {
        object: "agent",
        name: given.to_owned(),
        next: "`guildhall agents ls` lists the agents of a tenant",
    })?;
    Ok(found.id.parse()?)
}

/// Returns the id of an agent that is named by slug or id, or of the only one of the tenant.
pub(crate) async fn resolve_or_only(
    client: &Client,
    tenant: TenantId,
    given: Option<&str>,
) -> Result<AgentId> {
    if let Some(given) = given {
        return resolve(client, tenant, given).await;
    }
    match client.list_agents(tenant).await?.as_slice() {
        [only] => Ok(only.id.parse()?),
        [] => {
            Err(UsageError("the tenant has no agent\n  next: create one with `guildhall agents create`")
                .into())
        }
        [_, _, ..] => Err(UsageError(
            "the tenant has several agents\n  next: add --agent; `guildhall agents ls` lists them",
        )
        .into()),
    }
}

fn manifest(agent: &AgentView) -> String {
    let (Some(version), Some(hash)) = (agent.capability_manifest_version, &agent.capability_manifest_hash)
    else {
        return "-".to_owned();
    };
    let state = if agent.published { "published" } else { "not published" };
    format!("version {version}, {state}, {hash}")
}

fn fields(agent: &AgentView) -> String {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.replace('\n', "\\n") };
    format_fields(&[
        ("agent", agent.slug.clone()),
        ("name", agent.name.clone()),
        ("description", or_dash(&agent.description)),
        ("instructions", or_dash(agent.instructions.as_deref().unwrap_or_default())),
        ("project", agent.project_id.clone()),
        ("profile", agent.backend_profile.clone()),
        ("provider", agent.provider_id.clone()),
        ("workspace", agent.workspace_ref.to_string()),
        ("policy", agent.execution_policy.to_string()),
        ("pipeline", agent.pipeline.to_string()),
        ("end users", end_users::text(&agent.end_users)),
        ("state", state(agent).to_owned()),
        ("revision", agent.revision.to_string()),
        ("manifest", manifest(agent)),
        ("updated", format_time(agent.updated_at)),
        ("id", agent.id.clone()),
    ])
}
