//! Registers runners.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunnersManage;
use guildhall_domain::ids::RunnerId;
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_domain::runners::runner::{Runner, RunnerSummary};
use guildhall_store::Store;
use guildhall_store::runners::{self as rows, NewRunner};
use serde_json::{Value, json};

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};

/// A runner that asked for a run within this time counts as active. Runners ask every few seconds.
const ACTIVE_WITHIN: Duration = Duration::from_secs(60);

/// Which runners a list contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerFilter {
    /// Those that hold a run, or asked for one lately.
    Active,
    All,
}

/// Registers, finds and drains runners.
#[derive(Debug, Clone)]
pub struct Registrations {
    store: Store,
}

impl Registrations {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Registers a runner of the enrolment's tenant, or of the shared pool.
    pub async fn register(
        &self,
        enrolment: &Enrolment,
        name: &str,
        placement: &Value,
        profiles: &[String],
    ) -> Result<Runner, ServiceError> {
        let id = RunnerId::generate();
        let new = NewRunner {
            id,
            tenant: enrolment.tenant,
            enrolment: enrolment.id,
            name,
            placement: &placement.to_string(),
            backend_profiles: profiles,
        };
        Ok(rows::insert(&self.store, &new).await?)
    }

    /// Lists the runners of a tenant, newest first: all of them, or those that hold a run or were seen lately.
    pub async fn list(
        &self,
        caller: &Authorized<RunnersManage>,
        filter: RunnerFilter,
        limit: u32,
    ) -> Result<Vec<RunnerSummary>, ServiceError> {
        let seen_within = match filter {
            RunnerFilter::All => None,
            RunnerFilter::Active => Some(ACTIVE_WITHIN),
        };
        Ok(rows::list(&self.store, caller.tenant(), seen_within, limit).await?)
    }

    /// Returns a runner of a tenant.
    pub async fn get(
        &self,
        caller: &Authorized<RunnersManage>,
        id: RunnerId,
    ) -> Result<RunnerSummary, ServiceError> {
        rows::find_summary(&self.store, caller.tenant(), id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Lets a runner finish its run and gives it no other. Repeating the request changes nothing.
    pub async fn drain(
        &self,
        caller: &Authorized<RunnersManage>,
        id: RunnerId,
    ) -> Result<RunnerSummary, ServiceError> {
        let mut tx = self.store.begin().await?;
        if rows::drain(&mut tx, caller.tenant(), id).await? {
            let event = AuditEvent::by_member(caller, "runner.drained", id.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        self.get(caller, id).await
    }

    /// Finds the runner that a request names. A runner belongs to the enrolment that registered it: whoever could name
    /// another's runner would get the run that this one holds.
    pub(super) async fn find(&self, enrolment: &Enrolment, runner: RunnerId) -> Result<Runner, ServiceError> {
        let found = rows::find(&self.store, runner).await?;
        found.filter(|found| found.enrolment == enrolment.id).ok_or(ServiceError::NOT_FOUND)
    }
}
