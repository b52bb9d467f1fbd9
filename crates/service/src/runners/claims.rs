//! Claims: a runner takes a waiting run.

use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use guildhall_domain::ids::{AttemptId, RunId, RunnerId};
use guildhall_domain::runners::enrolment::{ClaimTarget, Enrolment};
use guildhall_domain::runners::runner::Runner;
use guildhall_domain::runs::event;
use guildhall_domain::runs::lease::{self, ClaimDecision, ClaimError};
use guildhall_store::journal::Scope;
use guildhall_store::leases::NewLease;
use guildhall_store::runs::WaitingRun;
use guildhall_store::{enrolments, leases, runs};
use metrics::counter;
use secrecy::SecretString;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::error::RunnerError;
use super::leases::{GrantedRun, LeaseGrant, LeaseGrantBuilder};
use super::registrations::Registrations;
use super::runner_cache::RunnerCache;
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
use crate::run_steps::runner_queues::RunnerGroup;
use crate::sessions::storage;

/// Runs that one attempt tries to claim: other runners try for the same.
const MAX_CANDIDATES: u32 = 8;

/// Whether a refused runner will claim again when the lease of the other has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRetry {
    WhenLeaseEnds,
    No,
}

/// Claims runs.
#[derive(Debug, Clone)]
pub struct Claims {
    deps: Deps,
    registrations: Registrations,
    runner_cache: RunnerCache,
    grants: LeaseGrantBuilder,
}

impl Claims {
    pub(super) fn new(deps: Deps, registrations: Registrations, grants: LeaseGrantBuilder) -> Self {
        let runner_cache = RunnerCache::new(deps.store.clone());
        Self { deps, registrations, runner_cache, grants }
    }

    /// Claims a run. One runner gets it; the others learn who holds it, and until when.
    pub async fn claim(
        &self,
        enrolment: &Enrolment,
        id: RunId,
        runner: RunnerId,
        retry: ClaimRetry,
    ) -> Result<LeaseGrant, ServiceError> {
        if self.registrations.find(enrolment, runner).await?.is_draining {
            return Err(RunnerError::Draining.into());
        }
        // Before the run is locked: it reads files.
        if enrolment.is_installation_pool()
            && let Some(run) = runs::find(&self.deps.store, id).await?
            && self.deps.credentials.has_own_profile(run.tenant, &run.backend_profile).await?
        {
            return Err(ServiceError::NOT_FOUND);
        }
        let locked = LockedRun::begin(&self.deps.store, id).await?;
        self.claim_locked(locked, enrolment, runner, retry).await
    }

    /// Claims a locked run. A runner of the pool has only the shared profile, which the caller has checked: neither the tenant nor
    /// the profile of a run changes.
    async fn claim_locked(
        &self,
        mut locked: LockedRun,
        enrolment: &Enrolment,
        runner: RunnerId,
        retry: ClaimRetry,
    ) -> Result<LeaseGrant, ServiceError> {
        let id = locked.run.id;
        let (tenant, profile) = (locked.run.tenant, &locked.run.backend_profile);
        if !enrolment.allows_claim(ClaimTarget { run: id, tenant, profile }) {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        if storage::is_evicted(&locked) {
            return Err(storage::end_evicted(locked, &self.deps).await?);
        }
        let (run, grace) = (&locked.run, self.deps.run_timeouts.grace());
        let decided =
            lease::claim(&run.state, locked.head.epoch, run.previous_holder(), runner, run.now, grace);
        let claim = match decided {
            Ok(claim) => claim,
            Err(error) => return self.refuse(locked, runner, error, retry).await,
        };
        if enrolment.is_installation_pool() && !enrolments::bind(&mut locked.tx, enrolment.id, id).await? {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        let recovered_from = self.take_over(&mut locked, &claim).await?;
        let lease = self.new_lease(enrolment, id, runner, &claim);
        let Some(lease) = leases::upsert(&mut locked.tx, &lease).await? else {
            locked.tx.rollback().await?;
            return Err(self.refused_runner(enrolment, runner).await?);
        };
        locked.head.epoch = claim.epoch();
        if !matches!(claim, ClaimDecision::Renewed(_)) {
            let phase = if recovered_from.is_some() { event::LEASE_RECOVERED } else { event::RUN_CLAIMED };
            let payload = json!({
                "phase": phase,
                "runnerId": runner.to_string(),
                "attemptId": lease.attempt.to_string(),
                "epoch": claim.epoch().get(),
                "leaseExpiresAt": lease.expires_at.to_string(),
                "recoveredFrom": recovered_from.map(|from| from.to_string()),
            });
            locked.append_event(event::BACKEND_STATUS, None, payload);
        }
        let grant = enrolment.grant(tenant, id, claim.epoch(), runner);
        let mut granted = GrantedRun {
            run: locked.run.clone(),
            open: locked.open.clone(),
            folds: locked.folds().clone(),
            storage: locked.storage,
            thread_id: locked.thread_id.clone(),
            lease_expires_at: lease.expires_at,
            recovered_from,
            setup: lease.setup,
            instructions: lease.instructions,
        };
        let (_, fold) = locked.commit_with_fold(&self.deps).await?;
        if let Some(fold) = fold {
            granted.folds.set(Scope::Run, fold);
        }
        counter!("guildhall_run_claims_total").increment(1);
        self.grants.build_for_claim(grant, granted).await
    }

    /// Returns why a runner that waited for a run does not get one any more.
    async fn refused_runner(
        &self,
        enrolment: &Enrolment,
        runner: RunnerId,
    ) -> Result<ServiceError, ServiceError> {
        let runner = self.registrations.find(enrolment, runner).await?;
        Ok(if runner.is_draining { RunnerError::Draining.into() } else { ServiceError::Unauthenticated })
    }

    fn new_lease(
        &self,
        enrolment: &Enrolment,
        run: RunId,
        runner: RunnerId,
        claim: &ClaimDecision,
    ) -> NewLease {
        let (hold, attempt) = (self.deps.run_timeouts.hold, AttemptId::generate());
        let is_new_epoch = match claim {
            ClaimDecision::Renewed(_) => false,
            ClaimDecision::Granted(_) | ClaimDecision::Recovered { .. } => true,
        };
        NewLease { run, runner, epoch: claim.epoch(), hold, enrolment: enrolment.id, attempt, is_new_epoch }
    }

    /// Claims the run that has waited longest for one of this runner's profiles, or waits for one. The runner is
    /// authenticated by the token of its enrolment. Returns none when the time is over, else the grant and how long the
    /// runner had waited before the claim.
    pub async fn claim_next(
        &self,
        bearer: &SecretString,
        runner: RunnerId,
        wait: Duration,
    ) -> Result<Option<(LeaseGrant, Duration)>, ServiceError> {
        let began = Instant::now();
        let deadline = began + wait;
        let (enrolment, runner) = self.runner_cache.authenticate(bearer, runner).await?;
        if runner.is_draining {
            return Err(RunnerError::Draining.into());
        }
        let (group, waiting) = (group_of(&enrolment, &runner), &self.deps.offers.queues);
        // Without a wait the runner looks once. Else it looks if there may be a run, and then whenever it is woken.
        let mut place = if wait.is_zero() { None } else { waiting.enter(&group) };
        loop {
            if let Some(place) = &mut place
                && timeout_at(deadline, place.woken()).await.is_err()
            {
                return Ok(None);
            }
            let looked_at = Instant::now();
            let claimed = self.try_next(&enrolment, &runner, &group).await?;
            if let Some(place) = place.take() {
                place.has_looked();
            }
            if claimed.is_some() || Instant::now() >= deadline {
                return Ok(claimed.map(|grant| (grant, looked_at - began)));
            }
            waiting.found_nothing(&group, looked_at);
            place = waiting.enter(&group);
        }
    }

    async fn try_next(
        &self,
        enrolment: &Enrolment,
        runner: &Runner,
        group: &RunnerGroup,
    ) -> Result<Option<LeaseGrant>, ServiceError> {
        counter!("guildhall_run_claim_looks_total").increment(1);
        let only = enrolment.profile.as_ref().map(Slug::as_str);
        let (store, profiles) = (&self.deps.store, &runner.backend_profiles);
        let candidates = match enrolment.tenant {
            Some(tenant) => runs::list_waiting(store, tenant, only, profiles, MAX_CANDIDATES).await?,
            // An enrolment that had its run gets no other.
            None if enrolment.run.is_some() => Vec::new(),
            None => {
                let waiting = runs::list_waiting_in_all_tenants(store, only, profiles, MAX_CANDIDATES);
                self.with_shared_profile(waiting.await?).await?
            }
        };
        let mut candidates = candidates.into_iter();
        while let Some(id) = candidates.next() {
            // A run that is locked is being claimed, or changed: the next one is free.
            let Some(locked) = LockedRun::try_begin(store, id).await? else { continue };
            match self.claim_locked(locked, enrolment, runner.id, ClaimRetry::No).await {
                Ok(grant) => {
                    if candidates.next().is_some() {
                        self.deps.offers.queues.offer_to(group);
                    }
                    return Ok(Some(grant));
                }
                // Another runner was faster, or the run has ended: try the next.
                Err(ServiceError::Runner(RunnerError::Claim(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns those runs whose profile does not belong to their tenant. Pool runners have only the shared profiles.
    async fn with_shared_profile(&self, waiting: Vec<WaitingRun>) -> Result<Vec<RunId>, ServiceError> {
        let mut shared = Vec::new();
        for WaitingRun { id, tenant, backend_profile } in waiting {
            match self.deps.credentials.has_own_profile(tenant, &backend_profile).await {
                Ok(false) => shared.push(id),
                Ok(true) => {}
                // The runs of other tenants do not wait for it.
                Err(error) => warn!(
                    tenant.id = %tenant,
                    error = &error as &dyn std::error::Error,
                    "cannot read the profile {backend_profile} of {tenant}: its runs wait"
                ),
            }
        }
        Ok(shared)
    }

    /// Takes the run from its previous holder. The new lease moves the epoch.
    async fn take_over(
        &self,
        locked: &mut LockedRun,
        claim: &ClaimDecision,
    ) -> Result<Option<RunnerId>, ServiceError> {
        match claim {
            // The response to the claim may have been lost: repeat it.
            ClaimDecision::Renewed(_) => Ok(locked.run.lost_runner),
            ClaimDecision::Granted(_) => Ok(None),
            ClaimDecision::Recovered { from, .. } => {
                locked.end_running_commands().await?;
                runs::set_lost_runner(&mut locked.tx, locked.run.id, *from).await?;
                Ok(Some(*from))
            }
        }
    }

    /// Refuses a claim. A runner that will retry is recorded once in the run.
    async fn refuse(
        &self,
        mut locked: LockedRun,
        runner: RunnerId,
        error: ClaimError,
        retry: ClaimRetry,
    ) -> Result<LeaseGrant, ServiceError> {
        let ClaimError::Held { owner, .. } = &error else {
            locked.tx.rollback().await?;
            return Err(error.into());
        };
        match retry {
            ClaimRetry::No => locked.tx.rollback().await?,
            ClaimRetry::WhenLeaseEnds => {
                let (run, epoch) = (locked.run.id, locked.head.epoch.get());
                let entry = event::server_entry_id(run, event::LEASE_WAITING, runner.as_uuid(), epoch);
                let payload = json!({
                    "phase": event::LEASE_WAITING,
                    "runnerId": runner.to_string(),
                    "owner": owner.to_string(),
                });
                locked.append_event_once(entry, event::BACKEND_STATUS, None, payload);
                locked.commit(&self.deps).await?;
            }
        }
        Err(error.into())
    }
}

/// Returns the runners that can claim the same runs as this one.
fn group_of(enrolment: &Enrolment, runner: &Runner) -> RunnerGroup {
    let only = enrolment.profile.as_ref().map(Slug::as_str);
    let profiles = runner.backend_profiles.iter().filter(|profile| only.is_none_or(|only| only == *profile));
    RunnerGroup { tenant: enrolment.tenant, profiles: profiles.cloned().collect() }
}
