//! Runs the guard.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::guard::{AuditLog, Guard};
use guildhall_sdk::tool_calls::{GuardNotice, GuardedInbox};
use serde_json::{Value, json};

use super::command_tools::CommandTools;
use super::consent::ensure_grant;
use super::log::audit_folder;
use super::prompts::TerminalPrompts;
use super::texts::Language;
use super::{RunArgs, SLOT, tool_file};
use crate::async_runtime::block_on;
use crate::error::{FollowInterrupted, UsageError};
use crate::output::{format_time, print_json, print_line, sanitize_line};

pub(super) fn run(args: &RunArgs) -> Result<()> {
    block_on(guard(args))
}

async fn guard(args: &RunArgs) -> Result<()> {
    let agent = args.agent.clone().ok_or(UsageError("--agent is missing"))?;
    let tools = CommandTools(tool_file::commands(args)?);
    let language = args.lang.unwrap_or_else(Language::of_environment);
    let login = args.socket.login()?;
    let folder = audit_folder(&login);
    let clock = Clock::system();
    let _only_guard = lock(&folder)?;
    let audit = AuditLog::open(&folder, clock.clone())?;
    let tasks = Tasks::new();
    let device = login.open_device(SLOT, &tasks).await?;
    let prompts = TerminalPrompts::new(language);
    ensure_grant(&device.messenger, &agent, args, &prompts, language).await?;
    let guard = Guard::new(prompts, tools, clock, audit);
    let inbox = GuardedInbox::open(device.messenger.clone(), guard, std::slice::from_ref(&agent))?;
    let ended = tokio::select! {
        error = inbox.run(|notice| print(&notice, args.socket.json, language)) => Err(error.into()),
        // Without a handler, Ctrl-C ends the process as usual.
        Ok(()) = tokio::signal::ctrl_c() => Err(FollowInterrupted.into()),
    };
    device.messenger.socket().close().await;
    ended
}

/// A second guard of the same AID would run each call again.
fn lock(folder: &Path) -> Result<File> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    if file.try_lock().is_err() {
        bail!("another guard of this AID is running on this machine");
    }
    Ok(file)
}

fn print(notice: &GuardNotice, json: bool, language: Language) {
    let printed =
        if json { print_json(&json_of(notice).to_string()) } else { print_line(&line_of(notice, language)) };
    // A reader that is gone does not end the guard.
    drop(printed);
}

fn line_of(notice: &GuardNotice, language: Language) -> String {
    let time = format_time(Clock::system().now());
    let line = match notice {
        GuardNotice::Ready => language.ready().to_owned(),
        GuardNotice::Disconnected(error) => error.to_string(),
        GuardNotice::Scopes { agent, scopes } => {
            let scopes = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("{agent}  {}", language.scopes(&scopes))
        }
        GuardNotice::Refused { from, reason } => format!("{from}  {reason}"),
        GuardNotice::Answered { agent, call, tool, outcome } => {
            format!("{agent}  {call}  {tool}  {}", language.outcome(outcome))
        }
        GuardNotice::Repeated { agent, call } => format!("{agent}  {call}  repeated"),
        GuardNotice::NotAnswered { agent, call, error } => format!("{agent}  {call}  {error}"),
    };
    sanitize_line(&format!("{time}  {line}"))
}

/// Results are the agent's: they are not printed.
fn json_of(notice: &GuardNotice) -> Value {
    match notice {
        GuardNotice::Ready => json!({ "kind": "ready" }),
        GuardNotice::Disconnected(error) => json!({ "kind": "disconnected", "error": error.to_string() }),
        GuardNotice::Scopes { agent, scopes } => {
            json!({ "kind": "scopes", "agent": agent.to_string(), "scopes": scopes })
        }
        GuardNotice::Refused { from, reason } => {
            json!({ "kind": "refused", "agent": from.to_string(), "reason": reason.to_string() })
        }
        GuardNotice::Answered { agent, call, tool, outcome } => json!({
            "kind": "answered", "agent": agent.to_string(), "callId": call.as_str(), "tool": tool,
            "outcome": Language::En.outcome(outcome),
        }),
        GuardNotice::Repeated { agent, call } => {
            json!({ "kind": "repeated", "agent": agent.to_string(), "callId": call.as_str() })
        }
        GuardNotice::NotAnswered { agent, call, error } => json!({
            "kind": "not-answered", "agent": agent.to_string(), "callId": call.as_str(), "error": error.to_string(),
        }),
    }
}
