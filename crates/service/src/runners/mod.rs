//! Runners: untrusted clients that claim a run and serve it under one epoch of its lease.
//!
//! Every write is fenced under the lock of the run's journal head: a runner that lost the run is refused.

pub mod attachments;
pub mod bundles;
pub mod claims;
pub mod commands;
pub mod diffs;
pub mod enrolments;
pub mod error;
pub mod events;
pub mod jobs;
pub mod leases;
pub mod registrations;
mod run_token;
mod run_token_cache;
mod runner_cache;
pub mod status;
pub mod tokens;

use std::sync::Arc;

use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_store::Store;

use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::runs;
use crate::runs::error::RunError;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub attachments: attachments::RunnerAttachments,
    pub bundles: bundles::RunnerBundles,
    pub claims: claims::Claims,
    pub commands: commands::RunnerCommands,
    pub diffs: diffs::RunnerDiffs,
    pub enrolments: enrolments::Enrolments,
    pub events: events::RunnerEvents,
    pub jobs: jobs::RunnerJobs,
    pub leases: leases::Leases,
    pub registrations: registrations::Registrations,
    pub status: status::RunnerStatus,
    pub tokens: tokens::RunnerTokens,
}

/// Opens the group. Without a job starter this server starts no runners.
#[must_use]
pub fn open(deps: &Deps, runs: &runs::Group, starter: Option<jobs::JobStarter>) -> Group {
    let tokens = tokens::RunnerTokens::new(deps.store.clone(), deps.clock.clone(), Arc::clone(&deps.signing));
    let registrations = registrations::Registrations::new(deps.store.clone());
    let grants = leases::LeaseGrantBuilder::new(deps.clone(), tokens.clone(), runs.runs.clone());
    Group {
        attachments: attachments::RunnerAttachments::new(deps.clone()),
        bundles: bundles::RunnerBundles::new(deps.clone()),
        claims: claims::Claims::new(deps.clone(), registrations.clone(), grants.clone()),
        commands: commands::RunnerCommands::new(deps.clone()),
        diffs: diffs::RunnerDiffs::new(deps.clone()),
        enrolments: enrolments::Enrolments::new(deps.store.clone()),
        events: events::RunnerEvents::new(deps.journals.clone(), deps.event_quota, deps.rates.clone()),
        jobs: jobs::RunnerJobs::new(runs.runs.clone(), starter),
        leases: leases::Leases::new(deps.clone(), grants),
        registrations,
        status: status::RunnerStatus::new(deps.clone(), runs.runs.clone()),
        tokens,
    }
}

/// Locks the run of a grant, or fails when the lease is lost.
async fn lock_granted(store: &Store, grant: &RunGrant) -> Result<LockedRun, ServiceError> {
    Ok(LockedRun::fenced(store, grant).await?.ok_or(RunError::LeaseLost)?)
}
