//! Checks whether a profile has its credential.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::template::ProfileTemplates;
use guildhall_domain::profiles::{ProfileOwner, StoredProfile};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_launcher::Launcher;
use guildhall_launcher::secrets::{GitCredentialStore, SecretError, SecretStore};
use guildhall_store::enrolments::{self, ProfileAvailability};
use guildhall_store::{Store, runners};

use super::error::ProfileError;
use crate::ServiceError;
use crate::run_steps::launcher_files::run_blocking;

/// Profiles that one owner may have.
pub(crate) const MAX_PROFILES: usize = 200;

/// Profiles of runners that a failure lists.
const MAX_LISTED: u32 = 20;

/// The sources of profile credentials. Without a secret store, runners bring their own.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub secrets: Option<Arc<dyn SecretStore>>,
    /// The credentials of git hosts that tenants set.
    pub git: Option<GitCredentialStore>,
    /// The launcher, whose runners may have operator profiles that are not in the secret store.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// The templates that profiles are created from.
    pub templates: Arc<ProfileTemplates>,
}

impl Credentials {
    /// Fails when no runner could serve the profile: it has no stored credential, the launcher does not have it, and
    /// no runner of the tenant brings its own.
    pub(crate) async fn require(
        &self,
        store: &Store,
        tenant: TenantId,
        profile: &BackendProfile,
    ) -> Result<(), ServiceError> {
        if !profile.needs_credential() {
            return Ok(());
        }
        let found = match &self.secrets {
            Some(secrets) => find(secrets.as_ref(), tenant, profile).await?,
            None => None,
        };
        if found.as_ref().is_some_and(|(_, stored)| stored.is_configured())
            || self.can_launch(tenant, profile).await?
        {
            return Ok(());
        }
        match enrolments::profile_availability(store, tenant, profile.as_str()).await? {
            ProfileAvailability::Served => Ok(()),
            // Without a secret store, runners bring all profiles; the first one may come later.
            ProfileAvailability::NoEnrolment if self.secrets.is_none() => Ok(()),
            _ if found.is_some() || self.is_known(profile) => {
                Err(ProfileError::NoCredential(profile.clone()).into())
            }
            ProfileAvailability::NotServed | ProfileAvailability::NoEnrolment => {
                let available = self.available(store, tenant).await?;
                Err(ProfileError::NotServed { profile: profile.clone(), available }.into())
            }
        }
    }

    /// Returns whether the launcher has the profile on its disk.
    async fn can_launch(&self, tenant: TenantId, profile: &BackendProfile) -> Result<bool, ServiceError> {
        let Some(launcher) = &self.launcher else { return Ok(false) };
        let profile = profile.clone();
        run_blocking(launcher, move |launcher| launcher.check_profile(Some(tenant), &profile).is_ok()).await
    }

    /// Returns the names of the profiles that need a credential and no further choice, and of the built-in ones.
    pub(crate) fn known(&self) -> impl Iterator<Item = BackendProfile> {
        BackendProfile::built_in_with_credential().chain(self.templates.names().cloned())
    }

    pub(crate) fn is_known(&self, profile: &BackendProfile) -> bool {
        self.known().any(|known| known == *profile)
    }

    /// Lists the profiles that a run of a tenant can name, in order.
    async fn available(&self, store: &Store, tenant: TenantId) -> Result<BTreeSet<String>, ServiceError> {
        let stored = self.list(Some(tenant)).await?.into_iter();
        let configured = stored.filter(|(_, (_, stored))| stored.is_configured());
        let by_runners = runners::list_profiles(store, tenant, MAX_LISTED).await?;
        let names = configured.map(|(profile, _)| profile.as_str().to_owned()).chain(by_runners);
        Ok(names.chain([BackendProfile::DEMO.to_owned()]).collect())
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
