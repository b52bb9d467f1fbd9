//! `guildhall agents update`.

use anyhow::Result;
use clap::Args;
use guildhall_protocol::rest::agents::UpdateAgent;
use serde_json::json;

use super::end_users::EndUsersArgs;
use super::pipeline_file::PipelineArg;
use super::{PolicyArgs, fields, resolve};
use crate::client::connection::{CommonArgs, TenantArg};
use crate::client::runs::workspace;
use crate::output::print_result;

#[derive(Args)]
pub(super) struct UpdateArgs {
    /// Slug or id of the agent
    agent: String,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// What the agent is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What the agent is told before the first turn of a conversation
    #[arg(long, value_name = "TEXT", conflicts_with = "no_instructions")]
    instructions: Option<String>,
    /// Remove the instructions
    #[arg(long)]
    no_instructions: bool,
    /// Project of its runs
    #[arg(long)]
    project: Option<String>,
    /// Backend profile; conversations that exist keep theirs
    #[arg(long)]
    profile: Option<String>,
    /// Provider to run on
    #[arg(long)]
    provider: Option<String>,
    /// Workspace of a new conversation
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    pipeline: PipelineArg,
    #[command(flatten)]
    end_users: EndUsersArgs,
    /// Make it the agent for requests that name none
    #[arg(long)]
    default: bool,
    /// Let it take new turns
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Refuse new turns; turns that run go on
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

pub(super) async fn run(args: &UpdateArgs) -> Result<()> {
    let workspace_ref = args.workspace.as_deref().map(workspace::parse).transpose()?;
    let pipeline = args.pipeline.read()?;
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent = resolve(&client, tenant, &args.agent).await?;
    let instructions = args.instructions.clone().map(Some);
    let change = UpdateAgent {
        revision: args.revision,
        name: args.name.clone(),
        description: args.description.clone(),
        instructions: instructions.or(args.no_instructions.then_some(None)),
        project_id: args.project.clone(),
        workspace_ref,
        provider_id: args.provider.clone(),
        backend_profile: args.profile.clone(),
        execution_policy: args.policy.value(),
        pipeline,
        end_users: args.end_users.value(),
        enabled: (args.enable || args.disable).then_some(args.enable),
        default: args.default.then_some(true),
        capability_manifest: None,
        capability_manifest_version: None,
        published: None,
    };
    let agent = client.update_agent(agent, &change).await?;
    print_result(args.common.json, &json!(agent), || fields(&agent))?;
    Ok(())
}
