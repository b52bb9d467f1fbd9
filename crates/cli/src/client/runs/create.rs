//! `guildhall runs create`.

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::policy::{Approval, Sandbox};
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_protocol::rest::runs::{CreateRun, RunView, SessionRef};
use guildhall_sdk::Client;
use serde_json::{Value, json};

use super::new_run::{RequestedApproval, RequestedPolicy, create_run, parse_approval};
use super::watch::RunWatch;
use super::{prompt, workspace};
use crate::client::approvals::terminal_input::is_interactive;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::print_result;

pub(super) const EXAMPLES: &str = "Examples:
  guildhall runs create 'tidy my notes' --watch
  guildhall runs create 'and now the rest' --session SES     Continue a session
  guildhall runs create 'review this' --workspace git:https://github.com/OWNER/REPOSITORY#main
  guildhall runs create 'fix the test' --workspace copy:/srv/repos/web    With changes that are not committed
  guildhall runs create - --watch < prompt.txt               Read the prompt from standard input";

#[derive(Args)]
pub(super) struct CreateArgs {
    /// Prompt of the first turn; - reads standard input. Without it the run waits for `guildhall runs send`
    prompt: Option<String>,
    /// Project of the run, often OWNER/REPOSITORY
    #[arg(long, default_value = "default")]
    project: String,
    /// Backend profile: demo, codex, or a profile of your own
    #[arg(long, default_value = "demo")]
    profile: String,
    /// Provider to run on, such as a machine or a region
    #[arg(long, default_value = "local")]
    provider: String,
    /// Workspace of the agent: empty, git:URL#BRANCH, or on the runner's machine a directory, copy:REPOSITORY or git:REPOSITORY#BRANCH
    #[arg(long, default_value = "empty", value_name = "WORKSPACE")]
    workspace: String,
    /// Id of the session to continue; without it a new session
    #[arg(long)]
    session: Option<SessionId>,
    /// Sandbox of the agent: read-only, workspace-write or danger-full-access; without it the maximum of the tenant
    #[arg(long, value_parser = parse_sandbox)]
    sandbox: Option<Sandbox>,
    /// When people are asked before the agent acts: untrusted, on-request or never; without it on-request if you watch the run on a terminal, else the maximum of the tenant
    #[arg(long, value_parser = parse_approval)]
    approval: Option<Approval>,
    /// Print events until the turn ends; without a prompt, until the run ends
    #[arg(long)]
    watch: bool,
    /// Idempotency key: a repeated command with the same key does not create a second run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_sandbox(text: &str) -> Result<Sandbox, UnknownName> {
    Sandbox::from_name(text)
}

pub(super) async fn run(args: &CreateArgs) -> Result<()> {
    let workspace = workspace::parse(&args.workspace)?;
    let prompt = args.prompt.as_deref().map(prompt::read).transpose()?;
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let request = CreateRun {
        tenant_id: tenant.to_string(),
        project_id: args.project.clone(),
        workspace_ref: workspace,
        provider_id: args.provider.clone(),
        backend_profile: args.profile.clone(),
        execution_policy: None,
        trace_sink: Value::Null,
        session_ref: args.session.map(|session| SessionRef { session_id: Some(session.to_string()) }),
        idempotency_key: None,
    };
    let can_answer = args.watch && !args.common.json && is_interactive();
    let approval = RequestedApproval::with_default(args.approval, can_answer);
    let policy = RequestedPolicy { sandbox: args.sandbox, approval };
    let created = create_run(&connection.client, request, policy, args.idempotency_key.as_deref()).await?;
    let run: RunId = created.run_id.parse()?;
    let command = match &prompt {
        Some(prompt) => Some(submit_first_turn(&connection.client, run, prompt, args).await?),
        None => None,
    };
    print_result(args.common.json, &json!({ "run": created, "command": command }), || {
        format_created(&created, command.as_ref())
    })?;
    if !args.watch {
        return Ok(());
    }
    let command = command.map(|command| command.command_id.parse()).transpose()?;
    let json = args.common.json;
    RunWatch { client: &connection.client, run, command, after_seq: 0, json, closes_run: false }
        .follow_to_end()
        .await
}

async fn submit_first_turn(
    client: &Client,
    run: RunId,
    prompt: &str,
    args: &CreateArgs,
) -> Result<CommandView> {
    // The key is that of the run; the first turn needs its own.
    let key = args.idempotency_key.as_ref().map(|key| format!("{key}.turn"));
    let sent = client.submit_command(run, CommandKind::Turn, prompt, key.as_deref()).await;
    sent.with_context(|| format!("{run} was created, but its first turn was not sent"))
}

fn format_created(run: &RunView, command: Option<&CommandView>) -> String {
    let turn = command.map_or(String::new(), |command| format!(" with turn {}", command.command_id));
    format!("created {}{turn} in {}", run.run_id, run.session_id)
}
