//! Changes of workspaces as runners report them.

use guildhall_domain::ids::CommandId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::diff::MAX_DIFF_BYTES;
use guildhall_store::workspace_diffs;

use super::lock_granted;
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::error::RunError;

/// Stores the changes of workspaces.
#[derive(Debug, Clone)]
pub struct RunnerDiffs {
    deps: Deps,
}

impl RunnerDiffs {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Stores the changes of the workspace after a command, encrypted, instead of earlier ones.
    pub async fn put(
        &self,
        grant: &RunGrant,
        command: CommandId,
        content: &[u8],
    ) -> Result<(), ServiceError> {
        if content.len() > MAX_DIFF_BYTES {
            return Err(ServiceError::Invalid(format!("diff: must not exceed {MAX_DIFF_BYTES} bytes")));
        }
        let sealed = self.deps.payload_sealer.seal_diff(grant.run.as_uuid(), content);
        let sealed = sealed.map_err(RunError::Payload)?;
        let mut locked = lock_granted(&self.deps.store, grant).await?;
        locked.find_command(command).await?;
        workspace_diffs::put(&mut locked.tx, grant.run, command, &sealed).await?;
        Ok(locked.tx.commit().await?)
    }
}
