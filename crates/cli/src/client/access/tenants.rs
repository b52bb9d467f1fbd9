//! `guildhall tenants`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_protocol::rest::access::tenants::TenantView;
use serde_json::json;

use crate::client::session::{Common, find_tenant};
use crate::client::wait;
use crate::output::{show, table};

const EXAMPLES: &str = "Examples:
  guildhall tenants create acme --name 'Acme Inc.'
  guildhall tenants ls
  guildhall tenants show acme --json";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TenantsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a tenant, which you then own; for those who operate the installation
    Create {
        /// The short name: lower-case letters, digits and inner dashes
        slug: String,
        /// The name for people; without it the slug
        #[arg(long)]
        name: Option<String>,
        /// A word of yours with which the same command can be sent again without making a second tenant
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Lists the tenants that you belong to
    Ls {
        #[command(flatten)]
        common: Common,
    },
    /// Shows a tenant
    Show {
        /// Its slug or its id
        tenant: String,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &TenantsArgs) -> Result<()> {
    match &args.verb {
        Verb::Create { slug, name, idempotency_key, common } => {
            let name = name.as_deref().unwrap_or(slug);
            wait(create(slug, name, idempotency_key.as_deref(), common))
        }
        Verb::Ls { common } => wait(list(common)),
        Verb::Show { tenant, common } => wait(show_one(tenant, common)),
    }
}

async fn create(slug: &str, name: &str, idempotency_key: Option<&str>, common: &Common) -> Result<()> {
    let tenant = common.open()?.client.create_tenant(slug, name, idempotency_key).await?;
    show(common.json, &json!(tenant), || format!("made tenant {} ({})", tenant.slug, tenant.id))?;
    Ok(())
}

async fn list(common: &Common) -> Result<()> {
    let tenants = common.open()?.client.list_tenants().await?;
    show(common.json, &json!({ "tenants": tenants }), || {
        if tenants.is_empty() {
            return "you belong to no tenant; an operator makes one with `guildhall tenants create`"
                .to_owned();
        }
        let rows = tenants.iter().map(|membership| {
            let TenantView { id, slug, name } = membership.tenant.clone();
            [slug, name, membership.role.clone(), id]
        });
        table(["TENANT", "NAME", "ROLE", "ID"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn show_one(tenant: &str, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = client.show_tenant(find_tenant(&client, tenant).await?).await?;
    show(common.json, &json!(tenant), || {
        let TenantView { id, slug, name } = tenant.clone();
        table(["TENANT", "NAME", "ID"], &[[slug, name, id]])
    })?;
    Ok(())
}
