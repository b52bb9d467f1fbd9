//! `guildhall runs launch` and `guildhall runs jobs`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runners::jobs::RunnerJobView;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::{format_table, format_time, print_result, sanitize_line};

#[derive(Args)]
pub(super) struct LaunchArgs {
    /// Id of the run
    run: RunId,
    /// Id of the command to start it for; without it the command that has waited longest
    #[arg(long)]
    command: Option<CommandId>,
    /// Idempotency key: a repeated command with the same key does not start a second runner
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
pub(super) struct JobsArgs {
    /// Id of the run
    run: RunId,
    /// Only runners started for this command id
    #[arg(long)]
    command: Option<CommandId>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn launch(args: &LaunchArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let job = client.create_runner_job(args.run, args.command, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(job), || {
        format!(
            "{} is {} ({}); `guildhall runs jobs {}` shows its state",
            job.runner_job_id, job.phase, job.job_name, args.run
        )
    })?;
    Ok(())
}

pub(super) async fn list(args: &JobsArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let jobs = client.list_runner_jobs(args.run, args.command).await?;
    print_result(args.common.json, &json!({ "runnerJobs": jobs }), || {
        if jobs.is_empty() {
            return format!("the server has started no runner for {}", args.run);
        }
        let rows: Vec<_> = jobs.iter().map(table_row).collect();
        format_table(["JOB", "KIND", "PHASE", "STARTED", "RUNNER", "OUTCOME"], &rows)
    })?;
    Ok(())
}

fn table_row(job: &RunnerJobView) -> [String; 6] {
    let started = job.launched_at.map_or_else(|| "-".to_owned(), format_time);
    let outcome = job.terminal.as_ref();
    let outcome = outcome.map(|end| end.message.clone().unwrap_or_else(|| end.status.clone()));
    [
        job.runner_job_id.clone(),
        job.kind.clone(),
        job.phase.clone(),
        started,
        job.runner_id.clone().unwrap_or_else(|| "-".to_owned()),
        sanitize_line(&outcome.unwrap_or_else(|| "-".to_owned())),
    ]
}
