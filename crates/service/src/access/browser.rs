//! Browser sessions: a login behind a cookie that no script can read.

use guildhall_domain::access::caller::{Acting, Caller};
use guildhall_domain::access::principal::{LoginKind, TokenKind};
use guildhall_domain::access::refresh::Family;
use guildhall_domain::ids::{LoginId, PrincipalId, TenantId};
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_store::{Tx, logins, principals};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};

use crate::ServiceError;
use crate::access::audit;
use crate::access::auth::{Auth, Method, add, created, is_same};

/// How long a browser stays signed in. A cookie is not exchanged as a refresh token is, so it lives shorter.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A session that was begun. The cookie is known to the browser alone from here on.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    pub principal: PrincipalId,
    pub cookie: SecretString,
    pub expires_at: Timestamp,
}

impl Auth {
    /// Signs a browser in with a password.
    pub async fn sign_in_browser(
        &self,
        name: &str,
        password: &SecretString,
    ) -> Result<BrowserSession, ServiceError> {
        let (mut tx, principal) = self.check_password(name, password).await?;
        let session = self.begin_browser(&mut tx, principal, Method::Password).await?;
        tx.commit().await?;
        Ok(session)
    }

    /// Begins a browser session for somebody who has proved who they are. It holds once the transaction does.
    pub(crate) async fn begin_browser(
        &self,
        tx: &mut Tx,
        principal: PrincipalId,
        method: Method,
    ) -> Result<BrowserSession, ServiceError> {
        let (login, now) = (LoginId::generate(), self.clock.now());
        let expires_at = add(now, LIFETIME);
        let (cookie, hash) = Opaque::generate(OpaqueKind::BrowserSession, login.as_uuid());
        let family = Family::begin(hash.as_bytes().to_vec(), now, expires_at);
        logins::insert(tx, login, principal, LoginKind::Browser, &family).await?;
        audit::record(tx, &created(principal, login, LoginKind::Browser, method)).await?;
        Ok(BrowserSession { principal, cookie, expires_at })
    }

    /// Finds the caller behind a session's cookie, as [`Auth::caller`] does behind a token.
    pub async fn browser_caller(
        &self,
        cookie: &SecretString,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        let presented = Opaque::parse(cookie.expose_secret()).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueKind::BrowserSession {
            return Err(ServiceError::Unauthenticated);
        }
        let login = LoginId::from_uuid(presented.id);
        let found = logins::find_browser(&self.store, login).await?;
        let session = found
            .filter(|session| is_same(&session.hash, &presented.hash))
            .ok_or(ServiceError::Unauthenticated)?;
        let authority = principals::authority(&self.store, session.principal, Some(login), tenant)
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        Ok(Caller {
            key: None,
            subject_of: None,
            principal: session.principal,
            kind: TokenKind::User,
            login: Some(login),
            tenant: authority.role.map(|(tenant, role)| Acting { tenant, role }),
            expires_at: session.expires_at,
            is_operator: authority.is_operator,
        })
    }
}

/// Returns the token that a page must send along to change something. A page of another site can make a browser send
/// the cookie, but cannot read this.
#[must_use]
pub fn csrf_token(cookie: &SecretString) -> SecretString {
    derived::derive(cookie, Purpose::Csrf)
}

/// Returns whether this is the CSRF token of the session behind a cookie.
#[must_use]
pub fn is_csrf_token(presented: &str, cookie: &SecretString) -> bool {
    derived::is_derived(presented, cookie, Purpose::Csrf)
}
