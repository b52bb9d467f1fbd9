//! The changes of workspaces.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::diff::WorkspaceDiff;
use guildhall_store::workspace_diffs;
use serde_json::json;

use super::Runs;
use super::error::RunError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};

/// Reads and deletes the changes of workspaces.
#[derive(Debug, Clone)]
pub struct Diffs {
    runs: Runs,
}

impl Diffs {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Returns the changes that the runner reported after the last turn. Fails while a later turn runs, and if its changes
    /// could not be collected.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
    ) -> Result<WorkspaceDiff, ServiceError> {
        self.runs.load(caller, run).await?;
        let found = workspace_diffs::find(&self.runs.deps.store, run).await?.ok_or(RunError::NoChanges)?;
        if found.is_stale {
            return Err(RunError::StaleChanges.into());
        }
        let opened = self.runs.deps.payload_sealer.open_diff(run.as_uuid(), &found.sealed_content);
        let content = opened.map_err(RunError::Payload)?;
        Ok(WorkspaceDiff { run, command: found.command, content, created_at: found.created_at })
    }

    /// Deletes the changes that the runner reported. Repeating the request changes nothing; the next turn of the run
    /// reports them again.
    pub async fn delete(&self, caller: &Authorized<RunsWrite>, run: RunId) -> Result<(), ServiceError> {
        self.runs.load(caller, run).await?;
        let mut tx = self.runs.deps.store.begin().await?;
        if workspace_diffs::delete(&mut tx, run).await? {
            let event = AuditEvent::by_member(caller, "run.diff_deleted", run.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        }
        Ok(tx.commit().await?)
    }
}
