//! The runner's client: it registers and claims with an enrolment token, and uses the token of the claim for the run.
//!
//! Both tokens are private to this module: no type returns or prints one.

mod grant;
mod leased_run;

use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_protocol::problem::Problem;
use guildhall_protocol::rest::runners::{
    ClaimNext, ClaimRun, ClaimedView, GrantView, RegisterRunner, RunnerView,
};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::SecretString;

pub use grant::Grant;
pub use leased_run::{LeasedRun, PollCursor, RunAttachment};

use crate::{Client, ClientError};
use grant::parse_grant;

/// A runner without a run: it may register and claim.
#[derive(Debug, Clone)]
pub struct RunnerClient {
    client: Client,
}

/// Whether a runner retries if it does not get the run; the run then shows that a runner is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRetry {
    Yes,
    No,
}

/// The result of a claim.
#[derive(Debug)]
pub enum ClaimOutcome {
    Granted {
        run: LeasedRun,
        grant: Box<Grant>,
    },
    /// Another runner holds the run. Retry when its lease has expired.
    Held {
        owner: RunnerId,
        lease_expires_at: Timestamp,
    },
    /// The run has ended or is ending.
    Ended,
    /// The runner is draining: it gets no more runs.
    Draining,
}

impl RunnerClient {
    /// Creates a runner client. It does not use the token source of `client`.
    #[must_use]
    pub fn new(client: Client, enrolment: SecretString) -> Self {
        Self { client: client.with_tokens(Arc::new(enrolment)) }
    }

    pub async fn register(&self, request: &RegisterRunner) -> Result<RunnerView, ClientError> {
        self.client.call(self.client.request(Method::POST, &["runners", "register"]).json(request)).await
    }

    /// Claims a run.
    pub async fn claim(
        &self,
        run: RunId,
        runner: RunnerId,
        retry: ClaimRetry,
    ) -> Result<ClaimOutcome, ClientError> {
        let body = ClaimRun { runner_id: runner.to_string(), wait: retry == ClaimRetry::Yes };
        let request = self.client.request(Method::POST, &["runs", &run.to_string(), "claim"]).json(&body);
        match self.client.call::<GrantView>(request).await {
            Ok(view) => {
                let (token, grant) = parse_grant(&self.client, view)?;
                let run = LeasedRun::new(self.client.clone(), run, token);
                Ok(ClaimOutcome::Granted { run, grant: Box::new(grant) })
            }
            Err(error) => claim_rejection(error),
        }
    }

    /// Claims the run that has waited longest for one of the runner's profiles. Returns [`ClaimOutcome::Ended`] if
    /// there was none within `wait`.
    pub async fn claim_next(&self, runner: RunnerId, wait: Duration) -> Result<ClaimOutcome, ClientError> {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let body = ClaimNext { runner_id: runner.to_string(), wait };
        let request = self.client.request(Method::POST, &["runners", "claim"]).json(&body);
        let (view, waited_ms) = match self.client.call::<ClaimedView>(request).await {
            Ok(ClaimedView { grant: Some(view), waited_ms }) => (view, waited_ms),
            Ok(ClaimedView { grant: None, .. }) => return Ok(ClaimOutcome::Ended),
            Err(error) if error.kind() == Some(FailureKind::Conflict) => return Ok(ClaimOutcome::Draining),
            Err(error) => return Err(error),
        };
        let run = view.run.run_id.parse().map_err(|_| self.client.invalid_response("invalid run id"))?;
        let (token, mut grant) = parse_grant(&self.client, view)?;
        grant.waited = Duration::from_millis(waited_ms);
        let run = LeasedRun::new(self.client.clone(), run, token);
        Ok(ClaimOutcome::Granted { run, grant: Box::new(grant) })
    }
}

/// Turns the errors that a runner handles into an outcome; others stay errors.
fn claim_rejection(error: ClientError) -> Result<ClaimOutcome, ClientError> {
    let (kind, ClientError::Failed(problem)) = (error.kind(), &error) else { return Err(error) };
    if kind == Some(FailureKind::Conflict) {
        return Ok(ClaimOutcome::Ended);
    }
    let held = holder(problem).filter(|_| kind == Some(FailureKind::RunnerLeaseConflict));
    held.ok_or(error)
}

fn holder(problem: &Problem) -> Option<ClaimOutcome> {
    let owner = problem.details.get("owner")?.parse().ok()?;
    let lease_expires_at = problem.details.get("leaseExpiresAt")?.parse().ok()?;
    Some(ClaimOutcome::Held { owner, lease_expires_at })
}
