//! Getting a run: the one that is asked for, or the one that has waited longest.

use std::time::Duration;

use guildhall_domain::ids::RunnerId;
use guildhall_sdk::runner::{Claim, ClaimAgain, Grant, HeldRun, RunnerClient};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Options, POLL_WAIT, REST, ServeError};
use crate::pump::send::is_over;

/// Claims the run that is asked for, or the one that has waited longest.
pub(super) async fn claim(
    client: &RunnerClient,
    runner: RunnerId,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<(HeldRun, Box<Grant>)>, ServeError> {
    let give_up = Instant::now() + options.claim_within;
    loop {
        let claimed = match options.run {
            Some(run) => client.claim(run, runner, ClaimAgain::Yes).await,
            None => client.claim_next(runner, POLL_WAIT).await,
        };
        match claimed {
            Ok(Claim::Granted { held, grant }) => return Ok(Some((held, grant))),
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
