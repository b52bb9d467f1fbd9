//! Lease grants.

use std::time::Duration;

use guildhall_domain::ids::RunnerId;
use guildhall_protocol::rest::access::projects::ProjectSetupView;
use guildhall_protocol::rest::runners::GrantView;
use guildhall_protocol::rest::runs::RunView;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::{Client, ClientError};

/// A granted or renewed lease, without its token.
#[derive(Debug, Clone)]
pub struct Grant {
    pub runner: RunnerId,
    pub epoch: i64,
    pub lease_expires_at: Timestamp,
    /// How long the lease lasts without a renewal. Stop the backend before that.
    pub lease: Duration,
    /// The lease starts this long after the request was sent, or later: the server waited for a run.
    pub waited: Duration,
    /// When the token expires, unless the lease is renewed.
    pub token_expires_at: Timestamp,
    /// The backend's thread to resume; `None` starts a new one.
    pub thread_id: Option<String>,
    /// State of the session's storage: none, directory or evicted.
    pub storage_kind: String,
    /// The lost runner that this one replaces.
    pub recovered_from: Option<RunnerId>,
    /// The directories that the tenant may use, where the workspace is a path on this machine.
    pub directories: Option<Vec<String>>,
    /// How to prepare the workspace, if the run's project says so. `None` in a renewal.
    pub setup: Option<ProjectSetupView>,
    /// What the agent is told before its first turn. `None` in a renewal.
    pub instructions: Option<String>,
    pub run: RunView,
}

/// Splits a grant into its token and the rest.
pub(super) fn parse_grant(client: &Client, view: GrantView) -> Result<(SecretString, Grant), ClientError> {
    let runner_id = |text: &str| text.parse().map_err(|_| client.invalid_response("invalid runner id"));
    let grant = Grant {
        runner: runner_id(&view.runner_id)?,
        epoch: view.epoch,
        lease_expires_at: view.lease_expires_at,
        lease: Duration::from_millis(view.lease_ms),
        waited: Duration::ZERO,
        token_expires_at: view.token_expires_at,
        thread_id: view.thread_id,
        storage_kind: view.storage_kind,
        recovered_from: view.recovered_from.as_deref().map(runner_id).transpose()?,
        directories: view.directories,
        setup: view.setup,
        instructions: view.instructions,
        run: view.run,
    };
    Ok((view.run_token.into(), grant))
}
