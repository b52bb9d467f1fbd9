//! Provider profiles: which agent runs, with whose credentials. They are kept by a [`SecretStore`]; PostgreSQL knows only
//! what came of trying them.

mod base_url;
mod credentials;
mod refusal;
mod validate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::{BackendKind, Profile, WireApi};
use guildhall_domain::redact::redact;
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use guildhall_egress::AddressRules;
use guildhall_launcher::secrets::NewProfile;
pub use guildhall_launcher::secrets::{FileStore, Kept, Owner, SecretError, SecretStore};
use guildhall_store::Store;
use guildhall_store::profile_validations as validations;
pub use guildhall_store::profile_validations::Validation;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::runs::Runs;
pub use credentials::Credentials;
pub use refusal::ProfileRefusal;
pub use validate::SettleValidations;

/// Profiles that one owner may keep, and that one list shows of each.
const PROFILES_AT_MOST: usize = 200;

/// The longest credential.
const CREDENTIAL_BYTES: usize = 8192;

/// A profile as a member of a tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileView {
    pub profile: BackendProfile,
    /// Whose it is; none where nothing is kept under this name.
    pub owner: Option<Owner>,
    pub kept: Option<Kept>,
    /// The last time that somebody of this tenant tried it.
    pub validated: Option<Validation>,
}

impl ProfileView {
    /// Says whether a run of it has all that it needs.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.kept.as_ref().is_some_and(Kept::is_configured)
    }
}

/// A credential to keep, with what belongs to it. What is left out stays as it was.
#[derive(Debug, Clone)]
pub struct CredentialAsk {
    pub credential: SecretString,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub wire_api: Option<String>,
}

/// Keeps, shows and tries provider profiles.
#[derive(Debug, Clone)]
pub struct Profiles {
    pub(crate) store: Store,
    pub(crate) runs: Runs,
    secrets: Option<Arc<dyn SecretStore>>,
    rules: Arc<AddressRules>,
    /// How long a validation may take.
    pub(crate) within: Duration,
}

impl Profiles {
    /// Prepares the profiles; without a store this server keeps none, and runners bring their own.
    #[must_use]
    pub fn new(
        store: Store,
        runs: Runs,
        secrets: Option<Arc<dyn SecretStore>>,
        rules: AddressRules,
        within: Duration,
    ) -> Self {
        Self { store, runs, secrets, rules: Arc::new(rules), within }
    }

    /// Lists the built-in profiles, the tenant's own and the operator's, by name.
    pub async fn list(&self, caller: &Caller, tenant: TenantId) -> Result<Vec<ProfileView>, ServiceError> {
        caller.acting(tenant)?.require(Right::TenantRead)?;
        let (own, shared) = match &self.secrets {
            Some(secrets) => (
                secrets.list(Owner::Tenant(tenant), PROFILES_AT_MOST).await?,
                secrets.list(Owner::Shared, PROFILES_AT_MOST).await?,
            ),
            None => (Vec::new(), Vec::new()),
        };
        // The tenant's own come last, and so in place of the operator's.
        let of = |owner, kept: Vec<(BackendProfile, Kept)>| {
            kept.into_iter().map(move |(profile, kept)| (profile, (owner, kept)))
        };
        let mut kept: BTreeMap<BackendProfile, (Owner, Kept)> =
            of(Owner::Shared, shared).chain(of(Owner::Tenant(tenant), own)).collect();
        let names: BTreeSet<BackendProfile> = built_in().chain(kept.keys().cloned()).collect();
        let mut validated = self.validated(tenant, &names).await?;
        let views = names.into_iter().map(|profile| {
            let (owner, kept) = kept.remove(&profile).unzip();
            let validated = validated.remove(profile.as_str());
            ProfileView { profile, owner, kept, validated }
        });
        Ok(views.collect())
    }

    /// Shows one profile. A built-in one is there also without a credential.
    pub async fn show(
        &self,
        caller: &Caller,
        tenant: TenantId,
        profile: &BackendProfile,
    ) -> Result<ProfileView, ServiceError> {
        caller.acting(tenant)?.require(Right::TenantRead)?;
        let found = self.find(tenant, profile).await?;
        if found.is_none() && !built_in().any(|name| name == *profile) {
            return Err(ServiceError::NOT_FOUND);
        }
        let (owner, kept) = found.unzip();
        let names = BTreeSet::from([profile.clone()]);
        let validated = self.validated(tenant, &names).await?.remove(profile.as_str());
        Ok(ProfileView { profile: profile.clone(), owner, kept, validated })
    }

    /// Keeps a credential: of a tenant, or of the operator for all.
    pub async fn put(
        &self,
        caller: &Caller,
        owner: Owner,
        profile: &BackendProfile,
        ask: CredentialAsk,
    ) -> Result<ProfileView, ServiceError> {
        may_change(caller, owner)?;
        if !profile.needs_credential() {
            return Err(ProfileRefusal::NeedsNone(profile.clone()).into());
        }
        let secrets = self.secrets.as_ref().ok_or(ProfileRefusal::NoStore)?;
        check_credential(&ask.credential)?;
        let before = secrets.find(owner, profile).await?;
        if before.is_none() && secrets.list(owner, PROFILES_AT_MOST).await?.len() >= PROFILES_AT_MOST {
            return Err(ProfileRefusal::TooMany(PROFILES_AT_MOST).into());
        }
        let settings = self.settings(before.and_then(|kept| kept.settings), &ask)?;
        // Said first: a change that nobody was told of is worse than words about one that failed.
        let detail = json!({
            "secretRef": SecretRef::provider_name(profile),
            "baseUrl": settings.base_url,
            "model": settings.model,
        });
        self.record(caller, owner, "profile.credential_set", profile, detail).await?;
        let kept = secrets.put(owner, profile, NewProfile { settings, credential: ask.credential }).await?;
        Ok(ProfileView { profile: profile.clone(), owner: Some(owner), kept: Some(kept), validated: None })
    }

    /// Forgets a profile's credential and settings.
    pub async fn remove(
        &self,
        caller: &Caller,
        owner: Owner,
        profile: &BackendProfile,
    ) -> Result<(), ServiceError> {
        may_change(caller, owner)?;
        let secrets = self.secrets.as_ref().ok_or(ProfileRefusal::NoStore)?;
        if secrets.find(owner, profile).await?.is_none() {
            return Err(ServiceError::NOT_FOUND);
        }
        let detail = json!({ "secretRef": SecretRef::provider_name(profile) });
        self.record(caller, owner, "profile.removed", profile, detail).await?;
        secrets.remove(owner, profile).await?;
        Ok(())
    }

    /// Finds what a run of a profile would use: the tenant's own, or else the operator's.
    async fn find(
        &self,
        tenant: TenantId,
        profile: &BackendProfile,
    ) -> Result<Option<(Owner, Kept)>, ServiceError> {
        match &self.secrets {
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
        let found = validations::latest(&self.store, tenant, &names).await?;
        Ok(found.into_iter().map(|validation| (validation.profile.clone(), validation)).collect())
    }

    /// Puts together what stands in `profile.toml`. Over the API every profile is one of Codex: another backend has a
    /// command, and that would be code of the tenant's choice on the runner's machine.
    fn settings(&self, before: Option<Profile>, ask: &CredentialAsk) -> Result<Profile, ServiceError> {
        let before = before.filter(|before| before.backend == BackendKind::Codex);
        let mut settings = before.unwrap_or_else(|| Profile::of(BackendKind::Codex));
        if let Some(base_url) = &ask.base_url {
            settings.base_url = Some(base_url::check(base_url, &self.rules)?);
        }
        if let Some(model) = &ask.model {
            settings.model = Some(model.clone());
        }
        if let Some(wire_api) = &ask.wire_api {
            settings.wire_api = Some(match wire_api.as_str() {
                "responses" => WireApi::Responses,
                "chat" => WireApi::Chat,
                _ => return Err(ServiceError::Invalid("wireApi: use responses or chat".to_owned())),
            });
        }
        settings.check().map_err(|error| ServiceError::Invalid(error.to_string()))?;
        if !redact(&settings.to_toml()).found.is_empty() {
            return Err(ProfileRefusal::SecretInSettings.into());
        }
        Ok(settings)
    }

    async fn record(
        &self,
        caller: &Caller,
        owner: Owner,
        action: &'static str,
        profile: &BackendProfile,
        detail: serde_json::Value,
    ) -> Result<(), ServiceError> {
        let of = match owner {
            Owner::Shared => Of::Installation,
            Owner::Tenant(tenant) => Of::Tenant(tenant),
        };
        let (actor, object) = (Some(caller.principal), profile.to_string());
        let mut tx = self.store.begin().await?;
        audit::record(&mut tx, &Event { of, action, actor, object, detail }).await?;
        Ok(tx.commit().await?)
    }
}

/// The profiles that there are without anybody making them, and that have a provider.
fn built_in() -> impl Iterator<Item = BackendProfile> {
    let names = BackendProfile::BUILT_IN.iter().filter_map(|name| name.parse::<BackendProfile>().ok());
    names.filter(BackendProfile::needs_credential)
}

/// Says whether somebody may change a profile. The operator's are the operator's alone.
fn may_change(caller: &Caller, owner: Owner) -> Result<(), ServiceError> {
    match owner {
        Owner::Shared => Ok(caller.require_operator()?),
        Owner::Tenant(tenant) => Ok(caller.acting(tenant)?.require(Right::ProfilesManage)?),
    }
}

/// Checks what every provider's key is, so that a slip of the hand is noticed before a run fails.
fn check_credential(credential: &SecretString) -> Result<(), ServiceError> {
    let text = credential.expose_secret();
    if (1..=CREDENTIAL_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(ServiceError::Invalid(format!(
        "credential: use 1 to {CREDENTIAL_BYTES} visible ASCII characters without spaces"
    )))
}
