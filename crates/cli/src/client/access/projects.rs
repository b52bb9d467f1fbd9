//! `guildhall projects`.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall projects create website --name 'The website' --tenant acme
  guildhall projects ls --tenant acme";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProjectsArgs {
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
    /// Idempotency key: a repeated command with the same key does not create a second project
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a project
    Create(CreateArgs),
    /// List the projects of a tenant
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &ProjectsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let tenant = args.tenant.resolve(&client).await?;
    let name = args.name.as_deref().unwrap_or(&args.slug);
    let project = client.create_project(tenant, &args.slug, name, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(project), || {
        format!("created project {} ({})", project.slug, project.id)
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let projects = client.list_projects(tenant.resolve(&client).await?).await?;
    print_result(common.json, &json!({ "projects": projects }), || {
        let rows = projects.iter().map(|project| {
            [project.slug.clone(), project.name.clone(), format_time(project.created_at), project.id.clone()]
        });
        format_table(["PROJECT", "NAME", "CREATED", "ID"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}
