//! `guildhall context`.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::time::timeout;

use super::connection::{CommonArgs, resolve_tenant};
use crate::async_runtime::block_on;
use crate::config_dir::{ConfigDir, Context, ContextNotFound, Contexts, NotSignedIn, StoredTokenSource};
use crate::output::{format_table, print_result};
use crate::server_client::client;

/// How long `context rm` waits for the server: it may no longer exist.
const SIGN_OUT_TIMEOUT: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "Examples:
  guildhall context ls
  guildhall context use admin@127.0.0.1:7117
  guildhall context tenant acme                          Set the default tenant of the context
  guildhall context rm admin@127.0.0.1:7117              Sign out and forget the server
  guildhall whoami --context ada@guildhall.example.com   Use another context for one command

A context is a server and your name there; `guildhall login` creates it.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// List the contexts
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set the current context
    Use {
        /// Name of the context
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Sign out of a context and remove it; the current one only if it is the last
    Rm {
        /// Name of the context
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set the default tenant of a context, for commands without --tenant
    Tenant {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show the current context
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &ContextArgs) -> Result<()> {
    let dir = ConfigDir::find()?;
    match &args.command {
        Commands::Ls { json } => list(&Contexts::load(&dir)?, *json),
        Commands::Use { name, json } => block_on(set_current(&dir, name, *json)),
        Commands::Rm { name, json } => block_on(remove(&dir, name, *json)),
        Commands::Tenant { tenant, common } => block_on(set_tenant(&dir, tenant, common)),
        Commands::Show { json } => show_one(&Contexts::load(&dir)?, None, *json),
    }
}

fn list(contexts: &Contexts, json: bool) -> Result<()> {
    let is_current = |name: &String| contexts.current.as_ref() == Some(name);
    let all = contexts.contexts.iter().map(|(name, context)| {
        json!({
            "context": name, "url": context.url, "name": context.name, "tenant": context.tenant,
            "current": is_current(name),
        })
    });
    print_result(json, &json!({ "contexts": all.collect::<Vec<_>>() }), || {
        if contexts.contexts.is_empty() {
            return "no contexts; `guildhall login` creates one".to_owned();
        }
        let rows = contexts.contexts.iter().map(|(name, context)| {
            let mark = if is_current(name) { "*" } else { "" };
            let tenant = context.tenant.clone().unwrap_or_else(|| "-".to_owned());
            [mark.to_owned(), name.clone(), context.name.clone(), tenant, context.url.clone()]
        });
        format_table(["", "CONTEXT", "NAME", "TENANT", "URL"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn set_current(dir: &ConfigDir, name: &str, json: bool) -> Result<()> {
    let lock = dir.lock().await?;
    let mut contexts = Contexts::load(dir)?;
    if !contexts.contexts.contains_key(name) {
        return Err(ContextNotFound(name.to_owned()).into());
    }
    contexts.current = Some(name.to_owned());
    contexts.save(dir, &lock)?;
    show_one(&contexts, Some(name), json)
}

/// Removes a context with its tokens, even if its server no longer exists.
async fn remove(dir: &ConfigDir, name: &str, json: bool) -> Result<()> {
    let contexts = Contexts::load(dir)?;
    let Some(context) = contexts.contexts.get(name) else {
        return Err(ContextNotFound(name.to_owned()).into());
    };
    // Without a current context, each command would report that the user is not signed in.
    if contexts.current.as_deref() == Some(name) && contexts.contexts.len() > 1 {
        bail!("{name} is the current context\n  next: select another one with `guildhall context use`");
    }
    let tokens = StoredTokenSource::new(dir.clone(), name.to_owned(), client(&context.url)?);
    let signed_out =
        timeout(SIGN_OUT_TIMEOUT, tokens.client().sign_out()).await.is_ok_and(|ended| ended.is_ok());
    let had_tokens = tokens.delete().await?;
    let lock = dir.lock().await?;
    let mut contexts = Contexts::load(dir)?;
    contexts.contexts.remove(name);
    contexts.current = contexts.current.filter(|current| current != name);
    contexts.save(dir, &lock)?;
    print_result(json, &json!({ "context": name, "removed": true, "signedOut": signed_out }), || {
        let login = match (had_tokens, signed_out) {
            (true, true) => " and signed out",
            (true, false) => "; the server could not end the login: it stays valid until it expires",
            (false, _) => "",
        };
        format!("removed {name}{login}")
    })?;
    Ok(())
}

async fn set_tenant(dir: &ConfigDir, tenant: &str, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    // Fail now, not in each later command, if the tenant does not exist.
    resolve_tenant(&connection.client, tenant).await?;
    let lock = dir.lock().await?;
    let mut contexts = Contexts::load(dir)?;
    let context = contexts.contexts.get_mut(&connection.context_name).ok_or(NotSignedIn::NoContext)?;
    context.tenant = Some(tenant.to_owned());
    contexts.save(dir, &lock)?;
    show_one(&contexts, Some(&connection.context_name), common.json)
}

fn show_one(contexts: &Contexts, name: Option<&str>, json: bool) -> Result<()> {
    let (name, context) = contexts.find(name)?.ok_or(NotSignedIn::NoContext)?;
    let Context { url, name: user, tenant } = context;
    let value = json!({ "context": name, "url": url, "name": user, "tenant": tenant });
    print_result(json, &value, || {
        let tenant = tenant.as_ref().map_or(String::new(), |tenant| format!(", tenant {tenant}"));
        format!("{name}: {user} at {url}{tenant}")
    })?;
    Ok(())
}
