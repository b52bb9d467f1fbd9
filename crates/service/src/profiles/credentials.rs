//! Whether a run's profile has its credential.

use std::sync::Arc;

use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_launcher::Launcher;
use guildhall_launcher::secrets::{Kept, Owner, SecretError, SecretStore};
use guildhall_store::{Store, enrolments};

use super::ProfileRefusal;
use crate::ServiceError;

/// What a new run's credential is looked for in. Without a store nothing is looked for: runners bring their own.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub secrets: Option<Arc<dyn SecretStore>>,
    /// What starts runners, which may have profiles of the operator's that no store keeps.
    pub launcher: Option<Arc<dyn Launcher>>,
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
        let can_launch = |launcher: &Arc<dyn Launcher>| launcher.check(Some(tenant), profile).is_ok();
        if found.is_some_and(|(_, kept)| kept.is_configured())
            || self.launcher.as_ref().is_some_and(can_launch)
            || enrolments::could_serve(store, tenant, profile.as_str()).await?
        {
            return Ok(());
        }
        Err(ProfileRefusal::NoCredential(profile.clone()).into())
    }

    /// Says whether a tenant has a profile of its own under a name. Runners that serve every tenant do not have it.
    pub(crate) async fn is_own(&self, tenant: TenantId, profile: &str) -> Result<bool, ServiceError> {
        let profile = profile.parse::<BackendProfile>().ok().filter(BackendProfile::needs_credential);
        let (Some(secrets), Some(profile)) = (&self.secrets, profile) else { return Ok(false) };
        Ok(secrets.find(Owner::Tenant(tenant), &profile).await?.is_some())
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
