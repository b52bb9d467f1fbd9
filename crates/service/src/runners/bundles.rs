//! Uploaded bundles, as runners read them.

use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_store::workspace_bundles;

use super::lock_granted;
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::error::RunError;

/// Reads the parts of uploaded bundles.
#[derive(Debug, Clone)]
pub struct RunnerBundles {
    deps: Deps,
}

impl RunnerBundles {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Returns a part of the bundle of a run that the runner holds.
    pub async fn get_part(&self, grant: &RunGrant, number: u32) -> Result<Vec<u8>, ServiceError> {
        // Only to check the lease.
        lock_granted(&self.deps.store, grant).await?.tx.rollback().await?;
        let index = i32::try_from(number).map_err(|_| ServiceError::NOT_FOUND)?;
        let found = workspace_bundles::find_part(&self.deps.store, grant.run, index).await?;
        let sealed = found.ok_or(ServiceError::NOT_FOUND)?;
        let opened = self.deps.payload_sealer.open_bundle_part(grant.run.as_uuid(), number, &sealed);
        Ok(opened.map_err(RunError::Payload)?)
    }
}
