//! `guildhall keys`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::ServiceKeyId;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg, parse_role};
use crate::output::{format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall keys create ci --role developer --tenant acme
  guildhall keys ls --tenant acme
  guildhall keys revoke key_01920000000070008000000000000000 --tenant acme

A program sends the secret of its key as `Authorization: Bearer …`. The secret is shown only once.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct CreateArgs {
    /// Name of the key, such as the program that uses it
    name: String,
    /// Role of the key, not above your own: operator, developer or viewer
    #[arg(long, value_parser = parse_role)]
    role: Role,
    /// Idempotency key: a repeated command with the same key does not create a second key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a key and print its secret; it is not shown again
    Create(CreateArgs),
    /// List the keys of a tenant, without their secrets
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Revoke a key; it stops working at once
    Revoke {
        /// Id of the key
        #[arg(value_name = "KEY")]
        id: ServiceKeyId,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &KeysArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Revoke { id, tenant, common } => block_on(revoke(*id, tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let key = client.create_key(tenant, &args.name, args.role, args.idempotency_key.as_deref()).await?;
    let secret = key.secret.as_ref().map(ExposeSecret::expose_secret);
    print_result(args.common.json, &json!({ "id": key.id, "secret": secret }), || match secret {
        Some(secret) => format!("created key {}; its secret is shown only now:\n\n{secret}", key.id),
        None => {
            format!("key {} already exists for this idempotency key; its secret is not shown again", key.id)
        }
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let keys = client.list_keys(tenant).await?;
    print_result(common.json, &json!({ "keys": keys }), || {
        let rows = keys.iter().map(|key| {
            let (used, revoked) =
                (format_optional_time(key.last_used_at), format_optional_time(key.revoked_at));
            [key.name.clone(), key.id.clone(), format_time(key.created_at), used, revoked]
        });
        format_table(["NAME", "KEY", "CREATED", "LAST USED", "REVOKED"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn revoke(id: ServiceKeyId, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    client.revoke_key(tenant, id).await?;
    print_result(common.json, &json!({ "id": id, "revoked": true }), || format!("revoked {id}"))?;
    Ok(())
}
