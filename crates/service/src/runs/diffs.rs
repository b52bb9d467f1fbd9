//! Reads the changes of workspaces.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::diff::WorkspaceDiff;
use guildhall_store::workspace_diffs;

use super::Runs;
use super::error::RunError;
use crate::ServiceError;

/// Reads the changes of workspaces.
#[derive(Debug, Clone)]
pub struct Diffs {
    runs: Runs,
}

impl Diffs {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Returns the changes that the runner reported last.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
    ) -> Result<WorkspaceDiff, ServiceError> {
        self.runs.load(caller, run).await?;
        let found =
            workspace_diffs::find(&self.runs.deps.store, run).await?.ok_or(ServiceError::NOT_FOUND)?;
        let opened = self.runs.deps.payload_sealer.open_diff(run.as_uuid(), &found.sealed_content);
        let content = opened.map_err(RunError::Payload)?;
        Ok(WorkspaceDiff { run, command: found.command, content, created_at: found.created_at })
    }
}
