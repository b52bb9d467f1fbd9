//! `guildhall login`.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use guildhall_sdk::{Client, ClientSetupError, Tokens};
use secrecy::SecretString;
use serde_json::json;
use url::Url;

use super::browser_sign_in;
use crate::async_runtime::block_on;
use crate::client::password;
use crate::config_dir::{ConfigDir, Context, Contexts, StoredTokenSource};
use crate::dev_state::{default_state_dir, url_file};
use crate::error::UsageError;
use crate::output::print_result;
use crate::server_client::{client, is_loopback};

/// The default URL of `guildhall dev`.
const DEV_URL: &str = "http://127.0.0.1:7117";
/// The user that `guildhall dev` creates, and the file with the password.
const DEV_USER: &str = "admin";
const DEV_PASSWORD_FILE: &str = "admin.password";

const EXAMPLES: &str = "Examples:
  guildhall login                    Sign in to the `guildhall dev` of the current directory
  guildhall login --url https://guildhall.example.com --name ada
  guildhall login --url https://guildhall.example.com --oidc
  pass show guildhall | guildhall login --name ada --password-stdin

Tokens are stored in your configuration directory, readable by you only. The password is not stored.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoginArgs {
    /// URL of the server; without it that of the `guildhall dev` of this directory, or of the current context
    #[arg(long)]
    url: Option<String>,
    /// Your user name
    #[arg(long)]
    name: Option<String>,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
    /// Sign in through the server's identity provider: prints a URL to open in a browser
    #[arg(long, conflicts_with_all = ["name", "password_stdin"])]
    oidc: bool,
    /// Create your account from an invitation; reads it from standard input or a prompt
    #[arg(long, requires = "oidc")]
    invited: bool,
    /// Name of the new context; without it NAME@HOST, or oidc@HOST
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LoginArgs) -> Result<()> {
    block_on(sign_in(args))
}

async fn sign_in(args: &LoginArgs) -> Result<()> {
    let dir = ConfigDir::find()?;
    let contexts = Contexts::load(&dir)?;
    let current = contexts.find(None).ok().flatten().map(|(_, context)| context.clone());
    let dev_state = default_state_dir();
    let in_dev = dev_state.join(DEV_PASSWORD_FILE).is_file();
    let url = match (&args.url, &current) {
        (Some(url), _) => url.clone(),
        (None, Some(current)) if !in_dev => current.url.clone(),
        (None, _) => std::fs::read_to_string(url_file(&dev_state)).unwrap_or_else(|_| DEV_URL.to_owned()),
    };
    // Validates the URL before any part of it is used or printed.
    let client = client(&url)?;
    let url = Url::parse(client.base_url()).map_err(|_| ClientSetupError::InvalidUrl)?;
    let is_local = is_loopback(&url);
    if url.scheme() == "http" && !is_local {
        eprintln!("warning: {url} uses no encryption: others on the network can read your password");
    }
    let (name, tokens) = if args.oidc {
        require_identity_provider(&client).await?;
        let invitation = args.invited.then(password::read_invitation).transpose()?;
        ("oidc".to_owned(), browser_sign_in::sign_in(&client, invitation.as_ref()).await?)
    } else {
        let name = user_name(args, &url, in_dev && is_local, current)?;
        let password = read_password(args, &name, &url)?;
        let tokens = client.sign_in(&name, &password).await?;
        (name, tokens)
    };
    let context = Context { name, url: url.to_string(), tenant: None };
    let context_name = args.context.clone().unwrap_or_else(|| default_context_name(&context, &url));
    StoredTokenSource::new(dir.clone(), context_name.clone(), client).save(&tokens).await?;
    save_context(&dir, &context_name, &context).await?;
    print_login(args, &context_name, &context, &tokens)
}

/// Fails before a URL is printed that would only show an error in the browser.
async fn require_identity_provider(client: &Client) -> Result<()> {
    if !client.has_identity_provider().await? {
        let url = client.base_url();
        bail!(
            "{url} has no identity provider, which --oidc needs\n  next: sign in with a password (`guildhall login --url \
             {url} --name NAME`), or ask the operator to set oidc.issuer"
        );
    }
    Ok(())
}

fn print_login(args: &LoginArgs, context_name: &str, context: &Context, tokens: &Tokens) -> Result<()> {
    let Context { url, name, .. } = context;
    let principal = &tokens.principal;
    let value = json!({ "context": context_name, "url": url, "name": name, "principal": principal });
    print_result(args.json, &value, || {
        format!("signed in to {url} as {name} ({principal}); the current context is {context_name}")
    })?;
    Ok(())
}

async fn save_context(dir: &ConfigDir, name: &str, context: &Context) -> Result<()> {
    let lock = dir.lock().await?;
    let mut contexts = Contexts::load(dir)?;
    // A new login to the same server keeps the default tenant.
    let previous = contexts.contexts.get(name).filter(|previous| previous.url == context.url);
    let tenant = previous.and_then(|previous| previous.tenant.clone());
    contexts.contexts.insert(name.to_owned(), Context { tenant, ..context.clone() });
    contexts.current = Some(name.to_owned());
    contexts.save(dir, &lock)
}

fn user_name(args: &LoginArgs, url: &Url, is_dev: bool, current: Option<Context>) -> Result<String> {
    if let Some(name) = &args.name {
        return Ok(name.clone());
    }
    if is_dev {
        return Ok(DEV_USER.to_owned());
    }
    if let Some(current) = current.filter(|current| current.url == url.as_str()) {
        return Ok(current.name);
    }
    if !stdin().is_terminal() || args.password_stdin {
        return Err(UsageError("the user name is missing\n  next: add --name").into());
    }
    let mut name = String::new();
    eprint!("Name at {url}: ");
    stderr().flush()?;
    stdin().lock().read_line(&mut name)?;
    Ok(name.trim().to_owned())
}

fn read_password(args: &LoginArgs, name: &str, url: &Url) -> Result<SecretString> {
    if args.password_stdin {
        return password::read_stdin();
    }
    let dev_password = default_state_dir().join(DEV_PASSWORD_FILE);
    if name == DEV_USER && is_loopback(url) && dev_password.is_file() {
        let stored = std::fs::read_to_string(&dev_password);
        let stored = stored.with_context(|| format!("cannot read {}", dev_password.display()))?;
        return Ok(stored.trim_end().into());
    }
    password::prompt(&format!("Password of {name} at {url}: "))
}

fn default_context_name(context: &Context, url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}@{host}:{port}", context.name),
        None => format!("{}@{host}", context.name),
    }
}
