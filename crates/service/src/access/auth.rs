//! Sign-in, token refresh, sign-out and authentication of callers.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_domain::access::caller::{Caller, TenantRole};
use guildhall_domain::access::lockout::SignInDecision;
use guildhall_domain::access::principal::{LoginKind, TokenKind};
use guildhall_domain::access::refresh::{RefreshDecision, TokenFamily, decide};
use guildhall_domain::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};
use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::ops::sampling::LogSampler;
use guildhall_identity::access_token::AccessClaims;
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_runtime::Clock;
use guildhall_store::passwords::Password;
use guildhall_store::{Store, Tx, logins, passwords, principals, service_keys, unknown_names};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::error::{AccessError, OidcError};
use crate::access::password_queue::PasswordQueue;
use crate::access::secrets::{is_due_for_touch, matches};
use crate::access::signing::Signing;
use crate::access::timestamps::saturating_add;

/// The lifetime of an access token. Short, because others may check a token without the database.
const ACCESS_LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// The lifetime of a login, however often it is refreshed.
const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The tokens of a login.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub principal: PrincipalId,
    pub access: SecretString,
    pub access_expires_at: Timestamp,
    pub refresh: SecretString,
}

/// A login with a new refresh token.
pub(crate) struct RotatedLogin {
    pub(crate) principal: PrincipalId,
    pub(crate) login: LoginId,
    pub(crate) refresh: SecretString,
}

/// An attempt to sign in with a password. Its debug output hides the password.
#[derive(Debug, Clone)]
pub struct PasswordAttempt {
    pub name: String,
    pub password: SecretString,
    /// The address of the client.
    pub client: IpAddr,
}

/// How a person signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInMethod {
    Password,
    Oidc,
    /// A browser signed in and handed the login to the CLI.
    Handoff,
}

impl SignInMethod {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Oidc => "oidc",
            Self::Handoff => "oidc-handoff",
        }
    }

    /// Returns the error for a user who was disabled during the sign-in.
    pub(crate) fn disabled_error(self) -> ServiceError {
        match self {
            Self::Password => AccessError::SignInFailed.into(),
            Self::Oidc | Self::Handoff => OidcError::Disabled.into(),
        }
    }
}

/// The credential of a request. Its debug output hides the secret.
#[derive(Debug, Clone)]
pub enum Credential {
    Bearer(SecretString),
    /// A browser session. Other sites can make a browser send it, so changes also need a CSRF token.
    Cookie(SecretString),
}

/// Signs people in and authenticates callers.
#[derive(Debug, Clone)]
pub struct Auth {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) signing: Arc<Signing>,
    password_queue: PasswordQueue,
    /// Samples the audit entries of attempts with unknown names: there are more names than a lockout limits.
    unknown_names: Arc<Mutex<LogSampler>>,
}

impl Auth {
    #[must_use]
    pub fn new(store: Store, clock: Clock, signing: Arc<Signing>) -> Self {
        let password_queue = PasswordQueue::new();
        Self { store, clock, signing, password_queue, unknown_names: Arc::default() }
    }

    /// Signs a person in with a password.
    pub async fn sign_in(&self, attempt: &PasswordAttempt) -> Result<Tokens, ServiceError> {
        let (tx, principal) = self.check_password(attempt).await?;
        self.create_login(tx, principal, SignInMethod::Password).await
    }

    /// Checks a password. Returns a transaction that holds the lock of the name. No connection is held during the slow
    /// hash, so that random attempts cannot use up the pool. The cheap checks come first: a place in the queue, then
    /// the lock of the name.
    pub(crate) async fn check_password(
        &self,
        attempt: &PasswordAttempt,
    ) -> Result<(Tx, PrincipalId), ServiceError> {
        let PasswordAttempt { name, password, client } = attempt;
        let place = self.password_queue.enter(RateKey::from_address(*client))?;
        let stored = self.count_attempt(name).await?;
        let is_correct = place.verify(password, stored.as_ref().map(|stored| stored.hash.clone())).await;
        let Some(stored) = stored else {
            self.record_unknown_name(name).await?;
            return Err(AccessError::SignInFailed.into());
        };
        if is_correct {
            return self.reset_attempts(name, &stored).await;
        }
        let event = AuditEvent {
            log: AuditLog::Installation,
            action: "login.refused",
            actor: None,
            object: stored.principal.to_string(),
            detail: json!({ "name": name }),
        };
        self.record(&event).await?;
        Err(AccessError::SignInFailed.into())
    }

    /// Counts an attempt as failed before its password is checked, so that concurrent attempts cannot bypass the
    /// lockout. [`Self::reset_attempts`] undoes it after a correct password. Returns `None` for an unknown name, which
    /// is locked in the same way.
    async fn count_attempt(&self, name: &str) -> Result<Option<Password>, ServiceError> {
        let (mut tx, now, slot) = (self.store.begin().await?, self.clock.now(), self.signing.name_slot(name));
        // PostgreSQL rejects a text with NUL, so nobody has such a name.
        let found = if name.contains('\0') { None } else { passwords::lock(&mut tx, name).await? };
        let attempts = match &found {
            Some(found) => {
                unknown_names::read(&mut tx, slot).await?;
                found.attempts.clone()
            }
            None => unknown_names::lock(&mut tx, slot).await?,
        };
        if let SignInDecision::Locked { until } = attempts.check(now) {
            tx.rollback().await?;
            return Err(AccessError::SignInLocked { until }.into());
        }
        let failed = attempts.record_failure(now);
        match &found {
            Some(_) => passwords::set_attempts(&mut tx, name, &failed).await?,
            None => unknown_names::set_attempts(&mut tx, slot, &failed).await?,
        }
        tx.commit().await?;
        Ok(found)
    }

    /// Resets the failed attempts of a name after a correct password.
    async fn reset_attempts(
        &self,
        name: &str,
        checked: &Password,
    ) -> Result<(Tx, PrincipalId), ServiceError> {
        let mut tx = self.store.begin().await?;
        // The password may have been changed during the check; then the old one is wrong.
        let found = passwords::lock(&mut tx, name).await?.filter(|found| found.hash == checked.hash);
        let found = found.ok_or(AccessError::SignInFailed)?;
        passwords::set_attempts(&mut tx, name, &found.attempts.record_success()).await?;
        Ok((tx, found.principal))
    }

    /// Creates a login with tokens for an authenticated person.
    pub(crate) async fn create_login(
        &self,
        mut tx: Tx,
        principal: PrincipalId,
        method: SignInMethod,
    ) -> Result<Tokens, ServiceError> {
        let (login, now) = (LoginId::generate(), self.clock.now());
        let (refresh, hash) = OpaqueSecret::generate(OpaqueSecretKind::Refresh, login.as_uuid());
        let family = TokenFamily::new(hash.as_bytes().to_vec(), now, saturating_add(now, LOGIN_LIFETIME));
        if !logins::insert(&mut tx, login, principal, LoginKind::Tokens, &family).await? {
            return Err(method.disabled_error());
        }
        audit::record(&mut tx, &login_created_event(principal, login, LoginKind::Tokens, method)).await?;
        tx.commit().await?;
        self.issue_tokens(principal, login, refresh)
    }

    /// Records an attempt with an unknown name. Stores a tag, not the name: it may be a password in the wrong field.
    async fn record_unknown_name(&self, name: &str) -> Result<(), ServiceError> {
        let sampled = {
            let mut sampler = self.unknown_names.lock().unwrap_or_else(PoisonError::into_inner);
            sampler.sample(self.clock.now())
        };
        let Some(left_out) = sampled else {
            let mut tx = self.store.begin().await?;
            unknown_names::delete_expired(&mut tx, self.signing.name_slot(name)).await?;
            return Ok(tx.commit().await?);
        };
        let event = AuditEvent {
            log: AuditLog::Installation,
            action: "login.refused",
            actor: None,
            object: "unknown".to_owned(),
            detail: json!({ "nameTag": self.signing.name_tag(name), "leftOut": left_out }),
        };
        self.record(&event).await
    }

    async fn record(&self, event: &AuditEvent) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        audit::record(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    /// Exchanges a refresh token for new tokens. Reuse of an exchanged token revokes the login.
    pub async fn refresh(&self, presented: &SecretString) -> Result<Tokens, ServiceError> {
        let rotated = self.rotate(presented, LoginKind::Tokens).await?;
        self.issue_tokens(rotated.principal, rotated.login, rotated.refresh)
    }

    /// Exchanges the refresh token of a login of this kind. Reuse of an exchanged token revokes the login.
    pub(crate) async fn rotate(
        &self,
        presented: &SecretString,
        kind: LoginKind,
    ) -> Result<RotatedLogin, ServiceError> {
        let presented =
            OpaqueSecret::parse(presented.expose_secret()).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueSecretKind::Refresh {
            return Err(ServiceError::Unauthenticated);
        }
        let login = LoginId::from_uuid(presented.id);
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let found = logins::lock(&mut tx, login, kind).await?;
        let is_presented = |stored: &Vec<u8>| matches(stored, &presented.hash);
        let decision = decide(found.as_ref().map(|(_, family)| family), is_presented, now);
        let Some((principal, family)) = found else { return Err(ServiceError::Unauthenticated) };
        let (refresh, hash) = OpaqueSecret::generate(OpaqueSecretKind::Refresh, login.as_uuid());
        logins::update(&mut tx, login, &family.apply(decision, hash.as_bytes().to_vec(), now)).await?;
        if decision == RefreshDecision::Reused {
            let event = AuditEvent {
                log: AuditLog::Installation,
                action: "login.reuse_detected",
                actor: Some(principal),
                object: login.to_string(),
                detail: json!({ "consequence": "the login was revoked" }),
            };
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        if !decision.is_accepted() {
            return Err(ServiceError::Unauthenticated);
        }
        Ok(RotatedLogin { principal, login, refresh })
    }

    /// Revokes the caller's login on every replica.
    pub async fn sign_out(&self, caller: &Caller) -> Result<(), ServiceError> {
        let Some(login) = caller.login else { return Ok(()) };
        let mut tx = self.store.begin().await?;
        if logins::revoke(&mut tx, login).await? {
            let event = AuditEvent {
                log: AuditLog::Installation,
                action: "login.revoked",
                actor: Some(caller.principal),
                object: login.to_string(),
                detail: json!({}),
            };
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Authenticates a request by its token or browser session, with the current authority.
    pub async fn authenticate(
        &self,
        credential: &Credential,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        match credential {
            Credential::Bearer(token) => self.authenticate_bearer(token.expose_secret(), tenant).await,
            Credential::Cookie(cookie) => self.authenticate_browser(cookie, tenant).await,
        }
    }

    /// Authenticates a bearer token and reads the caller's role in `tenant`. Authority is read from PostgreSQL every
    /// time, so revocation takes effect at once; without PostgreSQL every token is refused.
    pub async fn authenticate_bearer(
        &self,
        bearer: &str,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        if bearer.starts_with(OpaqueSecretKind::ServiceKey.prefix()) {
            return self.authenticate_key(bearer).await;
        }
        let claims = self.signing.verify(bearer).await?;
        match claims.kind {
            TokenKind::User => self.authenticate_user(&claims, tenant).await,
            TokenKind::External => self.authenticate_subject(&claims).await,
            // Tokens of AIDs open connections to the socket; run tokens do not authenticate callers; the others are not signed tokens.
            TokenKind::Agent | TokenKind::Service | TokenKind::Enrolment | TokenKind::Run => {
                Err(ServiceError::Unauthenticated)
            }
        }
    }

    async fn authenticate_user(
        &self,
        claims: &AccessClaims,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        let authority = principals::find_authority(&self.store, claims.principal, claims.login, tenant)
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        Ok(Caller {
            principal: claims.principal,
            kind: claims.kind,
            login: claims.login,
            key: None,
            subject: None,
            tenant: authority.role.map(|(tenant, role)| TenantRole { tenant, role }),
            expires_at: claims.expires_at,
            is_operator: authority.is_operator,
        })
    }

    async fn authenticate_key(&self, bearer: &str) -> Result<Caller, ServiceError> {
        let presented = OpaqueSecret::parse(bearer).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueSecretKind::ServiceKey {
            return Err(ServiceError::Unauthenticated);
        }
        let id = ServiceKeyId::from_uuid(presented.id);
        let found = service_keys::find(&self.store, id).await?;
        let key =
            found.filter(|key| matches(&key.hash, &presented.hash)).ok_or(ServiceError::Unauthenticated)?;
        let authority = principals::find_authority(&self.store, key.principal, None, Some(key.tenant))
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        if is_due_for_touch(key.last_used_at, self.clock.now()) {
            service_keys::touch(&self.store, id).await?;
        }
        Ok(Caller {
            principal: key.principal,
            kind: TokenKind::Service,
            login: None,
            key: Some(id),
            subject: None,
            tenant: authority.role.map(|(tenant, role)| TenantRole { tenant, role }),
            expires_at: Timestamp::MAX,
            is_operator: false,
        })
    }

    fn issue_tokens(
        &self,
        principal: PrincipalId,
        login: LoginId,
        refresh: SecretString,
    ) -> Result<Tokens, ServiceError> {
        let now = self.clock.now();
        let access_expires_at = saturating_add(now, ACCESS_LIFETIME);
        let access = self.signing.sign(&AccessClaims {
            id: Uuid::now_v7(),
            principal,
            kind: TokenKind::User,
            login: Some(login),
            key: None,
            tenant: None,
            agent: None,
            run: None,
            issued_at: now,
            expires_at: access_expires_at,
        })?;
        Ok(Tokens { principal, access, access_expires_at, refresh })
    }
}

pub(crate) fn login_created_event(
    principal: PrincipalId,
    login: LoginId,
    kind: LoginKind,
    method: SignInMethod,
) -> AuditEvent {
    AuditEvent {
        log: AuditLog::Installation,
        action: "login.created",
        actor: Some(principal),
        object: login.to_string(),
        detail: json!({ "method": method.as_str(), "kind": kind.as_str() }),
    }
}
