//! Git bundles that callers upload as the workspaces of their runs.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::policy::{UploadedBundle, WorkspaceRef};
use guildhall_store::{Tx, workspace_bundles};

use super::Runs;
use super::error::RunError;
use crate::ServiceError;
use crate::deps::Deps;
use crate::run_steps::insert::RunRecord;

/// Stores the parts of uploaded bundles.
#[derive(Debug, Clone)]
pub struct Bundles {
    runs: Runs,
}

impl Bundles {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Stores a part, encrypted, instead of an earlier one. Returns how many parts are missing.
    pub async fn put_part(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
        number: u32,
        content: &[u8],
    ) -> Result<u64, ServiceError> {
        let deps = &self.runs.deps;
        let loaded = self.runs.load(caller, run).await?;
        let bundle = bundle_of(&loaded).ok_or(RunError::NoBundle)?;
        let expected = bundle.part_bytes(u64::from(number)).ok_or(RunError::NoBundlePart(bundle.parts()))?;
        if content.len() as u64 != expected {
            return Err(ServiceError::Invalid(format!("content: part {number} must have {expected} bytes")));
        }
        let sealed = deps.payload_sealer.seal_bundle_part(run.as_uuid(), number, content);
        let sealed = sealed.map_err(RunError::Payload)?;
        let number = i32::try_from(number).map_err(|_| RunError::NoBundlePart(bundle.parts()))?;
        if !workspace_bundles::put_part(&deps.store, run, number, &sealed).await? {
            return Err(RunError::BundleErased.into());
        }
        missing_parts(deps, run, &bundle).await
    }
}

/// Returns the bundle that is the workspace of a run.
pub(crate) fn bundle_of(run: &Run) -> Option<UploadedBundle> {
    match serde_json::from_str(&run.workspace_ref) {
        Ok(WorkspaceRef::Bundle(bundle)) => Some(bundle),
        Ok(
            WorkspaceRef::Empty
            | WorkspaceRef::Directory { .. }
            | WorkspaceRef::Copy { .. }
            | WorkspaceRef::Git { .. }
            | WorkspaceRef::GitBundle { .. },
        )
        | Err(_) => None,
    }
}

/// Admits the bundle of a new run, if its workspace is one.
pub(super) async fn insert(deps: &Deps, tx: &mut Tx, record: &RunRecord<'_>) -> Result<(), ServiceError> {
    let WorkspaceRef::Bundle(bundle) = &record.spec.workspace else { return Ok(()) };
    let stored = workspace_bundles::lock_sum(tx, record.tenant).await?;
    deps.bundle_limits.admit(bundle, stored)?;
    let size_bytes = i64::try_from(bundle.size_bytes()).unwrap_or(i64::MAX);
    Ok(workspace_bundles::insert(tx, record.id, record.tenant, size_bytes).await?)
}

/// Refuses commands for a run whose bundle was not uploaded completely.
pub(super) async fn check_complete(deps: &Deps, run: &Run) -> Result<(), ServiceError> {
    let Some(bundle) = bundle_of(run).filter(|_| !run.state.is_ended()) else { return Ok(()) };
    match missing_parts(deps, run.id, &bundle).await? {
        0 => Ok(()),
        missing => Err(RunError::BundleIncomplete(missing).into()),
    }
}

async fn missing_parts(deps: &Deps, run: RunId, bundle: &UploadedBundle) -> Result<u64, ServiceError> {
    Ok(bundle.parts().saturating_sub(workspace_bundles::count_parts(&deps.store, run).await?))
}
