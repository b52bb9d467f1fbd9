//! Registers runners.

use guildhall_domain::ids::RunnerId;
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_domain::runners::runner::Runner;
use guildhall_store::Store;
use guildhall_store::runners::{self as rows, NewRunner};
use serde_json::Value;

use crate::ServiceError;

/// Registers and finds runners.
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
        let mut tx = self.store.begin().await?;
        rows::insert(&mut tx, &new).await?;
        tx.commit().await?;
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Finds the runner that a request names. A runner belongs to the enrolment that registered it: whoever could name
    /// another's runner would get the run that this one holds.
    pub(super) async fn find(&self, enrolment: &Enrolment, runner: RunnerId) -> Result<Runner, ServiceError> {
        let found = rows::find(&self.store, runner).await?;
        found.filter(|found| found.enrolment == enrolment.id).ok_or(ServiceError::NOT_FOUND)
    }
}
