//! `guildhall context`.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use super::session::{Common, find_tenant};
use super::wait;
use crate::failure::NotThere;
use crate::kept::{Context, Contexts, Folder, NotSignedIn};
use crate::output::{show, table};

const EXAMPLES: &str = "Examples:
  guildhall context ls
  guildhall context use admin@127.0.0.1:7117
  guildhall context tenant acme                          whose runs are meant where none is named
  guildhall whoami --context ada@guildhall.example.com   one command elsewhere

A context is a server and your name there; `guildhall login` makes one.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the contexts
    Ls {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Makes a context the current one
    Use {
        name: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Chooses the tenant whose runs and sessions are meant in the current context where none is named
    Tenant {
        /// Its slug or its id
        tenant: String,
        #[command(flatten)]
        common: Common,
    },
    /// Shows the current context
    Show {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &ContextArgs) -> Result<()> {
    let folder = Folder::find()?;
    match &args.verb {
        Verb::Ls { json } => list(&Contexts::read(&folder)?, *json),
        Verb::Use { name, json } => wait(change(&folder, name, *json)),
        Verb::Tenant { tenant, common } => wait(choose_tenant(&folder, tenant, common)),
        Verb::Show { json } => show_one(&Contexts::read(&folder)?, None, *json),
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
    show(json, &json!({ "contexts": all.collect::<Vec<_>>() }), || {
        if contexts.contexts.is_empty() {
            return "no contexts yet; `guildhall login` makes one".to_owned();
        }
        let rows = contexts.contexts.iter().map(|(name, context)| {
            let mark = if is_current(name) { "*" } else { "" };
            let tenant = context.tenant.clone().unwrap_or_else(|| "-".to_owned());
            [mark.to_owned(), name.clone(), context.name.clone(), tenant, context.url.clone()]
        });
        table(["", "CONTEXT", "NAME", "TENANT", "URL"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn change(folder: &Folder, name: &str, json: bool) -> Result<()> {
    let lock = folder.lock().await?;
    let mut contexts = Contexts::read(folder)?;
    if !contexts.contexts.contains_key(name) {
        let next = "`guildhall context ls` shows which there are";
        return Err(NotThere { what: "context", name: name.to_owned(), next }.into());
    }
    contexts.current = Some(name.to_owned());
    contexts.write(folder, &lock)?;
    show_one(&contexts, Some(name), json)
}

async fn choose_tenant(folder: &Folder, tenant: &str, common: &Common) -> Result<()> {
    let session = common.open()?;
    // One that does not exist would fail each later command instead of this one.
    find_tenant(&session.client, tenant).await?;
    let lock = folder.lock().await?;
    let mut contexts = Contexts::read(folder)?;
    let context = contexts.contexts.get_mut(&session.context_name).ok_or(NotSignedIn::Never)?;
    context.tenant = Some(tenant.to_owned());
    contexts.write(folder, &lock)?;
    show_one(&contexts, Some(&session.context_name), common.json)
}

fn show_one(contexts: &Contexts, name: Option<&str>, json: bool) -> Result<()> {
    let (name, context) = contexts.find(name)?.ok_or(NotSignedIn::Never)?;
    let Context { url, name: user, tenant } = context;
    let value = json!({ "context": name, "url": url, "name": user, "tenant": tenant });
    show(json, &value, || {
        let tenant = tenant.as_ref().map_or(String::new(), |tenant| format!(", tenant {tenant}"));
        format!("{name}: {user} at {url}{tenant}")
    })?;
    Ok(())
}
