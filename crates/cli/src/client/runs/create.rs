//! `guildhall runs create`.

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::access::principal::UnknownName;
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::policy::{BackendProfile, Sandbox, SecretRef};
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_protocol::rest::runs::{CreateRun, RunView, SessionRef};
use guildhall_sdk::Client;
use serde_json::{Value, json};

use super::watch::Watch;
use super::{words, workspace};
use crate::client::session::{Common, SomeTenant};
use crate::output::show;

pub(super) const EXAMPLES: &str = "Examples:
  guildhall runs create 'tidy my notes' --watch
  guildhall runs create 'and now the rest' --session SES     goes on with what was said before
  guildhall runs create 'review this' --workspace git:https://example.com/acme/web#main
  guildhall runs create - --watch < prompt.txt               words from standard input";

#[derive(Args)]
pub(super) struct CreateArgs {
    /// What to do first; - is standard input. Without it the run waits for `guildhall runs send`
    prompt: Option<String>,
    /// What the run is for, often OWNER/REPOSITORY
    #[arg(long, default_value = "default")]
    project: String,
    /// The backend that does it: demo, codex, or a profile of your own
    #[arg(long, default_value = "demo")]
    profile: String,
    /// Where it is meant to run, such as a machine or a region
    #[arg(long, default_value = "local")]
    provider: String,
    /// What the agent works in: empty, a folder of the runner's machine, or git:ADDRESS#BRANCH
    #[arg(long, default_value = "empty", value_name = "WORKSPACE")]
    workspace: String,
    /// The session to go on with; a new one without it
    #[arg(long)]
    session: Option<SessionId>,
    /// What the agent may touch: read-only, workspace-write or danger-full-access; without it all that the tenant allows
    #[arg(long, value_parser = sandbox)]
    sandbox: Option<Sandbox>,
    /// Shows what happens until the turn ends; without a prompt, until the run ends
    #[arg(long)]
    watch: bool,
    /// A word of yours with which the same command can be sent again without making a second run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: SomeTenant,
    #[command(flatten)]
    common: Common,
}

fn sandbox(text: &str) -> Result<Sandbox, UnknownName> {
    Sandbox::from_name(text)
}

pub(super) async fn run(args: &CreateArgs) -> Result<()> {
    let workspace = workspace::read(&args.workspace)?;
    let prompt = args.prompt.as_deref().map(words::given).transpose()?;
    let session = args.common.open()?;
    let tenant = args.tenant.find(&session).await?;
    let wanted = CreateRun {
        tenant_id: tenant.to_string(),
        project_id: args.project.clone(),
        workspace_ref: workspace,
        provider_id: args.provider.clone(),
        backend_profile: args.profile.clone(),
        execution_policy: policy(args),
        trace_sink: Value::Null,
        session_ref: args.session.map(|session| SessionRef { session_id: Some(session.to_string()) }),
    };
    let made = session.client.create_run(&wanted, args.idempotency_key.as_deref()).await?;
    let run: RunId = made.run_id.parse()?;
    let command = match &prompt {
        Some(prompt) => Some(first_turn(&session.client, run, prompt, args).await?),
        None => None,
    };
    show(args.common.json, &json!({ "run": made, "command": command }), || {
        sentence(&made, command.as_ref())
    })?;
    if !args.watch {
        return Ok(());
    }
    let command = command.map(|command| command.command_id.parse()).transpose()?;
    Watch { client: &session.client, run, command, after_seq: 0, json: args.common.json }.to_the_end().await
}

/// Returns what the run may do. A profile with a provider's credential needs leave to use that one, and no other.
fn policy(args: &CreateArgs) -> Option<Value> {
    let profile = args.profile.parse::<BackendProfile>().ok().filter(BackendProfile::needs_credential);
    let named = profile.map(|profile| {
        let credential = json!({ "name": SecretRef::provider_name(&profile), "keys": ["credential"] });
        ("secretScope".to_owned(), json!({ "providerCredentials": [credential] }))
    });
    let sandbox = args.sandbox.map(|sandbox| ("sandbox".to_owned(), json!(sandbox)));
    let parts: serde_json::Map<_, _> = sandbox.into_iter().chain(named).collect();
    (!parts.is_empty()).then_some(Value::Object(parts))
}

async fn first_turn(client: &Client, run: RunId, prompt: &str, args: &CreateArgs) -> Result<CommandView> {
    // The key stands for the run; its first turn needs one of its own.
    let key = args.idempotency_key.as_ref().map(|key| format!("{key}.turn"));
    let sent = client.submit_command(run, CommandKind::Turn, prompt, key.as_deref()).await;
    sent.with_context(|| format!("{run} was made, but its first turn was not sent"))
}

fn sentence(run: &RunView, command: Option<&CommandView>) -> String {
    let turn = command.map_or(String::new(), |command| format!(" with turn {}", command.command_id));
    format!("made {}{turn} in {}", run.run_id, run.session_id)
}
