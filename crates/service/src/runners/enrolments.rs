//! Enrolment tokens: they allow a runner to register and to claim runs, nothing else.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::{PrincipalKind, Slug};
use guildhall_domain::access::role::rights::RunnersManage;
use guildhall_domain::ids::{EnrolmentId, PrincipalId, RunId, RunnerJobId, TenantId};
use guildhall_domain::runners::enrolment::EnrolmentSummary;
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::enrolments::{self, NewEnrolment};
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, Tx, principals};
use secrecy::SecretString;
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};

/// The default lifetime of an enrolment.
pub const DEFAULT_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// The shortest lifetime: enough time to start a runner.
pub const MIN_LIFETIME: Duration = Duration::from_secs(60);

/// The longest lifetime: after a year nobody remembers who has the token.
pub const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// An enrolment to create.
#[derive(Debug, Clone)]
pub struct CreateEnrolment<'a> {
    /// A description for people.
    pub name: &'a str,
    pub profile: Option<&'a Slug>,
    pub ttl: Duration,
}

/// A created enrolment. The secret is returned once; an idempotent replay has none.
#[derive(Debug, Clone)]
pub struct CreatedEnrolment {
    pub id: EnrolmentId,
    pub secret: Option<SecretString>,
}

/// Creates, lists and revokes enrolments.
#[derive(Debug, Clone)]
pub struct Enrolments {
    store: Store,
}

impl Enrolments {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Creates an enrolment with its own principal, which has no role.
    pub async fn create(
        &self,
        caller: &Authorized<RunnersManage>,
        request: &CreateEnrolment<'_>,
        key: Option<&IdempotencyKey>,
    ) -> Result<CreatedEnrolment, ServiceError> {
        let tenant = caller.tenant();
        let CreateEnrolment { name, profile, ttl } = *request;
        if !(MIN_LIFETIME..=MAX_LIFETIME).contains(&ttl) {
            return Err(ServiceError::Invalid("expiresInMs: use a minute to 365 days".to_owned()));
        }
        let mut tx = self.store.begin().await?;
        let id = EnrolmentId::generate();
        let profile_name = profile.map(Slug::as_str);
        let body = json!(["enrolment", tenant, name, profile_name, ttl.as_secs_f64()]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            return Ok(CreatedEnrolment { id: EnrolmentId::from_uuid(created), secret: None });
        }
        let principal = PrincipalId::generate();
        let service = NewPrincipal { id: principal, kind: PrincipalKind::Service, name, is_operator: false };
        principals::insert(&mut tx, &service).await?;
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Enrolment, id.as_uuid());
        let new = NewEnrolment {
            id,
            tenant: Some(tenant),
            principal,
            name,
            profile,
            run: None,
            hash: hash.as_bytes(),
            ttl,
            job: None,
        };
        let expires_at = enrolments::insert(&mut tx, &new).await?;
        let detail = json!({
            "name": name, "profile": profile_name, "principal": principal, "expiresAt": expires_at,
        });
        audit::record(&mut tx, &AuditEvent::by_member(caller, "enrolment.created", id.to_string(), detail))
            .await?;
        tx.commit().await?;
        Ok(CreatedEnrolment { id, secret: Some(secret) })
    }

    pub async fn list(
        &self,
        caller: &Authorized<RunnersManage>,
    ) -> Result<Vec<EnrolmentSummary>, ServiceError> {
        Ok(enrolments::list(&self.store, caller.tenant()).await?)
    }

    /// Revokes an enrolment and the run tokens claimed under it on every replica, effective at commit. Revoking it
    /// again succeeds.
    pub async fn revoke(
        &self,
        caller: &Authorized<RunnersManage>,
        id: EnrolmentId,
    ) -> Result<(), ServiceError> {
        let tenant = caller.tenant();
        let mut tx = self.store.begin().await?;
        if enrolments::revoke(&mut tx, tenant, id).await? {
            let event = AuditEvent::by_member(caller, "enrolment.revoked", id.to_string(), json!({}));
            audit::record(&mut tx, &event).await?;
        } else if !enrolments::exists(&mut tx, tenant, id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok(tx.commit().await?)
    }
}

/// An enrolment for a runner that this server starts.
#[derive(Debug, Clone)]
pub(crate) struct LaunchEnrolment<'a> {
    /// A description for people.
    pub(crate) name: &'a str,
    /// The run and its tenant. Without them it is for the warm pool, and its first claim binds it to a run.
    pub(crate) run: Option<(TenantId, RunId)>,
    pub(crate) profile: Option<&'a Slug>,
    pub(crate) ttl: Duration,
    pub(crate) job: RunnerJobId,
}

/// Creates an enrolment for a runner that is about to be started. It is not audited: the job records its reason.
pub(crate) async fn issue(tx: &mut Tx, request: &LaunchEnrolment<'_>) -> Result<SecretString, ServiceError> {
    let (id, principal) = (EnrolmentId::generate(), PrincipalId::LAUNCHED_RUNNERS);
    let &LaunchEnrolment { name, run, profile, ttl, job } = request;
    let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Enrolment, id.as_uuid());
    let (tenant, run) = run.unzip();
    let hash = hash.as_bytes();
    let new = NewEnrolment { id, tenant, principal, name, profile, run, hash, ttl, job: Some(job) };
    enrolments::insert(tx, &new).await?;
    Ok(secret)
}
