//! The runner's side: it registers and claims with an enrolment token, and does all else with the token of its claim.
//!
//! Both tokens stay in here: neither value can be asked for one, and neither prints one.

mod held;

use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_protocol::problem::Problem;
use guildhall_protocol::rest::runners::{
    ClaimNext, ClaimRun, ClaimedView, GrantView, RegisterRunner, RunnerView,
};
use guildhall_protocol::rest::runs::RunView;
use jiff::Timestamp;
use reqwest::Method;
use secrecy::SecretString;

pub use held::{HeldRun, PollFrom};

use crate::{Client, ClientError};

/// A runner that holds no run: it may register and claim.
#[derive(Debug, Clone)]
pub struct RunnerClient {
    client: Client,
}

/// Whether a runner that does not get a run comes again for it; the run then shows that somebody waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAgain {
    Yes,
    No,
}

/// What became of a claim.
#[derive(Debug)]
pub enum Claim {
    Granted {
        held: HeldRun,
        grant: Box<Grant>,
    },
    /// Another runner has it. Claim again when its lease has ended.
    Held {
        owner: RunnerId,
        lease_expires_at: Timestamp,
    },
    /// The run has ended, or is about to: there is nothing to do any more.
    Ended,
}

/// What a claim, or a renewal, gives beside the token.
#[derive(Debug, Clone)]
pub struct Grant {
    pub runner: RunnerId,
    pub epoch: i64,
    pub lease_expires_at: Timestamp,
    /// How long the lease lasts without a sign of life. Stop the backend before that.
    pub lease: Duration,
    /// When the token ends, unless the lease is renewed.
    pub token_expires_at: Timestamp,
    /// The backend's thread to resume; start one where there is none.
    pub thread_id: Option<String>,
    /// What the server knows of the session's storage: none, directory or evicted.
    pub storage_kind: String,
    /// The runner that was lost before.
    pub recovered_from: Option<RunnerId>,
    pub run: RunView,
}

impl RunnerClient {
    /// Makes a runner of a client; tokens that the client had are not used.
    #[must_use]
    pub fn new(client: Client, enrolment: SecretString) -> Self {
        Self { client: client.with_tokens(Arc::new(enrolment)) }
    }

    pub async fn register(&self, about: &RegisterRunner) -> Result<RunnerView, ClientError> {
        self.client.call(self.client.request(Method::POST, &["runners", "register"]).json(about)).await
    }

    /// Claims a run.
    pub async fn claim(&self, run: RunId, runner: RunnerId, again: ClaimAgain) -> Result<Claim, ClientError> {
        let body = ClaimRun { runner_id: runner.to_string(), wait: again == ClaimAgain::Yes };
        let request = self.client.request(Method::POST, &["runs", &run.to_string(), "claim"]).json(&body);
        match self.client.call::<GrantView>(request).await {
            Ok(view) => {
                let (token, grant) = grant(&self.client, view)?;
                let held = HeldRun::new(self.client.clone(), run, token);
                Ok(Claim::Granted { held, grant: Box::new(grant) })
            }
            Err(error) => refused(error),
        }
    }
}

impl RunnerClient {
    /// Claims the run that has waited longest for one of the runner's profiles, or waits for one. Says that there is
    /// nothing to do ([`Claim::Ended`]) when the time is over.
    pub async fn claim_next(&self, runner: RunnerId, wait: Duration) -> Result<Claim, ClientError> {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let body = ClaimNext { runner_id: runner.to_string(), wait };
        let request = self.client.request(Method::POST, &["runners", "claim"]).json(&body);
        let Some(view) = self.client.call::<ClaimedView>(request).await?.grant else {
            return Ok(Claim::Ended);
        };
        let run = view.run.run_id.parse().map_err(|_| self.client.bad_answer("a run's id is not one"))?;
        let (token, grant) = grant(&self.client, view)?;
        let held = HeldRun::new(self.client.clone(), run, token);
        Ok(Claim::Granted { held, grant: Box::new(grant) })
    }
}

/// Reads a refusal that a runner acts on; any other stays an error.
fn refused(error: ClientError) -> Result<Claim, ClientError> {
    let (kind, ClientError::Failed(problem)) = (error.kind(), &error) else { return Err(error) };
    if kind == Some(FailureKind::Conflict) {
        return Ok(Claim::Ended);
    }
    let held = holder(problem).filter(|_| kind == Some(FailureKind::RunnerLeaseConflict));
    held.ok_or(error)
}

fn holder(problem: &Problem) -> Option<Claim> {
    let owner = problem.details.get("owner")?.parse().ok()?;
    let lease_expires_at = problem.details.get("leaseExpiresAt")?.parse().ok()?;
    Some(Claim::Held { owner, lease_expires_at })
}

/// Takes the token out of a grant.
fn grant(client: &Client, view: GrantView) -> Result<(SecretString, Grant), ClientError> {
    let runner_id = |text: &str| text.parse().map_err(|_| client.bad_answer("a runner's id is not one"));
    let grant = Grant {
        runner: runner_id(&view.runner_id)?,
        epoch: view.epoch,
        lease_expires_at: view.lease_expires_at,
        lease: Duration::from_millis(view.lease_ms),
        token_expires_at: view.token_expires_at,
        thread_id: view.thread_id,
        storage_kind: view.storage_kind,
        recovered_from: view.recovered_from.as_deref().map(runner_id).transpose()?,
        run: view.run,
    };
    Ok((view.run_token.into(), grant))
}
