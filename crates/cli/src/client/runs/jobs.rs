//! `guildhall runs launch` and `jobs`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_protocol::rest::runners::jobs::RunnerJobView;
use serde_json::json;

use crate::client::session::Common;
use crate::output::{clean, second, show, table};

#[derive(Args)]
pub(super) struct LaunchArgs {
    /// The run's id
    run: RunId,
    /// The command to start it for; the one that has waited longest without it
    #[arg(long)]
    command: Option<CommandId>,
    /// A word of yours with which the same command can be sent again without starting a second runner
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct JobsArgs {
    /// The run's id
    run: RunId,
    /// Those that were started for one command
    #[arg(long)]
    command: Option<CommandId>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn launch(args: &LaunchArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let job = client.create_runner_job(args.run, args.command, args.idempotency_key.as_deref()).await?;
    show(args.common.json, &json!(job), || {
        format!(
            "{} is {} ({}); `guildhall runs jobs {}` says how it does",
            job.runner_job_id, job.phase, job.job_name, args.run
        )
    })?;
    Ok(())
}

pub(super) async fn list(args: &JobsArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let jobs = client.list_runner_jobs(args.run, args.command).await?;
    show(args.common.json, &json!({ "runnerJobs": jobs }), || {
        if jobs.is_empty() {
            return format!("no runner was started for {} here", args.run);
        }
        let rows: Vec<_> = jobs.iter().map(row).collect();
        table(["JOB", "KIND", "PHASE", "STARTED", "RUNNER", "HOW IT ENDED"], &rows)
    })?;
    Ok(())
}

fn row(job: &RunnerJobView) -> [String; 6] {
    let started = job.launched_at.map_or_else(|| "-".to_owned(), second);
    let end = job.terminal.as_ref().map(|end| end.message.clone().unwrap_or_else(|| end.status.clone()));
    [
        job.runner_job_id.clone(),
        job.kind.clone(),
        job.phase.clone(),
        started,
        job.runner_id.clone().unwrap_or_else(|| "-".to_owned()),
        clean(&end.unwrap_or_else(|| "-".to_owned())),
    ]
}
