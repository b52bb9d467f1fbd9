//! Whether a run's profile has its credential.

use std::sync::Arc;

use guildhall_domain::ids::TenantId;
use guildhall_domain::run_policy::BackendProfile;
use guildhall_launcher::secrets::{Kept, Owner, SecretError, SecretStore};
use guildhall_store::{Store, enrolments};

use super::ProfileRefusal;
use crate::ServiceError;

/// What a new run's credential is looked for in. Without a store nothing is looked for: runners bring their own.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub secrets: Option<Arc<dyn SecretStore>>,
}

impl Credentials {
    /// Refuses a run that nobody could serve: its profile has no credential here, and the tenant has given no runner
    /// leave to come and bring its own. Better now than when somebody has waited for it.
    pub(crate) async fn require(
        &self,
        store: &Store,
        tenant: TenantId,
        profile: &BackendProfile,
    ) -> Result<(), ServiceError> {
        let Some(secrets) = self.secrets.as_ref().filter(|_| profile.needs_credential()) else {
            return Ok(());
        };
        let found = find(secrets.as_ref(), tenant, profile).await?;
        if found.is_some_and(|(_, kept)| kept.is_configured())
            || enrolments::could_serve(store, tenant, profile.as_str()).await?
        {
            return Ok(());
        }
        Err(ProfileRefusal::NoCredential(profile.clone()).into())
    }
}

/// Finds what a run of a profile would use: the tenant's own, or else the operator's.
pub(super) async fn find(
    secrets: &dyn SecretStore,
    tenant: TenantId,
    profile: &BackendProfile,
) -> Result<Option<(Owner, Kept)>, SecretError> {
    for owner in [Owner::Tenant(tenant), Owner::Shared] {
        if let Some(kept) = secrets.find(owner, profile).await? {
            return Ok(Some((owner, kept)));
        }
    }
    Ok(None)
}
