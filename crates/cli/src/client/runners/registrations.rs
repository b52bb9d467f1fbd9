//! `guildhall runners`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::RunnerId;
use guildhall_protocol::rest::runners::RunnerSummaryView;
use guildhall_runtime::Clock;
use guildhall_sdk::RunnerScope;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_age, format_fields, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall runners ls                 List the runners that hold a run or wait for one
  guildhall runners show RUNNER
  guildhall runners drain RUNNER       Let it finish its run; then it exits

`guildhall enrolments create` creates the token with which a runner registers.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunnersArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct RunnerArgs {
    /// Id of the runner
    runner: RunnerId,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// List the runners of a tenant, newest first
    Ls {
        /// Also list runners that have not asked for a run lately
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show a runner
    Show(RunnerArgs),
    /// Let a runner finish its run and give it no other
    Drain(RunnerArgs),
}

pub(crate) fn run(args: &RunnersArgs) -> Result<()> {
    match &args.command {
        Commands::Ls { all, tenant, common } => block_on(list(*all, tenant, common)),
        Commands::Show(args) => block_on(show_one(args)),
        Commands::Drain(args) => block_on(drain(args)),
    }
}

async fn list(all: bool, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let tenant = tenant.resolve(&connection).await?;
    let scope = if all { RunnerScope::All } else { RunnerScope::Active };
    let runners = connection.client.list_runners(tenant, scope).await?;
    let now = Clock::system().now();
    print_result(common.json, &json!({ "runners": runners }), || {
        if runners.is_empty() && !all {
            return "no active runners; `guildhall runners ls --all` also lists others".to_owned();
        }
        let rows = runners.iter().map(|runner| {
            let age = format_age(runner.registered_at, now);
            let (state, profiles) = (state_text(runner), runner.backend_profiles.join(", "));
            [runner.runner_id.clone(), runner.name.clone(), state, profiles, age, run_text(runner)]
        });
        format_table(["RUNNER", "NAME", "STATE", "PROFILES", "AGE", "RUN"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn show_one(args: &RunnerArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let runner = connection.client.get_runner(tenant, args.runner).await?;
    print_result(args.common.json, &json!(runner), || {
        format_fields(&[
            ("runner", runner.runner_id.clone()),
            ("name", runner.name.clone()),
            ("state", state_text(&runner)),
            ("profiles", runner.backend_profiles.join(", ")),
            ("registered", format_time(runner.registered_at)),
            ("last seen", format_time(runner.seen_at)),
            ("run", run_text(&runner)),
        ])
    })?;
    Ok(())
}

async fn drain(args: &RunnerArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let runner = connection.client.drain_runner(tenant, args.runner).await?;
    print_result(args.common.json, &json!(runner), || match &runner.run_id {
        Some(run) => format!("{} gets no more runs; it exits when {run} is idle", runner.runner_id),
        None => format!("{} gets no more runs, and exits", runner.runner_id),
    })?;
    Ok(())
}

fn state_text(runner: &RunnerSummaryView) -> String {
    match (runner.draining, &runner.run_id) {
        (true, _) => "draining",
        (false, Some(_)) => "busy",
        (false, None) => "waiting",
    }
    .to_owned()
}

fn run_text(runner: &RunnerSummaryView) -> String {
    runner.run_id.clone().unwrap_or_else(|| "-".to_owned())
}
