//! Attachments of a session, as runners read them.

use guildhall_domain::front::attachment::Attachment;
use guildhall_domain::ids::AttachmentId;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_store::attachments;

use super::lock_granted;
use crate::ServiceError;
use crate::deps::Deps;

/// Finds attachments for the agent of a run.
#[derive(Debug, Clone)]
pub struct RunnerAttachments {
    deps: Deps,
}

impl RunnerAttachments {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Returns an attachment that a turn of the run's session has named. Others do not exist for the runner, whatever the
    /// payloads of its commands say.
    pub async fn find(&self, grant: &RunGrant, id: AttachmentId) -> Result<Attachment, ServiceError> {
        // Only to check the lease.
        lock_granted(&self.deps.store, grant).await?.tx.rollback().await?;
        let found = attachments::find_of_run(&self.deps.store, grant.run, id).await?;
        found.ok_or(ServiceError::NOT_FOUND)
    }
}
