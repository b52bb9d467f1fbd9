//! Registers a runner and serves runs, one at a time: claims a run, renews its lease, works through its commands, releases it.

mod ack;
mod active_run;
mod changes;
mod claim;
mod event_forwarder;
mod options;
mod prompt;
mod questions;
mod session_backend;
mod turn;
mod watch;

use std::time::Duration;

use guildhall_domain::ids::RunnerId;
use guildhall_domain::runs::TerminalOutcome;
use guildhall_runtime::Tasks;
use guildhall_sdk::runner::RunnerClient;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::child;
use crate::guard::GuardLink;
use crate::lease::LeaseKeeper;
use active_run::ActiveRun;
pub use claim::register;
use claim::{ClaimResult, ClaimedRun, claim};
pub use options::{GitOptions, ServeError, ServeOptions, ServeOutcome};

/// How long background tasks may take to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Claims one run for a registered runner, and serves it until it ends or is released.
pub async fn serve(
    client: &RunnerClient,
    runner: RunnerId,
    options: &ServeOptions,
    stop: &CancellationToken,
) -> Result<ServeOutcome, ServeError> {
    let ClaimedRun { held, grant, leased_since } = match claim(client, runner, options, stop).await? {
        ClaimResult::Claimed(claimed) => claimed,
        ClaimResult::NoRun => return Ok(ServeOutcome::NoRun),
        ClaimResult::Draining => return Ok(ServeOutcome::Draining),
    };
    info!(run.id = %held.run(), runner.id = %runner, "serving {}", held.run());
    let (tasks, lost, guard) = (Tasks::new(), CancellationToken::new(), options.guard);
    let keeper = LeaseKeeper {
        held: held.clone(),
        lease: grant.lease,
        since: leased_since,
        guard,
        lost: lost.clone(),
    };
    tasks.spawn("lease", keeper.run(tasks.stop()));
    tasks.spawn("kill backend on lost lease", kill_backend_when_lost(lost.clone(), guard, tasks.stop()));
    let outcome = match ActiveRun::start(held.clone(), &grant, options, &tasks, lost).await {
        Ok(run) => Ok(run.process_commands(options, stop).await),
        Err(error) => {
            // End the run with the reason; otherwise it would be offered to one runner after another.
            let message = format!("the runner cannot serve this run: {error}");
            if let Err(error) = held.end(&TerminalOutcome::failed(error.kind(), message)).await {
                warn!("cannot report that {} cannot be served: {error}", held.run());
            }
            Err(error)
        }
    };
    tasks.shutdown(SHUTDOWN_TIMEOUT).await;
    guard.report_idle();
    outcome
}

/// Kills the backend as soon as the lease is lost, without waiting for other tasks.
async fn kill_backend_when_lost(lost: CancellationToken, guard: GuardLink, stop: CancellationToken) {
    tokio::select! {
        () = lost.cancelled() => {
            child::kill_backends();
            guard.report_idle();
        }
        () = stop.cancelled() => {}
    }
}
