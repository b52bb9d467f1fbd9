//! Getting a run: the one that is asked for, or the one that has waited longest.

use std::time::Duration;

use guildhall_domain::ids::RunnerId;
use guildhall_protocol::rest::runners::RegisterRunner;
use guildhall_sdk::runner::{Claim, ClaimAgain, Grant, HeldRun, RunnerClient};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Options, POLL_WAIT, REST, ServeError};
use crate::pump::send::is_over;

/// Registers the runner; a server that is away is waited for as long as a run is.
pub(super) async fn register(
    client: &RunnerClient,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<RunnerId>, ServeError> {
    let about = RegisterRunner {
        name: options.name.clone(),
        placement: json!({ "pid": std::process::id() }),
        backend_profiles: options.profiles.clone(),
    };
    let give_up = Instant::now() + options.claim_within;
    loop {
        match client.register(&about).await {
            Ok(known) => {
                let id = known.runner_id.parse().map_err(|_| ServeError::Answer("a runner's id"))?;
                return Ok(Some(id));
            }
            Err(error) if !error.is_passing() || Instant::now() >= give_up => return Err(error.into()),
            Err(error) => warn!("cannot register: {error}"),
        }
        tokio::select! {
            () = sleep(REST) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

/// A run that was claimed.
pub(super) struct Claimed {
    pub(super) held: HeldRun,
    pub(super) grant: Box<Grant>,
    /// Before the claim was sent: the lease lasts at least from here.
    pub(super) asked: Instant,
}

/// Claims the run that is asked for, or the one that has waited longest.
pub(super) async fn claim(
    client: &RunnerClient,
    runner: RunnerId,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<Claimed>, ServeError> {
    let give_up = Instant::now() + options.claim_within;
    loop {
        let asked = Instant::now();
        let claimed = match options.run {
            Some(run) => client.claim(run, runner, ClaimAgain::Yes).await,
            None => client.claim_next(runner, POLL_WAIT).await,
        };
        match claimed {
            Ok(Claim::Granted { held, grant }) => return Ok(Some(Claimed { held, grant, asked })),
            Ok(Claim::Ended) if options.run.is_some() => return Ok(None),
            Ok(Claim::Ended | Claim::Held { .. }) => {}
            Err(error) if is_over(&error) => return Err(error.into()),
            Err(error) => warn!("cannot claim: {error}"),
        }
        if Instant::now() >= give_up || stop.is_cancelled() {
            return Ok(None);
        }
        tokio::select! {
            () = sleep(if options.run.is_some() { Duration::from_secs(1) } else { REST }) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}
