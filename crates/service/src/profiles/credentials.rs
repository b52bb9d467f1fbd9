//! Checks whether a profile has its credential.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::{ProfileOwner, StoredProfile};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_launcher::Launcher;
use guildhall_launcher::secrets::{SecretError, SecretStore};
use guildhall_store::{Store, enrolments};

use super::error::ProfileError;
use crate::ServiceError;

/// Profiles that one owner may have.
pub(crate) const MAX_PROFILES: usize = 200;

/// The sources of profile credentials. Without a secret store, runners bring their own.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub secrets: Option<Arc<dyn SecretStore>>,
    /// The launcher, whose runners may have operator profiles that are not in the secret store.
    pub launcher: Option<Arc<dyn Launcher>>,
}

impl Credentials {
    /// Fails when no runner could serve the profile: it has no stored credential, the launcher does not have it, and
    /// the tenant has no enrolment for a runner that brings its own.
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
        let can_launch = |launcher: &Arc<dyn Launcher>| launcher.check_profile(Some(tenant), profile).is_ok();
        if found.is_some_and(|(_, stored)| stored.is_configured())
            || self.launcher.as_ref().is_some_and(can_launch)
            || enrolments::exists_for_profile(store, tenant, profile.as_str()).await?
        {
            return Ok(());
        }
        Err(ProfileError::NoCredential(profile.clone()).into())
    }

    /// Lists the stored profiles that a tenant can use, with their owners. Without a tenant, the shared ones.
    pub(crate) async fn list(
        &self,
        tenant: Option<TenantId>,
    ) -> Result<BTreeMap<BackendProfile, (ProfileOwner, StoredProfile)>, SecretError> {
        let Some(secrets) = &self.secrets else { return Ok(BTreeMap::new()) };
        let mut found = BTreeMap::new();
        // The tenant's own profiles come last and override the shared ones.
        for owner in [Some(ProfileOwner::Shared), tenant.map(ProfileOwner::Tenant)].into_iter().flatten() {
            let stored = secrets.list(owner, MAX_PROFILES).await?;
            found.extend(stored.into_iter().map(|(profile, stored)| (profile, (owner, stored))));
        }
        Ok(found)
    }

    /// Returns whether a tenant has its own profile under a name. Pool runners do not have it.
    pub(crate) async fn has_own_profile(
        &self,
        tenant: TenantId,
        profile: &str,
    ) -> Result<bool, ServiceError> {
        let profile = profile.parse::<BackendProfile>().ok().filter(BackendProfile::needs_credential);
        let (Some(secrets), Some(profile)) = (&self.secrets, profile) else { return Ok(false) };
        Ok(secrets.find(ProfileOwner::Tenant(tenant), &profile).await?.is_some())
    }
}

/// Finds the profile that a run would use: the tenant's own, or else the shared one.
pub(super) async fn find(
    secrets: &dyn SecretStore,
    tenant: TenantId,
    profile: &BackendProfile,
) -> Result<Option<(ProfileOwner, StoredProfile)>, SecretError> {
    for owner in [ProfileOwner::Tenant(tenant), ProfileOwner::Shared] {
        if let Some(stored) = secrets.find(owner, profile).await? {
            return Ok(Some((owner, stored)));
        }
    }
    Ok(None)
}
