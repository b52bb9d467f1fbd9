//! Registers the runner and claims a run: the requested one, or the one that has waited longest.

use std::time::Duration;

use guildhall_domain::ids::RunnerId;
use guildhall_protocol::rest::runners::RegisterRunner;
use guildhall_sdk::runner::{ClaimOutcome, ClaimRetry, Grant, LeasedRun, RunnerClient};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::options::{POLL_TIMEOUT, RETRY_DELAY, ServeError, ServeOptions};
use crate::lease::is_lease_lost;

/// Delay between claims of one particular run.
const CLAIM_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Registers the runner. Retries while the server is unreachable, up to the claim timeout. Returns `None` when `stop`
/// is cancelled.
pub async fn register(
    client: &RunnerClient,
    options: &ServeOptions,
    stop: &CancellationToken,
) -> Result<Option<RunnerId>, ServeError> {
    let request = RegisterRunner {
        name: options.name.clone(),
        placement: json!({ "pid": std::process::id() }),
        backend_profiles: options.profiles.clone(),
    };
    let deadline = Instant::now() + options.claim_timeout;
    loop {
        match client.register(&request).await {
            Ok(runner) => {
                let id = runner.runner_id.parse().map_err(|_| ServeError::InvalidResponse("runner id"))?;
                return Ok(Some(id));
            }
            Err(error) if !error.is_transient() || Instant::now() >= deadline => return Err(error.into()),
            Err(error) => warn!("cannot register: {error}"),
        }
        tokio::select! {
            () = sleep(RETRY_DELAY) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

/// A claimed run.
pub(super) struct ClaimedRun {
    pub(super) held: LeasedRun,
    pub(super) grant: Box<Grant>,
    /// The lease starts at this time or later.
    pub(super) leased_since: Instant,
}

/// The result of a claim.
pub(super) enum ClaimResult {
    Claimed(ClaimedRun),
    /// There was none in time.
    NoRun,
    /// The runner gets no more runs.
    Draining,
}

/// Claims the requested run, or the one that has waited longest.
pub(super) async fn claim(
    client: &RunnerClient,
    runner: RunnerId,
    options: &ServeOptions,
    stop: &CancellationToken,
) -> Result<ClaimResult, ServeError> {
    let deadline = Instant::now() + options.claim_timeout;
    loop {
        let requested_at = Instant::now();
        let claim = match options.run {
            Some(run) => client.claim(run, runner, ClaimRetry::Yes).await,
            None => client.claim_next(runner, POLL_TIMEOUT).await,
        };
        match claim {
            Ok(ClaimOutcome::Granted { run: held, grant }) => {
                let leased_since = requested_at + grant.waited;
                return Ok(ClaimResult::Claimed(ClaimedRun { held, grant, leased_since }));
            }
            Ok(ClaimOutcome::Ended) if options.run.is_some() => return Ok(ClaimResult::NoRun),
            Ok(ClaimOutcome::Draining) => return Ok(ClaimResult::Draining),
            Ok(ClaimOutcome::Ended | ClaimOutcome::Held { .. }) => {}
            Err(error) if is_lease_lost(&error) => return Err(error.into()),
            Err(error) => warn!("cannot claim: {error}"),
        }
        if Instant::now() >= deadline || stop.is_cancelled() {
            return Ok(ClaimResult::NoRun);
        }
        tokio::select! {
            () = sleep(if options.run.is_some() { CLAIM_RETRY_DELAY } else { RETRY_DELAY }) => {}
            () = stop.cancelled() => return Ok(ClaimResult::NoRun),
        }
    }
}
