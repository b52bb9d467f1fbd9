//! `guildhall login`.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Args;
use guildhall_sdk::{Client, SetupError, Tokens};
use secrecy::SecretString;
use serde_json::json;
use url::{Host, Url};

use super::through_browser;
use crate::client::{password, wait};
use crate::failure::Usage;
use crate::kept::{Context, Contexts, Folder, KeptTokens};
use crate::output::show;

/// Where `guildhall dev` writes its address, and where it listens when nothing else was asked for.
const DEV_URL_FILE: &str = ".guildhall/url";
const DEV_URL: &str = "http://127.0.0.1:7117";
/// Whom `guildhall dev` makes, and where it keeps the password.
const DEV_NAME: &str = "admin";
const DEV_PASSWORD: &str = ".guildhall/admin.password";

const EXAMPLES: &str = "Examples:
  guildhall login                    beside `guildhall dev`, in its folder: finds all by itself
  guildhall login --url https://guildhall.example.com --name ada
  guildhall login --url https://guildhall.example.com --oidc
  pass show guildhall | guildhall login --name ada --password-stdin

The tokens are kept in your configuration folder, readable by you alone. The password is not kept.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoginArgs {
    /// The server's address; without it that of ./.guildhall, or of the current context
    #[arg(long)]
    url: Option<String>,
    /// Your name there
    #[arg(long)]
    name: Option<String>,
    /// Reads the password from standard input
    #[arg(long)]
    password_stdin: bool,
    /// Signs in through the server's identity provider: prints an address to open in a browser
    #[arg(long, conflicts_with_all = ["name", "password_stdin"])]
    oidc: bool,
    /// You have an invitation and no account yet; it comes from standard input, or you are asked for it
    #[arg(long, requires = "oidc")]
    invited: bool,
    /// What to call this context; without it NAME@HOST, or oidc@HOST
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LoginArgs) -> Result<()> {
    wait(sign_in(args))
}

async fn sign_in(args: &LoginArgs) -> Result<()> {
    let folder = Folder::find()?;
    let before = Contexts::read(&folder)?;
    let current = before.find(None).ok().flatten().map(|(_, context)| context.clone());
    let in_dev = Path::new(DEV_PASSWORD).is_file();
    let url = match (&args.url, &current) {
        (Some(url), _) => url.clone(),
        (None, Some(current)) if !in_dev => current.url.clone(),
        (None, _) => std::fs::read_to_string(DEV_URL_FILE).unwrap_or_else(|_| DEV_URL.to_owned()),
    };
    // Also checks the address, before anything of it is used or shown.
    let client = Client::new(&url)?;
    let url = Url::parse(client.base_url()).map_err(|_| SetupError::Address)?;
    let is_local = is_loopback(&url);
    if url.scheme() == "http" && !is_local {
        eprintln!("warning: {url} is not encrypted: what you send can be read on its way");
    }
    let (name, tokens) = if args.oidc {
        let invitation = args.invited.then(password::invitation).transpose()?;
        ("oidc".to_owned(), through_browser::sign_in(&client, invitation.as_ref()).await?)
    } else {
        let name = name(args, &url, in_dev && is_local, current)?;
        let password = password_of(args, &name, &url)?;
        let tokens = client.sign_in(&name, &password).await?;
        (name, tokens)
    };
    let context = Context { name, url: url.to_string(), tenant: None };
    let context_name = args.context.clone().unwrap_or_else(|| default_name(&context, &url));
    KeptTokens::new(folder.clone(), context_name.clone(), client).keep(&tokens).await?;
    remember(&folder, &context_name, &context).await?;
    tell(args, &context_name, &context, &tokens)
}

fn tell(args: &LoginArgs, context_name: &str, context: &Context, tokens: &Tokens) -> Result<()> {
    let Context { url, name, .. } = context;
    let principal = &tokens.principal;
    let value = json!({ "context": context_name, "url": url, "name": name, "principal": principal });
    show(args.json, &value, || {
        format!("signed in to {url} as {name} ({principal}); context {context_name} is the current one")
    })?;
    Ok(())
}

async fn remember(folder: &Folder, name: &str, context: &Context) -> Result<()> {
    let lock = folder.lock().await?;
    let mut contexts = Contexts::read(folder)?;
    // Who signs in anew to the same server still means the same tenant.
    let before = contexts.contexts.get(name).filter(|before| before.url == context.url);
    let tenant = before.and_then(|before| before.tenant.clone());
    contexts.contexts.insert(name.to_owned(), Context { tenant, ..context.clone() });
    contexts.current = Some(name.to_owned());
    contexts.write(folder, &lock)
}

fn name(args: &LoginArgs, url: &Url, is_dev: bool, current: Option<Context>) -> Result<String> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    if is_dev {
        return Ok(DEV_NAME.to_owned());
    }
    if let Some(current) = current.filter(|current| current.url == url.as_str()) {
        return Ok(current.name);
    }
    if !stdin().is_terminal() || args.password_stdin {
        return Err(Usage("who are you there? Say it with --name").into());
    }
    let mut name = String::new();
    eprint!("Name at {url}: ");
    stderr().flush()?;
    stdin().lock().read_line(&mut name)?;
    Ok(name.trim().to_owned())
}

fn password_of(args: &LoginArgs, name: &str, url: &Url) -> Result<SecretString> {
    if args.password_stdin {
        return password::from_stdin();
    }
    if name == DEV_NAME && is_loopback(url) && Path::new(DEV_PASSWORD).is_file() {
        let kept = std::fs::read_to_string(DEV_PASSWORD);
        return Ok(kept.with_context(|| format!("cannot read ./{DEV_PASSWORD}"))?.trim_end().into());
    }
    password::ask(&format!("Password of {name} at {url}: "))
}

fn default_name(context: &Context, url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}@{host}:{port}", context.name),
        None => format!("{}@{host}", context.name),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
