//! Provider profiles: the backend, its settings and its credential. A secret store holds them; PostgreSQL holds only
//! the outcome of their validations.

mod base_url;
pub mod credentials;
pub mod error;
pub mod git_credentials;
pub mod validations;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::role::rights::{ProfilesManage, TenantRead};
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_domain::profiles::validation::Validation;
use guildhall_domain::profiles::{Profile, WireApi};
use guildhall_domain::profiles::{ProfileOwner, StoredProfile};
use guildhall_domain::redact::redact;
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use guildhall_egress::AddressRules;
use guildhall_launcher::secrets::NewProfile;
use guildhall_store::profile_validations as validation_rows;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::deps::Deps;
use credentials::MAX_PROFILES;
use error::ProfileError;

/// The length limit of a credential.
const MAX_CREDENTIAL_BYTES: usize = 8192;

/// A profile as a member of a tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileView {
    pub profile: BackendProfile,
    /// The owner; none where nothing is stored under this name.
    pub owner: Option<ProfileOwner>,
    pub stored: Option<StoredProfile>,
    /// The template of the same name, which is used if nothing is stored.
    pub template: Option<Profile>,
    /// The latest validation by this tenant.
    pub validated: Option<Validation>,
}

impl ProfileView {
    /// Returns the settings that runs use, or would use with a credential.
    #[must_use]
    pub fn settings(&self) -> Option<&Profile> {
        match &self.stored {
            Some(stored) => stored.settings.as_ref(),
            None => self.template.as_ref(),
        }
    }

    /// Returns whether a run can use it.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.stored.as_ref().is_some_and(StoredProfile::is_configured)
    }
}

/// Who changes a profile: a member for their tenant, or an operator for all tenants.
#[derive(Debug)]
pub enum ProfileManager {
    Tenant(Authorized<ProfilesManage>),
    Shared(InstallationOperator),
}

impl ProfileManager {
    fn owner(&self) -> ProfileOwner {
        match self {
            Self::Tenant(caller) => ProfileOwner::Tenant(caller.tenant()),
            Self::Shared(_) => ProfileOwner::Shared,
        }
    }

    fn principal(&self) -> PrincipalId {
        match self {
            Self::Tenant(caller) => caller.principal,
            Self::Shared(caller) => caller.principal,
        }
    }
}

/// A credential to store, with its settings. Omitted settings stay as they were.
#[derive(Debug, Clone)]
pub struct SetCredential {
    pub credential: SecretString,
    /// The template; by default the one with the name of the profile.
    pub template: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub wire_api: Option<String>,
}

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub git_credentials: git_credentials::GitCredentials,
    pub profiles: Profiles,
    pub validations: validations::Validations,
}

/// Opens the group. A validation fails when it takes longer than `validation_timeout`.
#[must_use]
pub fn open(deps: &Deps, address_rules: AddressRules, validation_timeout: Duration) -> Group {
    let profiles = Profiles { deps: deps.clone(), address_rules: Arc::new(address_rules) };
    Group {
        git_credentials: git_credentials::GitCredentials::new(deps.clone()),
        validations: validations::Validations::new(profiles.clone(), validation_timeout),
        profiles,
    }
}

/// Stores and reads provider profiles.
#[derive(Debug, Clone)]
pub struct Profiles {
    deps: Deps,
    address_rules: Arc<AddressRules>,
}

impl Profiles {
    /// Lists the built-in profiles, the tenant's own and the operator's, by name.
    pub async fn list(&self, caller: &Authorized<TenantRead>) -> Result<Vec<ProfileView>, ServiceError> {
        let tenant = caller.tenant();
        let mut stored = self.deps.credentials.list(Some(tenant)).await?;
        let names: BTreeSet<BackendProfile> =
            self.deps.credentials.known().chain(stored.keys().cloned()).collect();
        let mut validated = self.validated(tenant, &names).await?;
        let views = names.into_iter().map(|profile| {
            let (owner, stored) = stored.remove(&profile).unzip();
            let validated = validated.remove(profile.as_str());
            ProfileView { template: self.template(&profile), profile, owner, stored, validated }
        });
        Ok(views.collect())
    }

    /// Returns one profile. Built-in profiles exist without a credential too.
    pub async fn get(
        &self,
        caller: &Authorized<TenantRead>,
        profile: &BackendProfile,
    ) -> Result<ProfileView, ServiceError> {
        let tenant = caller.tenant();
        let found = self.find(tenant, profile).await?;
        if found.is_none() && !self.deps.credentials.is_known(profile) {
            return Err(ServiceError::NOT_FOUND);
        }
        let (owner, stored) = found.unzip();
        let names = BTreeSet::from([profile.clone()]);
        let validated = self.validated(tenant, &names).await?.remove(profile.as_str());
        let template = self.template(profile);
        Ok(ProfileView { profile: profile.clone(), owner, stored, template, validated })
    }

    /// Stores a credential for a tenant, or for all tenants.
    pub async fn set_credential(
        &self,
        manager: &ProfileManager,
        profile: &BackendProfile,
        request: SetCredential,
    ) -> Result<ProfileView, ServiceError> {
        let owner = manager.owner();
        if !profile.needs_credential() {
            return Err(ProfileError::NeedsNone(profile.clone()).into());
        }
        let secrets = self.deps.credentials.secrets.as_ref().ok_or(ProfileError::NoStore)?;
        check_credential(&request.credential)?;
        let before = secrets.find(owner, profile).await?;
        if before.is_none() && secrets.list(owner, MAX_PROFILES).await?.len() >= MAX_PROFILES {
            return Err(ProfileError::TooMany(MAX_PROFILES).into());
        }
        let settings = self.settings(profile, before.and_then(|stored| stored.settings), &request)?;
        // Audited first: an unaudited change is worse than an entry about one that failed.
        let detail = json!({
            "secretRef": SecretRef::provider_name(profile),
            "agent": settings.agent(),
            "baseUrl": settings.base_url,
            "model": settings.model,
        });
        self.record(manager, "profile.credential_set", profile, detail).await?;
        let stored =
            secrets.put(owner, profile, NewProfile { settings, credential: request.credential }).await?;
        Ok(ProfileView {
            profile: profile.clone(),
            owner: Some(owner),
            stored: Some(stored),
            template: self.template(profile),
            validated: None,
        })
    }

    /// Deletes a profile's credential and settings.
    pub async fn delete(
        &self,
        manager: &ProfileManager,
        profile: &BackendProfile,
    ) -> Result<(), ServiceError> {
        let owner = manager.owner();
        let secrets = self.deps.credentials.secrets.as_ref().ok_or(ProfileError::NoStore)?;
        if secrets.find(owner, profile).await?.is_none() {
            return Err(ServiceError::NOT_FOUND);
        }
        let detail = json!({ "secretRef": SecretRef::provider_name(profile) });
        self.record(manager, "profile.removed", profile, detail).await?;
        secrets.remove(owner, profile).await?;
        Ok(())
    }

    /// Finds the stored profile that a run would use: the tenant's own, or else the shared one.
    async fn find(
        &self,
        tenant: TenantId,
        profile: &BackendProfile,
    ) -> Result<Option<(ProfileOwner, StoredProfile)>, ServiceError> {
        match &self.deps.credentials.secrets {
            Some(secrets) => Ok(credentials::find(secrets.as_ref(), tenant, profile).await?),
            None => Ok(None),
        }
    }

    async fn validated(
        &self,
        tenant: TenantId,
        names: &BTreeSet<BackendProfile>,
    ) -> Result<BTreeMap<String, Validation>, ServiceError> {
        let names: Vec<String> = names.iter().map(|name| name.as_str().to_owned()).collect();
        let found = validation_rows::list_latest(&self.deps.store, tenant, &names).await?;
        Ok(found.into_iter().map(|validation| (validation.profile.clone(), validation)).collect())
    }

    fn template(&self, profile: &BackendProfile) -> Option<Profile> {
        self.deps.credentials.templates.get(profile.as_str()).cloned()
    }

    /// Builds the settings of `profile.toml`. The agent's command is always of a template: it is code on the runner's
    /// machine.
    fn settings(
        &self,
        profile: &BackendProfile,
        before: Option<Profile>,
        request: &SetCredential,
    ) -> Result<Profile, ServiceError> {
        let templates = &self.deps.credentials.templates;
        let settings = templates.resolve(profile, request.template.as_deref(), before);
        let mut settings = settings.map_err(ProfileError::Template)?;
        if let Some(base_url) = &request.base_url {
            settings.base_url = Some(base_url::check(base_url, &self.address_rules)?);
        }
        if let Some(model) = &request.model {
            settings.model = Some(model.clone());
        }
        if let Some(wire_api) = &request.wire_api {
            settings.wire_api = Some(match wire_api.as_str() {
                "responses" => WireApi::Responses,
                "chat" => WireApi::Chat,
                _ => return Err(ServiceError::Invalid("wireApi: use responses or chat".to_owned())),
            });
        }
        settings.validate().map_err(|error| ServiceError::Invalid(error.to_string()))?;
        if !redact(&settings.to_toml()).found.is_empty() {
            return Err(ProfileError::SecretInSettings.into());
        }
        Ok(settings)
    }

    async fn record(
        &self,
        manager: &ProfileManager,
        action: &'static str,
        profile: &BackendProfile,
        detail: serde_json::Value,
    ) -> Result<(), ServiceError> {
        let log = match manager.owner() {
            ProfileOwner::Shared => AuditLog::Installation,
            ProfileOwner::Tenant(tenant) => AuditLog::Tenant(tenant),
        };
        let (actor, object) = (Some(manager.principal()), profile.to_string());
        let mut tx = self.deps.store.begin().await?;
        audit::record(&mut tx, &AuditEvent { log, action, actor, object, detail }).await?;
        Ok(tx.commit().await?)
    }
}

/// Checks the format of a credential, so that a typing error is found before a run fails.
fn check_credential(credential: &SecretString) -> Result<(), ServiceError> {
    let text = credential.expose_secret();
    if (1..=MAX_CREDENTIAL_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(ServiceError::Invalid(format!(
        "credential: use 1 to {MAX_CREDENTIAL_BYTES} visible ASCII characters without spaces"
    )))
}
