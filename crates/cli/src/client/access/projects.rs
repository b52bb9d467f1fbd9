//! `guildhall projects`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{ProjectId, TenantId};
use guildhall_protocol::rest::access::projects::{ProjectView, SetProjectSetup};
use guildhall_sdk::Client;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::NotFoundError;
use crate::output::{format_fields, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall projects create website --name 'The website' --tenant acme
  guildhall projects ls --tenant acme
  guildhall projects show website --tenant acme
  guildhall projects setup website --command 'npm ci' --tenant acme";

const SETUP_EXAMPLES: &str = "Examples:
  guildhall projects setup website --command 'npm ci' --cache-file package-lock.json --tenant acme
  guildhall projects setup website --command ./prepare --host packages.example.com --tenant acme
  guildhall projects setup website --clear --tenant acme";

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

#[derive(Args)]
#[command(after_help = SETUP_EXAMPLES)]
struct SetupArgs {
    /// Slug or id of the project
    project: String,
    /// Shell command that prepares a workspace; it must contain no secret
    #[arg(long, required_unless_present = "clear")]
    command: Option<String>,
    /// Host that the command may reach, such as packages.example.com or '*.example.com'; repeatable
    #[arg(long = "host", value_name = "HOST", conflicts_with = "clear")]
    hosts: Vec<String>,
    /// File whose content makes the key of the cache, such as package-lock.json; repeatable
    #[arg(long = "cache-file", value_name = "PATH", conflicts_with = "clear")]
    cache_files: Vec<String>,
    /// Remove the setup
    #[arg(long, conflicts_with = "command")]
    clear: bool,
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
    /// Show a project and its setup
    Show {
        /// Slug or id of the project
        project: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Set the command that prepares a workspace before the agent starts
    Setup(SetupArgs),
}

pub(crate) fn run(args: &ProjectsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Show { project, tenant, common } => block_on(show(project, tenant, common)),
        Commands::Setup(args) => block_on(change_setup(args)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let (tenant, client) = (args.tenant.resolve(&connection).await?, connection.client);
    let name = args.name.as_deref().unwrap_or(&args.slug);
    let project = client.create_project(tenant, &args.slug, name, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(project), || {
        format!("created project {} ({})", project.slug, project.id)
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let projects = connection.client.list_projects(tenant.resolve(&connection).await?).await?;
    print_result(common.json, &json!({ "projects": projects }), || {
        let rows = projects.iter().map(|project| {
            [project.slug.clone(), project.name.clone(), format_time(project.created_at), project.id.clone()]
        });
        format_table(["PROJECT", "NAME", "CREATED", "ID"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn show(project: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let (tenant, client) = (tenant.resolve(&connection).await?, connection.client);
    let project = client.get_project(tenant, resolve_project(&client, tenant, project).await?).await?;
    print_result(common.json, &json!(project), || fields(&project))?;
    Ok(())
}

async fn change_setup(args: &SetupArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let (tenant, client) = (args.tenant.resolve(&connection).await?, connection.client);
    let project = resolve_project(&client, tenant, &args.project).await?;
    let project = match &args.command {
        Some(command) => {
            let setup = SetProjectSetup {
                command: command.clone(),
                allowed_hosts: args.hosts.clone(),
                cache_files: args.cache_files.clone(),
            };
            client.set_project_setup(tenant, project, &setup).await?
        }
        None => client.clear_project_setup(tenant, project).await?,
    };
    print_result(args.common.json, &json!(project), || fields(&project))?;
    Ok(())
}

/// Returns the id of a project that is given as an id or a slug.
async fn resolve_project(client: &Client, tenant: TenantId, given: &str) -> Result<ProjectId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let projects = client.list_projects(tenant).await?;
    let found = projects.into_iter().find(|project| project.slug == given);
    let found = found.ok_or_else(|| NotFoundError {
        object: "project",
        name: given.to_owned(),
        next: "`guildhall projects ls` lists the projects of a tenant",
    })?;
    Ok(found.id.parse()?)
}

fn fields(project: &ProjectView) -> String {
    let list = |items: &[String]| if items.is_empty() { "-".to_owned() } else { items.join(", ") };
    let mut fields = vec![
        ("project", project.slug.clone()),
        ("name", project.name.clone()),
        ("id", project.id.clone()),
        ("created", format_time(project.created_at)),
    ];
    match &project.setup {
        None => fields.push(("setup", "-".to_owned())),
        Some(setup) => fields.extend([
            ("setup", setup.command.replace('\n', "\\n").replace('\t', "\\t")),
            ("allowed hosts", list(&setup.allowed_hosts)),
            ("cache files", list(&setup.cache_files)),
        ]),
    }
    format_fields(&fields)
}
