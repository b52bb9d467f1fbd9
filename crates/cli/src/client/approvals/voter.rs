//! Whether the signed-in user may answer a question.

use guildhall_domain::access::role::{Permission, Role};
use guildhall_protocol::rest::access::auth::WhoamiView;
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_sdk::{Client, ClientError};

/// The signed-in user. The server decides in the end: this only avoids questions to people who cannot answer.
pub(crate) struct Voter(WhoamiView);

impl Voter {
    pub(crate) async fn load(client: &Client) -> Result<Self, ClientError> {
        Ok(Self(client.whoami().await?))
    }

    pub(crate) fn principal(&self) -> &str {
        &self.0.principal
    }

    /// Returns whether the user may answer: as a member who decides, or as the creator of the run.
    pub(crate) async fn may_answer(
        &self,
        client: &Client,
        approval: &ApprovalView,
    ) -> Result<bool, ClientError> {
        match self.role_in(&approval.tenant_id) {
            Some(role) if role.allows(Permission::ApprovalsDecide) => Ok(true),
            Some(role) if role.allows(Permission::RunsWrite) => {
                let Ok(run) = approval.run_id.parse() else { return Ok(false) };
                Ok(client.get_run(run).await?.created_by == self.0.principal)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn role_in(&self, tenant: &str) -> Option<Role> {
        let membership = self.0.tenants.iter().find(|membership| membership.tenant.id == tenant)?;
        Role::from_name(&membership.role).ok()
    }
}
