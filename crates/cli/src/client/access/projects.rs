//! `guildhall projects`.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::client::session::{Common, OfTenant};
use crate::client::wait;
use crate::output::{second, show, table};

const EXAMPLES: &str = "Examples:
  guildhall projects create website --name 'The website' --tenant acme
  guildhall projects ls --tenant acme";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProjectsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct CreateArgs {
    /// The short name, unique in the tenant: lower-case letters, digits and inner dashes
    slug: String,
    /// The name for people; without it the slug
    #[arg(long)]
    name: Option<String>,
    /// A word of yours with which the same command can be sent again without making a second project
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: OfTenant,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a project
    Create(CreateArgs),
    /// Lists the projects of a tenant
    Ls {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &ProjectsArgs) -> Result<()> {
    match &args.verb {
        Verb::Create(args) => wait(create(args)),
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let tenant = args.tenant.find(&client).await?;
    let name = args.name.as_deref().unwrap_or(&args.slug);
    let project = client.create_project(tenant, &args.slug, name, args.idempotency_key.as_deref()).await?;
    show(args.common.json, &json!(project), || format!("made project {} ({})", project.slug, project.id))?;
    Ok(())
}

async fn list(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let projects = client.list_projects(tenant.find(&client).await?).await?;
    show(common.json, &json!({ "projects": projects }), || {
        let rows = projects.iter().map(|project| {
            [project.slug.clone(), project.name.clone(), second(project.created_at), project.id.clone()]
        });
        table(["PROJECT", "NAME", "MADE", "ID"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}
