//! `guildhall keys`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::ServiceKeyId;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::client::session::{Common, OfTenant, role};
use crate::client::wait;
use crate::output::{second, second_or_dash, show, table};

const EXAMPLES: &str = "Examples:
  guildhall keys create ci --role developer --tenant acme
  guildhall keys ls --tenant acme
  guildhall keys revoke key_01920000000070008000000000000000 --tenant acme

A key is for a program: it sends the secret as `Authorization: Bearer …`. The secret is shown once.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct CreateArgs {
    /// What the key is for
    name: String,
    /// What it may do, not more than you: operator, developer or viewer
    #[arg(long, value_parser = role)]
    role: Role,
    /// A word of yours with which the same command can be sent again without making a second key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: OfTenant,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a key and shows its secret, this once
    Create(CreateArgs),
    /// Lists the keys of a tenant, without their secrets
    Ls {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Ends a key: it is refused at once, everywhere
    Revoke {
        /// The key's id
        #[arg(value_name = "KEY")]
        id: ServiceKeyId,
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &KeysArgs) -> Result<()> {
    match &args.verb {
        Verb::Create(args) => wait(create(args)),
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
        Verb::Revoke { id, tenant, common } => wait(revoke(*id, tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let tenant = args.tenant.find(&client).await?;
    let key = client.create_key(tenant, &args.name, args.role, args.idempotency_key.as_deref()).await?;
    let secret = key.secret.as_ref().map(ExposeSecret::expose_secret);
    show(args.common.json, &json!({ "id": key.id, "secret": secret }), || match secret {
        Some(secret) => format!("made key {}; its secret is shown this once:\n\n{secret}", key.id),
        None => {
            format!("key {} was made before with this idempotency key; its secret was shown then", key.id)
        }
    })?;
    Ok(())
}

async fn list(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let keys = client.list_keys(tenant.find(&client).await?).await?;
    show(common.json, &json!({ "keys": keys }), || {
        let rows = keys.iter().map(|key| {
            let (used, revoked) = (second_or_dash(key.last_used_at), second_or_dash(key.revoked_at));
            [key.name.clone(), key.id.clone(), second(key.created_at), used, revoked]
        });
        table(["NAME", "KEY", "MADE", "LAST USED", "REVOKED"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn revoke(id: ServiceKeyId, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    client.revoke_key(tenant.find(&client).await?, id).await?;
    show(common.json, &json!({ "id": id, "revoked": true }), || format!("{id} is refused from now on"))?;
    Ok(())
}
