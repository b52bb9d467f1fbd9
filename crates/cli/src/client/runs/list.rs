//! `guildhall runs ls` and `guildhall runs show`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::liveness::Phase;
use guildhall_protocol::rest::runs::RunView;
use guildhall_runtime::Clock;
use guildhall_sdk::RunScope;
use serde_json::json;

use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{
    format_age, format_fields, format_optional_time, format_table, format_time, print_result,
};

#[derive(Args)]
pub(super) struct ListRunsArgs {
    /// Also list runs that have ended
    #[arg(long)]
    all: bool,
    /// Maximum number of runs
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Only runs created before this run id
    #[arg(long, value_name = "RUN")]
    before: Option<RunId>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn list(args: &ListRunsArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let scope = if args.all { RunScope::All } else { RunScope::Open };
    let page = connection.client.list_runs(tenant, scope, args.before, args.limit).await?;
    let now = Clock::system().now();
    print_result(args.common.json, &json!(page), || {
        if page.runs.is_empty() && scope == RunScope::Open {
            return "no open runs; `guildhall runs ls --all` also lists runs that have ended".to_owned();
        }
        let rows = page.runs.iter().map(|run| {
            let age = format_age(run.created_at, now);
            let (profile, title) = (run.backend_profile.clone(), run.title.clone().unwrap_or_default());
            [
                run.run_id.clone(),
                status_text(run),
                profile,
                run.project_id.clone(),
                age,
                waiting_for(run),
                title,
            ]
        });
        let header = ["RUN", "STATUS", "PROFILE", "PROJECT", "AGE", "WAITS FOR", "TITLE"];
        format_table(header, &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older runs: add --before {next}");
    }
    Ok(())
}

pub(super) async fn show_one(run: RunId, common: &CommonArgs) -> Result<()> {
    let run = common.connect()?.client.get_run(run).await?;
    print_result(common.json, &json!(run), || format_run(&run))?;
    Ok(())
}

fn format_run(run: &RunView) -> String {
    let lease = run.lease.as_ref();
    let runner = lease.map(|lease| format!("{} until {}", lease.runner_id, format_time(lease.expires_at)));
    let reason = run.failure_kind.as_ref().map(|kind| {
        let message = run.message.as_deref().unwrap_or_default();
        format!("{kind}: {message}")
    });
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let usage = &run.usage;
    format_fields(&[
        ("run", run.run_id.clone()),
        ("title", or_dash(run.title.clone())),
        ("status", status_text(run)),
        ("reason", or_dash(reason)),
        ("waits for", waiting_for(run)),
        ("session", run.session_id.clone()),
        ("tenant", run.tenant_id.clone()),
        ("project", run.project_id.clone()),
        ("profile", run.backend_profile.clone()),
        ("provider", run.provider_id.clone()),
        ("workspace", run.workspace_ref.to_string()),
        ("policy", run.execution_policy.to_string()),
        ("created", format!("{} by {}", format_time(run.created_at), run.created_by)),
        ("ended", format_optional_time(run.ended_at)),
        ("runner", or_dash(runner)),
        ("commands", or_dash(Some(run.open_command_ids.join(" ")).filter(|ids| !ids.is_empty()))),
        ("events", run.last_seq.to_string()),
        (
            "usage",
            format!(
                "{} tokens in, {} out, {} tool calls, {} s active",
                usage.input_tokens,
                usage.output_tokens,
                usage.tool_calls,
                usage.active_ms / 1000
            ),
        ),
    ])
}

/// Returns the status of a run, or `idle` if it is open and has nothing to do.
fn status_text(run: &RunView) -> String {
    match Phase::from_name(&run.liveness.phase) {
        Ok(Phase::Idle) => run.liveness.phase.clone(),
        _ => run.status.clone(),
    }
}

/// Returns in a few words what a run waits for, or its failure kind if it has ended.
fn waiting_for(run: &RunView) -> String {
    let Ok(phase) = Phase::from_name(&run.liveness.phase) else { return run.liveness.phase.clone() };
    match phase {
        Phase::QueueTicket if run.lease.is_none() => "a runner",
        Phase::QueueTicket => "its runner to start the command",
        Phase::WaitingModel | Phase::IdleAfterTool => "the model",
        Phase::WaitingTool => "a tool",
        Phase::WaitingApproval => "the answer of a person",
        Phase::TransportDisconnected => "a connection to the model",
        Phase::RunnerHeartbeatStale => "a heartbeat of its runner",
        Phase::Idle => "a command",
        Phase::Terminal => run.failure_kind.as_deref().unwrap_or("-"),
    }
    .to_owned()
}
