//! Signing in, staying signed in, and who is behind a token.

use std::sync::{Arc, Mutex, PoisonError};

use guildhall_domain::access::caller::{Acting, Caller};
use guildhall_domain::access::lockout::Admission;
use guildhall_domain::access::principal::{LoginKind, TokenKind};
use guildhall_domain::access::refresh::{Decision, Family, decide};
use guildhall_domain::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};
use guildhall_domain::ops::sampling::Sampling;
use guildhall_identity::access::Claims;
use guildhall_identity::opaque::{Opaque, OpaqueKind, SecretHash};
use guildhall_identity::password;
use guildhall_runtime::Clock;
use guildhall_store::passwords::Password;
use guildhall_store::{Store, Tx, logins, passwords, principals, service_keys};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::access::signing::Signing;
use crate::runners::token_cache::Lately;

/// How long an access token holds. Short: it is checked against the database too, but elsewhere it may not be.
const ACCESS_LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// The longest that any signed token holds: a run's. A signing key is published until its last token is over.
pub const LONGEST_LIFETIME: SignedDuration = crate::runners::tokens::RUN_LIFETIME;

/// How long a login may be kept alive by refreshing it.
const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The last use of a key or an enrolment is written at most this often.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Passwords checked at once: each takes 19 MiB and a core for tens of milliseconds. More are refused.
const CHECKS_AT_ONCE: usize = 8;

/// What a sign-in hands out.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub principal: PrincipalId,
    pub access: SecretString,
    pub access_expires_at: Timestamp,
    pub refresh: SecretString,
}

/// How somebody proved who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Password,
    Oidc,
    /// A browser signed in, and handed on to a command.
    Handoff,
}

impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Oidc => "oidc",
            Self::Handoff => "oidc-handoff",
        }
    }
}

/// What a caller proves who they are with. Does not print.
#[derive(Debug, Clone)]
pub enum Credential {
    Bearer(SecretString),
    /// A browser session. Pages of other sites can make a browser send it, so it alone changes nothing.
    Cookie(SecretString),
}

/// Tells who is who.
#[derive(Debug, Clone)]
pub struct Auth {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) signing: Arc<Signing>,
    checks: Arc<Semaphore>,
    /// Attempts under names that belong to nobody. No lockout bounds them.
    unknown: Arc<Mutex<Sampling>>,
    pub(crate) lately: Arc<Lately>,
}

impl Auth {
    #[must_use]
    pub fn new(store: Store, clock: Clock, signing: Arc<Signing>) -> Self {
        let checks = Arc::new(Semaphore::new(CHECKS_AT_ONCE));
        Self { store, clock, signing, checks, unknown: Arc::default(), lately: Arc::default() }
    }

    /// Signs a person in with a password.
    pub async fn sign_in(&self, name: &str, password: &SecretString) -> Result<Tokens, ServiceError> {
        let (tx, principal) = self.check_password(name, password).await?;
        self.begin(tx, principal, Method::Password).await
    }

    /// Checks a password. No connection is held meanwhile: that takes long by intent, and whoever tries names at random
    /// would take all of them. Whoever passes gets the transaction that holds the name.
    pub(crate) async fn check_password(
        &self,
        name: &str,
        password: &SecretString,
    ) -> Result<(Tx, PrincipalId), ServiceError> {
        let _place = self.checks.try_acquire().map_err(|_| ServiceError::Overloaded)?;
        let Some(tried) = self.admit(name).await? else {
            check_nothing(password).await;
            self.note_unknown(name).await?;
            return Err(ServiceError::SignInFailed);
        };
        if check(password, tried.hash.clone()).await {
            return self.passed(name, &tried).await;
        }
        let event = Event {
            of: Of::Installation,
            action: "login.refused",
            actor: None,
            object: tried.principal.to_string(),
            detail: json!({ "name": name }),
        };
        self.record(&event).await?;
        Err(ServiceError::SignInFailed)
    }

    /// Counts an attempt as failed, before its password is checked: attempts on one name wait for each other here, and
    /// none that is still being checked slips past the lockout. A right password takes the count back.
    async fn admit(&self, name: &str) -> Result<Option<Password>, ServiceError> {
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let Some(found) = passwords::lock(&mut tx, name).await? else {
            tx.rollback().await?;
            return Ok(None);
        };
        if let Admission::Locked { until } = found.attempts.admit(now) {
            tx.rollback().await?;
            return Err(ServiceError::SignInLocked { until });
        }
        passwords::set_attempts(&mut tx, name, &found.attempts.clone().failed(now)).await?;
        tx.commit().await?;
        Ok(Some(found))
    }

    /// Takes the count back for somebody whose password was right.
    async fn passed(&self, name: &str, tried: &Password) -> Result<(Tx, PrincipalId), ServiceError> {
        let mut tx = self.store.begin().await?;
        // A password that was changed while the old one was checked is no longer right.
        let found = passwords::lock(&mut tx, name).await?.filter(|found| found.hash == tried.hash);
        let found = found.ok_or(ServiceError::SignInFailed)?;
        passwords::set_attempts(&mut tx, name, &found.attempts.succeeded()).await?;
        Ok((tx, found.principal))
    }

    /// Begins a login with tokens for somebody who has proved who they are.
    pub(crate) async fn begin(
        &self,
        mut tx: Tx,
        principal: PrincipalId,
        method: Method,
    ) -> Result<Tokens, ServiceError> {
        let (login, now) = (LoginId::generate(), self.clock.now());
        let (refresh, hash) = Opaque::generate(OpaqueKind::Refresh, login.as_uuid());
        let family = Family::begin(hash.as_bytes().to_vec(), now, add(now, LOGIN_LIFETIME));
        logins::insert(&mut tx, login, principal, LoginKind::Tokens, &family).await?;
        audit::record(&mut tx, &created(principal, login, LoginKind::Tokens, method)).await?;
        tx.commit().await?;
        self.hand_out(principal, login, refresh)
    }

    /// Notes an attempt under a name that belongs to nobody: by its tag, since it may be a password in the wrong place.
    async fn note_unknown(&self, name: &str) -> Result<(), ServiceError> {
        let noted = {
            let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
            unknown.take(self.clock.now())
        };
        let Some(left_out) = noted else { return Ok(()) };
        let event = Event {
            of: Of::Installation,
            action: "login.refused",
            actor: None,
            object: "unknown".to_owned(),
            detail: json!({ "nameTag": self.signing.name_tag(name), "leftOut": left_out }),
        };
        self.record(&event).await
    }

    async fn record(&self, event: &Event) -> Result<(), ServiceError> {
        let mut tx = self.store.begin().await?;
        audit::record(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    /// Exchanges a refresh token for the next. One that was exchanged before ends the whole login.
    pub async fn refresh(&self, presented: &SecretString) -> Result<Tokens, ServiceError> {
        let presented =
            Opaque::parse(presented.expose_secret()).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueKind::Refresh {
            return Err(ServiceError::Unauthenticated);
        }
        let login = LoginId::from_uuid(presented.id);
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let found = logins::lock(&mut tx, login).await?;
        let is_presented = |kept: &Vec<u8>| is_same(kept, &presented.hash);
        let decision = decide(found.as_ref().map(|(_, family)| family), is_presented, now);
        let Some((principal, family)) = found else { return Err(ServiceError::Unauthenticated) };
        let (next, hash) = Opaque::generate(OpaqueKind::Refresh, login.as_uuid());
        logins::update(&mut tx, login, &family.after(decision, hash.as_bytes().to_vec(), now)).await?;
        if decision == Decision::Reused {
            let event = Event {
                of: Of::Installation,
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
        self.hand_out(principal, login, next)
    }

    /// Ends the caller's login, everywhere.
    pub async fn sign_out(&self, caller: &Caller) -> Result<(), ServiceError> {
        let Some(login) = caller.login else { return Ok(()) };
        let mut tx = self.store.begin().await?;
        if logins::revoke(&mut tx, login).await? {
            let event = Event {
                of: Of::Installation,
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

    /// Finds the caller behind a token or a session, as things stand now.
    pub async fn caller_of(
        &self,
        credential: &Credential,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        match credential {
            Credential::Bearer(token) => self.caller(token.expose_secret(), tenant).await,
            Credential::Cookie(cookie) => self.browser_caller(cookie, tenant).await,
        }
    }

    /// Finds the caller behind a bearer token, with their role in `tenant`. Authority is read from PostgreSQL each
    /// time, so what was revoked a moment ago is refused now; when PostgreSQL does not answer, so is everything.
    pub async fn caller(&self, bearer: &str, tenant: Option<TenantId>) -> Result<Caller, ServiceError> {
        if bearer.starts_with(OpaqueKind::ServiceKey.prefix()) {
            return self.key_caller(bearer).await;
        }
        let claims = self.signing.verify(bearer).await?;
        match claims.kind {
            TokenKind::User => self.user_caller(&claims, tenant).await,
            TokenKind::External => self.external_caller(&claims).await,
            // Agents have no tokens yet; runners' are no callers; the others are not signed.
            TokenKind::Agent | TokenKind::Service | TokenKind::Enrolment | TokenKind::Run => {
                Err(ServiceError::Unauthenticated)
            }
        }
    }

    /// Returns whether anybody at all is behind a bearer token: a caller or a runner.
    pub async fn is_known(&self, bearer: &str) -> bool {
        self.caller(bearer, None).await.is_ok()
            || self.enrolment(bearer).await.is_ok()
            || self.grant(bearer).await.is_ok()
    }

    async fn user_caller(&self, claims: &Claims, tenant: Option<TenantId>) -> Result<Caller, ServiceError> {
        let authority = principals::authority(&self.store, claims.principal, claims.login, tenant)
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        Ok(Caller {
            principal: claims.principal,
            kind: claims.kind,
            login: claims.login,
            key: None,
            subject_of: None,
            tenant: authority.role.map(|(tenant, role)| Acting { tenant, role }),
            expires_at: claims.expires_at,
            is_operator: authority.is_operator,
        })
    }

    async fn key_caller(&self, bearer: &str) -> Result<Caller, ServiceError> {
        let presented = Opaque::parse(bearer).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueKind::ServiceKey {
            return Err(ServiceError::Unauthenticated);
        }
        let id = ServiceKeyId::from_uuid(presented.id);
        let found = service_keys::find(&self.store, id).await?;
        let key =
            found.filter(|key| is_same(&key.hash, &presented.hash)).ok_or(ServiceError::Unauthenticated)?;
        let authority = principals::authority(&self.store, key.principal, None, Some(key.tenant))
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        if self.is_to_touch(key.last_used_at) {
            service_keys::touch(&self.store, id).await?;
        }
        Ok(Caller {
            principal: key.principal,
            kind: TokenKind::Service,
            login: None,
            key: Some(id),
            subject_of: None,
            tenant: authority.role.map(|(tenant, role)| Acting { tenant, role }),
            expires_at: Timestamp::MAX,
            is_operator: false,
        })
    }

    /// Returns whether a use is to be written down: the last one that was is some time ago.
    pub(crate) fn is_to_touch(&self, last_used_at: Option<Timestamp>) -> bool {
        last_used_at.is_none_or(|at| self.clock.now().duration_since(at) > TOUCH_EVERY)
    }

    fn hand_out(
        &self,
        principal: PrincipalId,
        login: LoginId,
        refresh: SecretString,
    ) -> Result<Tokens, ServiceError> {
        let now = self.clock.now();
        let access_expires_at = add(now, ACCESS_LIFETIME);
        let access = self.signing.sign(&Claims {
            id: Uuid::now_v7(),
            principal,
            kind: TokenKind::User,
            login: Some(login),
            key: None,
            tenant: None,
            run: None,
            issued_at: now,
            expires_at: access_expires_at,
        })?;
        Ok(Tokens { principal, access, access_expires_at, refresh })
    }
}

pub(crate) fn created(principal: PrincipalId, login: LoginId, kind: LoginKind, method: Method) -> Event {
    Event {
        of: Of::Installation,
        action: "login.created",
        actor: Some(principal),
        object: login.to_string(),
        detail: json!({ "method": method.as_str(), "kind": kind.as_str() }),
    }
}

pub(crate) fn is_same(kept: &[u8], presented: &SecretHash) -> bool {
    <[u8; 32]>::try_from(kept).is_ok_and(|kept| SecretHash::from_bytes(kept) == *presented)
}

/// Checks a password on a thread of its own: it costs tens of milliseconds by intent.
async fn check(password: &SecretString, hash: String) -> bool {
    let password = password.clone();
    tokio::task::spawn_blocking(move || password::verify(&password, &hash)).await.unwrap_or(false)
}

/// Costs as much as a check, so that time does not tell whether a name exists.
async fn check_nothing(password: &SecretString) {
    let password = password.clone();
    let _panicked = tokio::task::spawn_blocking(move || password::dummy_verify(&password)).await;
}

pub(crate) fn add(at: Timestamp, time: SignedDuration) -> Timestamp {
    at.checked_add(time).unwrap_or(Timestamp::MAX)
}
