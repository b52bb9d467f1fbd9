//! Verifies the tokens of runners: an enrolment token before a claim, a run token after it.

use std::sync::Arc;

use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::ids::EnrolmentId;
use guildhall_domain::runners::enrolment::{Enrolment, RunGrant};
use guildhall_identity::access_token::{AccessClaims, RunScope};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_runtime::Clock;
use guildhall_store::{Store, enrolments};
use tokio::time::Instant;
use uuid::Uuid;

pub use super::run_token::{RUN_TOKEN_LIFETIME, RunToken, SignedRunToken, VerifiedRunToken};
use super::run_token_cache::RunTokenCache;
use crate::ServiceError;
use crate::access::secrets::{is_due_for_touch, matches};
use crate::access::signing::Signing;
use crate::access::timestamps::saturating_add;

/// Mints and verifies the tokens of runners.
#[derive(Debug, Clone)]
pub struct RunnerTokens {
    store: Store,
    clock: Clock,
    signing: Arc<Signing>,
    cache: Arc<RunTokenCache>,
}

impl RunnerTokens {
    #[must_use]
    pub fn new(store: Store, clock: Clock, signing: Arc<Signing>) -> Self {
        Self { store, clock, signing, cache: Arc::default() }
    }

    /// Finds the enrolment of a bearer token. It is read each time: a revoked one is refused at once.
    pub async fn enrolment(&self, bearer: &str) -> Result<Enrolment, ServiceError> {
        let presented = OpaqueSecret::parse(bearer).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueSecretKind::Enrolment {
            return Err(ServiceError::Unauthenticated);
        }
        let id = EnrolmentId::from_uuid(presented.id);
        let found = enrolments::find(&self.store, id).await?;
        let found = found
            .filter(|found| matches(&found.hash, &presented.hash))
            .ok_or(ServiceError::Unauthenticated)?;
        if is_due_for_touch(found.last_used_at, self.clock.now()) {
            enrolments::touch(&self.store, id).await?;
        }
        Ok(found.enrolment)
    }

    /// Mints the token of a claim or a renewal. The epoch was just read under the lock of the run's head.
    pub fn mint(&self, grant: &RunGrant) -> Result<RunToken, ServiceError> {
        let now = self.clock.now();
        let expires_at = saturating_add(now, RUN_TOKEN_LIFETIME);
        let token = self.signing.sign(&AccessClaims {
            id: Uuid::now_v7(),
            principal: grant.principal,
            kind: TokenKind::Run,
            login: None,
            key: None,
            tenant: Some(grant.tenant),
            agent: None,
            run: Some(RunScope { run: grant.run, epoch: grant.epoch, runner: grant.runner }),
            issued_at: now,
            expires_at,
        })?;
        Ok(RunToken { token, expires_at })
    }

    /// Verifies a run token: its signature, and that its enrolment was not revoked. Whether the epoch is current is not
    /// checked here, because the answer could be stale when it is used: writes are fenced under the head lock.
    pub async fn verify(&self, bearer: &str) -> Result<VerifiedRunToken, ServiceError> {
        let signed = self.verify_signature(bearer).await?;
        self.verify_enrolment(&signed).await
    }

    /// Verifies the signature of a run token only.
    pub async fn verify_signature(&self, bearer: &str) -> Result<SignedRunToken, ServiceError> {
        let claims = self.signing.verify(bearer).await?;
        let (TokenKind::Run, Some(tenant), Some(scope)) = (claims.kind, claims.tenant, claims.run) else {
            return Err(ServiceError::Unauthenticated);
        };
        let RunScope { run, epoch, runner } = scope;
        let grant = RunGrant { principal: claims.principal, tenant, runner, run, epoch };
        Ok(SignedRunToken { grant, expires_at: claims.expires_at })
    }

    /// Verifies that the enrolment of a run token was not revoked.
    pub(super) async fn verify_enrolment(
        &self,
        token: &SignedRunToken,
    ) -> Result<VerifiedRunToken, ServiceError> {
        let SignedRunToken { grant, expires_at } = *token;
        if !enrolments::is_unrevoked(&self.store, grant.runner, grant.tenant, grant.run).await? {
            return Err(ServiceError::Unauthenticated);
        }
        Ok(VerifiedRunToken { grant, expires_at })
    }

    /// Verifies a run token, or returns a verification of less than half a second ago. For appends only.
    pub async fn verify_cached(&self, bearer: &str) -> Result<VerifiedRunToken, ServiceError> {
        if let Some(token) = self.cache.get(bearer, self.clock.now()) {
            return Ok(token);
        }
        let verified_at = Instant::now();
        let token = self.verify(bearer).await?;
        self.cache.insert(bearer, token, verified_at);
        Ok(token)
    }
}
