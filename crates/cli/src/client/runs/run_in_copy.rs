//! `guildhall run`: an agent works on a private copy of the current repository.

use std::io::{BufRead, IsTerminal, Write, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::policy::{Approval, BackendProfile, RequestField};
use guildhall_protocol::rest::runs::CreateRun;
use guildhall_sdk::Client;
use serde_json::{Value, json};

use super::diff::{apply_diff, repository};
use super::new_run::{RequestedApproval, RequestedPolicy, create_run, parse_approval, violates};
use super::prompt;
use super::upload::create_uploaded_run;
use super::watch::RunWatch;
use super::working_tree::History;
use super::working_tree_summary::WorkingTreeSummary;
use crate::async_runtime::block_on;
use crate::client::approvals::terminal_input::discard_typed_input;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::{UnsuccessfulOutcome, UsageError};
use crate::output::{print_json, print_line, sanitize_text};

const EXAMPLES: &str = "Examples:
  guildhall run 'fix the failing test'              Ask before the changes are applied
  guildhall run 'fix the failing test' --apply      Apply them without asking
  guildhall run - --profile codex < prompt.txt      Read the prompt from standard input
  guildhall run 'update the docs' --approval never  Never ask; only the sandbox limits the agent

The agent gets a private copy of the Git repository of the working directory, with what is not committed and without ignored \
files. Your files change only when you apply the changes. \
The copy is uploaded if the server does not have the folder. The run is closed when its turn ends.

If the agent asks before it acts, you answer on the terminal. Without a terminal (in scripts) the commands that answer are printed to \
standard error, and the agent waits for up to a day.

Exit codes: 0 completed, 1 failed or blocked, 3 cancelled.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunInCopyArgs {
    /// What the agent should do; - reads standard input
    prompt: String,
    /// Backend profile; without it your only profile with a credential
    #[arg(long)]
    profile: Option<BackendProfile>,
    /// Project of the run, often OWNER/REPOSITORY
    #[arg(long, default_value = "default")]
    project: String,
    /// Apply the changes without asking
    #[arg(long)]
    apply: bool,
    /// Upload the repository even if the server may read this path, because it has another folder there
    #[arg(long)]
    upload: bool,
    /// When you are asked before the agent acts: untrusted, on-request or never; without it on-request
    #[arg(long, value_parser = parse_approval)]
    approval: Option<Approval>,
    /// Leave the run open, for `guildhall runs send`
    #[arg(long)]
    keep_open: bool,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &RunInCopyArgs) -> Result<()> {
    block_on(run_in_copy(args))
}

async fn run_in_copy(args: &RunInCopyArgs) -> Result<()> {
    let repository = repository()?;
    let prompt = prompt::read(&args.prompt)?;
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let client = &connection.client;
    let profile = match &args.profile {
        Some(profile) => profile.clone(),
        None => only_profile(client, tenant).await?,
    };
    let in_copy = CreateRun {
        tenant_id: tenant.to_string(),
        project_id: args.project.clone(),
        workspace_ref: json!({ "kind": "copy", "path": repository }),
        provider_id: "local".to_owned(),
        backend_profile: profile.to_string(),
        execution_policy: None,
        trace_sink: Value::Null,
        session_ref: None,
        idempotency_key: None,
    };
    // Without a terminal too: the questions are printed, with the commands that answer them.
    let policy =
        RequestedPolicy { sandbox: None, approval: RequestedApproval::with_default(args.approval, true) };
    let (run, source) = create(args, client, in_copy, policy, &repository).await?;
    let turn = client.submit_command(run, CommandKind::Turn, &prompt, None).await;
    let turn = turn.with_context(|| format!("{run} was created, but its turn was not sent"))?;
    let command: CommandId = turn.command_id.parse()?;
    if !args.common.json {
        let (copy, note) = match source {
            CopySource::OnServer => ("a copy", ""),
            CopySource::Uploaded(History::Full) => ("an uploaded copy", ""),
            CopySource::Uploaded(History::None) => ("an uploaded copy", ", without its history"),
        };
        let contents = WorkingTreeSummary::read(&repository)
            .map_or_else(|| "as it is".to_owned(), |contents| contents.to_string());
        print_line(&format!("{profile} works on {copy} of {} ({contents}{note})", repository.display()))?;
        print_line(&format!(
            "{run}; Ctrl-C leaves it running, `guildhall runs events {run} -f` returns to it"
        ))?;
    }
    let watch = RunWatch {
        client,
        run,
        command: Some(command),
        after_seq: 0,
        json: args.common.json,
        closes_run: !args.keep_open,
    };
    let outcome = watch.follow_to_end().await;
    // Without an outcome the turn goes on: nothing to take over yet.
    if outcome.as_ref().is_err_and(|error| !error.is::<UnsuccessfulOutcome>()) {
        return outcome;
    }
    let taken_over = take_over(args, client, run, outcome.is_ok()).await;
    if !args.keep_open {
        client.close_run(run).await?;
    }
    taken_over?;
    outcome
}

/// Where the copy comes from.
enum CopySource {
    OnServer,
    Uploaded(History),
}

/// Creates the run: on a copy of the folder, or on an uploaded one if the server does not have the folder.
async fn create(
    args: &RunInCopyArgs,
    client: &Client,
    request: CreateRun,
    policy: RequestedPolicy,
    repository: &Path,
) -> Result<(RunId, CopySource)> {
    if !args.upload {
        match create_run(client, request.clone(), policy, None).await {
            Err(error) if violates(&error, RequestField::WorkspacePath) => {}
            created => return Ok((created?.run_id.parse()?, CopySource::OnServer)),
        }
    }
    let created = create_uploaded_run(client, &request, policy, repository).await?;
    Ok((created.run.run_id.parse()?, CopySource::Uploaded(created.bundle.history)))
}

/// Returns the only profile with a credential.
async fn only_profile(client: &Client, tenant: TenantId) -> Result<BackendProfile> {
    let profiles = client.list_profiles(tenant).await?;
    let mut configured: Vec<String> = profiles
        .into_iter()
        .filter(|profile| profile.configured && profile.profile != BackendProfile::DEMO)
        .map(|profile| profile.profile)
        .collect();
    match (configured.pop(), configured.is_empty()) {
        (Some(only), true) => Ok(only.parse()?),
        (Some(last), false) => {
            let names = configured.join(", ");
            bail!("several profiles have a credential: choose one with --profile ({names}, {last})")
        }
        (None, _) => Err(UsageError(
            "no profile has a credential\n  next: `guildhall profiles set codex` sets the key of Codex",
        )
        .into()),
    }
}

/// Shows the changes, and applies them if the user wants that.
async fn take_over(args: &RunInCopyArgs, client: &Client, run: RunId, completed: bool) -> Result<()> {
    let diff = match client.run_diff(run).await {
        // Its agent never started. The reason is already printed.
        Err(error) if !completed && error.kind() == Some(FailureKind::NotFound) => return Ok(()),
        read => read.with_context(|| format!("cannot read the changes of {run}"))?,
    };
    if args.common.json {
        print_json(&json!({ "diff": diff }).to_string())?;
    } else if diff.diff.0.is_empty() {
        return Ok(print_line("the agent has changed nothing")?);
    } else {
        print_line(&sanitize_text(&String::from_utf8_lossy(&diff.diff.0)))?;
    }
    if diff.diff.0.is_empty() || !(args.apply || wants_to_apply(args, run)?) {
        return Ok(());
    }
    let files = apply_diff(run, &diff)?;
    if !args.common.json {
        print_line(&format!("applied:\n  {}", files.join("\n  ")))?;
    }
    Ok(())
}

/// Asks, if there is someone to ask.
fn wants_to_apply(args: &RunInCopyArgs, run: RunId) -> Result<bool> {
    if args.common.json || !stdin().is_terminal() {
        eprintln!("  next: `guildhall runs apply {run}` applies the changes");
        return Ok(false);
    }
    // An answer to a question of the agent that came too late is not an answer to this one.
    discard_typed_input();
    eprint!("Apply these changes? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    let is_yes = ["y", "yes"].contains(&answer.trim().to_lowercase().as_str());
    if !is_yes {
        eprintln!("not applied; `guildhall runs apply {run}` applies the changes later");
    }
    Ok(is_yes)
}
