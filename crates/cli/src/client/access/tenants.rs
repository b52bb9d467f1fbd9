//! `guildhall tenants`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_protocol::rest::access::tenants::TenantView;
use serde_json::json;

use super::bounds::{self, BoundsArgs};
use super::operators::explain_refusal;
use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, resolve_tenant};
use crate::output::{format_table, print_result};

const EXAMPLES: &str = "Examples:
  guildhall tenants create acme --name 'Acme Inc.'
  guildhall tenants ls
  guildhall tenants show acme --json
  guildhall tenants bounds set acme --directory '/srv/acme/*' --sandbox read-only";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TenantsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a tenant and become its owner (operators only)
    Create {
        /// Short name: lower-case letters, digits and inner hyphens
        slug: String,
        /// Display name; without it the slug
        #[arg(long)]
        name: Option<String>,
        /// Idempotency key: a repeated command with the same key does not create a second tenant
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// List your tenants
    Ls {
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show a tenant
    Show {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show and restrict what runs of a tenant may request (operators only)
    Bounds(BoundsArgs),
}

pub(crate) fn run(args: &TenantsArgs) -> Result<()> {
    match &args.command {
        Commands::Create { slug, name, idempotency_key, common } => {
            let name = name.as_deref().unwrap_or(slug);
            block_on(create(slug, name, idempotency_key.as_deref(), common))
        }
        Commands::Ls { common } => block_on(list(common)),
        Commands::Show { tenant, common } => block_on(show_one(tenant, common)),
        Commands::Bounds(args) => bounds::run(args),
    }
}

async fn create(slug: &str, name: &str, idempotency_key: Option<&str>, common: &CommonArgs) -> Result<()> {
    let created = common.connect()?.client.create_tenant(slug, name, idempotency_key).await;
    let tenant = created.map_err(explain_refusal)?;
    print_result(common.json, &json!(tenant), || format!("created tenant {} ({})", tenant.slug, tenant.id))?;
    Ok(())
}

async fn list(common: &CommonArgs) -> Result<()> {
    let tenants = common.connect()?.client.list_tenants().await?;
    print_result(common.json, &json!({ "tenants": tenants }), || {
        if tenants.is_empty() {
            return "you are not a member of any tenant; an operator creates one with `guildhall tenants create`"
                .to_owned();
        }
        let rows = tenants.iter().map(|membership| {
            let TenantView { id, slug, name } = membership.tenant.clone();
            [slug, name, membership.role.clone(), id]
        });
        format_table(["TENANT", "NAME", "ROLE", "ID"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn show_one(tenant: &str, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let tenant = client.get_tenant(resolve_tenant(&client, tenant).await?).await?;
    print_result(common.json, &json!(tenant), || {
        let TenantView { id, slug, name } = tenant.clone();
        format_table(["TENANT", "NAME", "ID"], &[[slug, name, id]])
    })?;
    Ok(())
}
