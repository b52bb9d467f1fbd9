//! Who is behind a runner's token: an enrolment before a claim, a run after it.

use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::ids::EnrolmentId;
use guildhall_domain::runners::enrolment::{Enrolment, RunGrant};
use guildhall_identity::access::{Claims, RunScope};
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_store::enrolments;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio::time::Instant;
use uuid::Uuid;

use crate::ServiceError;
use crate::access::auth::{Auth, add, is_same};

/// How long a run token holds. A lease is renewed far more often, and brings a new token each time; the epoch in it
/// fences its holder off as soon as another has the run.
pub(crate) const RUN_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// A token for one run, under one epoch of its lease.
#[derive(Debug, Clone)]
pub struct RunToken {
    pub token: SecretString,
    pub expires_at: Timestamp,
}

/// A grant, and until when its token holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub grant: RunGrant,
    pub expires_at: Timestamp,
}

impl Auth {
    /// Finds the enrolment behind a bearer token. It is looked up each time: revoked a moment ago is refused now.
    pub async fn enrolment(&self, bearer: &str) -> Result<Enrolment, ServiceError> {
        let presented = Opaque::parse(bearer).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueKind::Enrolment {
            return Err(ServiceError::Unauthenticated);
        }
        let id = EnrolmentId::from_uuid(presented.id);
        let found = enrolments::find(&self.store, id).await?;
        let found = found
            .filter(|found| is_same(&found.hash, &presented.hash))
            .ok_or(ServiceError::Unauthenticated)?;
        if self.is_to_touch(found.last_used_at) {
            enrolments::touch(&self.store, id).await?;
        }
        Ok(found.enrolment)
    }

    /// Makes the token that a claim, or the renewal of a lease, hands to the runner. The caller has just read the epoch
    /// under the lock of the run's head.
    pub fn mint_run_token(&self, grant: &RunGrant) -> Result<RunToken, ServiceError> {
        let now = self.clock.now();
        let expires_at = add(now, RUN_LIFETIME);
        let token = self.signing.sign(&Claims {
            id: Uuid::now_v7(),
            principal: grant.principal,
            kind: TokenKind::Run,
            login: None,
            key: None,
            tenant: Some(grant.tenant),
            run: Some(RunScope { run: grant.run, epoch: grant.epoch, runner: grant.runner }),
            issued_at: now,
            expires_at,
        })?;
        Ok(RunToken { token, expires_at })
    }

    /// Finds the run behind a bearer token. The signature says that the runner held it under this epoch; that the
    /// enrolment it came with was not revoked is read from PostgreSQL. Whether the epoch is still the run's is not
    /// asked here, because the answer could be old when it is used: writes are fenced under the lock of the head.
    pub async fn grant(&self, bearer: &str) -> Result<Held, ServiceError> {
        let claims = self.signing.verify(bearer).await?;
        let (TokenKind::Run, Some(tenant), Some(scope)) = (claims.kind, claims.tenant, claims.run) else {
            return Err(ServiceError::Unauthenticated);
        };
        let RunScope { run, epoch, runner } = scope;
        if !enrolments::is_unrevoked(&self.store, claims.principal, tenant, run).await? {
            return Err(ServiceError::Unauthenticated);
        }
        let grant = RunGrant { principal: claims.principal, tenant, runner, run, epoch };
        Ok(Held { grant, expires_at: claims.expires_at })
    }
    /// Finds the run behind a bearer token that came a moment ago too. For appends alone, which come many times a
    /// second: a look serves for less than half a second.
    pub async fn grant_lately(&self, bearer: &str) -> Result<Held, ServiceError> {
        if let Some(held) = self.lately.find(bearer, self.clock.now()) {
            return Ok(held);
        }
        let asked = Instant::now();
        let held = self.grant(bearer).await?;
        self.lately.keep(bearer, held, asked);
        Ok(held)
    }
}
