//! Enrolment tokens: with one, runners register and claim, and do nothing else.

use std::time::Duration;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::{PrincipalKind, Slug};
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{EnrolmentId, PrincipalId, RunId, TenantId};
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_store::enrolments::{self, NewEnrolment};
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, Tx, principals};
use secrecy::SecretString;
use serde_json::json;

pub use guildhall_store::enrolments::EnrolmentRow;

use crate::ServiceError;
use crate::access::audit;
use crate::access::tenants::event;
use crate::idempotency::{self, Claim, IdempotencyKey};

/// How long an enrolment holds where nothing is said: a working week and a weekend.
pub const LIVES_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// Shorter than this nobody would get a runner started.
pub const LIVES_AT_LEAST: Duration = Duration::from_secs(60);

/// Longer than a year nobody remembers who has it.
pub const LIVES_AT_MOST: Duration = Duration::from_secs(365 * 24 * 3600);

/// An enrolment to make.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// What it is for, in words.
    pub name: &'a str,
    pub profile: Option<&'a Slug>,
    pub pool: Option<&'a Slug>,
    pub lives_for: Duration,
}

/// An enrolment that was made; the secret is shown once. A replay has none to show.
#[derive(Debug, Clone)]
pub struct Made {
    pub id: EnrolmentId,
    pub secret: Option<SecretString>,
}

/// Makes, lists and ends enrolments.
#[derive(Debug, Clone)]
pub struct Enrolments {
    store: Store,
}

impl Enrolments {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Makes an enrolment. What is done under it is done by a principal of its own, which has no role.
    pub async fn create(
        &self,
        caller: &Caller,
        tenant: TenantId,
        wanted: &Wanted<'_>,
        key: Option<&IdempotencyKey>,
    ) -> Result<Made, ServiceError> {
        caller.acting(tenant)?.require(Right::RunnersManage)?;
        let Wanted { name, profile, pool, lives_for } = *wanted;
        if !(LIVES_AT_LEAST..=LIVES_AT_MOST).contains(&lives_for) {
            return Err(ServiceError::Invalid("expiresInMs: use a minute to 365 days".to_owned()));
        }
        let mut tx = self.store.begin().await?;
        let id = EnrolmentId::generate();
        let [profile_name, pool_name] = [profile, pool].map(|slug| slug.map(Slug::as_str));
        let said = json!(["enrolment", tenant, name, profile_name, pool_name, lives_for.as_secs_f64()]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            return Ok(Made { id: EnrolmentId::from_uuid(made), secret: None });
        }
        let principal = PrincipalId::generate();
        let service = NewPrincipal { id: principal, kind: PrincipalKind::Service, name, is_operator: false };
        principals::insert(&mut tx, &service).await?;
        let (secret, hash) = Opaque::generate(OpaqueKind::Enrolment, id.as_uuid());
        let new = NewEnrolment {
            id,
            tenant: Some(tenant),
            principal,
            name,
            profile,
            pool,
            run: None,
            hash: hash.as_bytes(),
            lives_for,
        };
        let expires_at = enrolments::insert(&mut tx, &new).await?;
        let detail = json!({
            "name": name, "profile": profile_name, "pool": pool_name,
            "principal": principal, "expiresAt": expires_at,
        });
        audit::record(&mut tx, &event(caller, tenant, "enrolment.created", id.to_string(), detail)).await?;
        tx.commit().await?;
        Ok(Made { id, secret: Some(secret) })
    }

    pub async fn list(&self, caller: &Caller, tenant: TenantId) -> Result<Vec<EnrolmentRow>, ServiceError> {
        caller.acting(tenant)?.require(Right::RunnersManage)?;
        Ok(enrolments::list(&self.store, tenant).await?)
    }

    /// Ends an enrolment and the tokens of the runs that were claimed under it, on every replica from the commit on.
    /// Ending it again is no error.
    pub async fn revoke(
        &self,
        caller: &Caller,
        tenant: TenantId,
        id: EnrolmentId,
    ) -> Result<(), ServiceError> {
        caller.acting(tenant)?.require(Right::RunnersManage)?;
        let mut tx = self.store.begin().await?;
        if enrolments::revoke(&mut tx, tenant, id).await? {
            let event = event(caller, tenant, "enrolment.revoked", id.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        } else if !enrolments::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }
}

/// What the server itself gives to a runner that it starts.
#[derive(Debug, Clone)]
pub(crate) struct ForLaunch<'a> {
    /// What is started, in words.
    pub(crate) name: &'a str,
    /// The run and its tenant; without them it is of the installation's own pool, and bound by its first claim.
    pub(crate) run: Option<(TenantId, RunId)>,
    pub(crate) profile: Option<&'a Slug>,
    pub(crate) lives_for: Duration,
}

/// Makes an enrolment for a runner that is about to be started. Nobody asked for it: the job tells why it is there.
pub(crate) async fn issue(
    tx: &mut Tx,
    wanted: &ForLaunch<'_>,
) -> Result<(EnrolmentId, SecretString), ServiceError> {
    let (id, principal) = (EnrolmentId::generate(), PrincipalId::generate());
    let &ForLaunch { name, run, profile, lives_for } = wanted;
    let service = NewPrincipal { id: principal, kind: PrincipalKind::Service, name, is_operator: false };
    principals::insert(tx, &service).await?;
    let (secret, hash) = Opaque::generate(OpaqueKind::Enrolment, id.as_uuid());
    let (tenant, run) = run.unzip();
    let hash = hash.as_bytes();
    let new = NewEnrolment { id, tenant, principal, name, profile, pool: None, run, hash, lives_for };
    enrolments::insert(tx, &new).await?;
    Ok((id, secret))
}
