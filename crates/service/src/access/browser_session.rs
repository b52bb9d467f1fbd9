//! Browser sessions: a login in an HttpOnly cookie.

use guildhall_domain::access::caller::{Caller, TenantRole};
use guildhall_domain::access::principal::{LoginKind, TokenKind};
use guildhall_domain::access::refresh::TokenFamily;
use guildhall_domain::ids::{LoginId, PrincipalId, TenantId};
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::{Tx, logins, principals};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};

use crate::ServiceError;
use crate::access::audit;
use crate::access::auth::{Auth, PasswordAttempt, SignInMethod, login_created_event};
use crate::access::secrets::matches;
use crate::access::timestamps::saturating_add;

/// The lifetime of a browser session. Shorter than a login with tokens, because the cookie is not rotated.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A created session. Only the browser keeps the cookie.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    pub principal: PrincipalId,
    pub cookie: SecretString,
    pub expires_at: Timestamp,
}

impl Auth {
    /// Signs a browser in with a password.
    pub async fn sign_in_browser(&self, attempt: &PasswordAttempt) -> Result<BrowserSession, ServiceError> {
        let (mut tx, principal) = self.check_password(attempt).await?;
        let session = self.create_browser_session(&mut tx, principal, SignInMethod::Password).await?;
        tx.commit().await?;
        Ok(session)
    }

    /// Creates a browser session for an authenticated person. It is valid once the transaction is committed.
    pub(crate) async fn create_browser_session(
        &self,
        tx: &mut Tx,
        principal: PrincipalId,
        method: SignInMethod,
    ) -> Result<BrowserSession, ServiceError> {
        let (login, now) = (LoginId::generate(), self.clock.now());
        let expires_at = saturating_add(now, LIFETIME);
        let (cookie, hash) = OpaqueSecret::generate(OpaqueSecretKind::BrowserSession, login.as_uuid());
        let family = TokenFamily::new(hash.as_bytes().to_vec(), now, expires_at);
        if !logins::insert(tx, login, principal, LoginKind::Browser, &family).await? {
            return Err(method.disabled_error());
        }
        audit::record(tx, &login_created_event(principal, login, LoginKind::Browser, method)).await?;
        Ok(BrowserSession { principal, cookie, expires_at })
    }

    /// Authenticates the cookie of a browser session, as [`Auth::authenticate_bearer`] does a token.
    pub async fn authenticate_browser(
        &self,
        cookie: &SecretString,
        tenant: Option<TenantId>,
    ) -> Result<Caller, ServiceError> {
        let presented =
            OpaqueSecret::parse(cookie.expose_secret()).map_err(|_| ServiceError::Unauthenticated)?;
        if presented.kind != OpaqueSecretKind::BrowserSession {
            return Err(ServiceError::Unauthenticated);
        }
        let login = LoginId::from_uuid(presented.id);
        let found = logins::find_browser_session(&self.store, login).await?;
        let session = found
            .filter(|session| matches(&session.hash, &presented.hash))
            .ok_or(ServiceError::Unauthenticated)?;
        let authority = principals::find_authority(&self.store, session.principal, Some(login), tenant)
            .await?
            .ok_or(ServiceError::Unauthenticated)?;
        Ok(Caller {
            key: None,
            subject: None,
            principal: session.principal,
            kind: TokenKind::User,
            login: Some(login),
            tenant: authority.role.map(|(tenant, role)| TenantRole { tenant, role }),
            expires_at: session.expires_at,
            is_operator: authority.is_operator,
        })
    }
}

/// Returns the CSRF token that a page must send with every change. Another site can make a browser send the cookie,
/// but cannot read this token.
#[must_use]
pub fn csrf_token(cookie: &SecretString) -> SecretString {
    derived::derive(cookie, Purpose::Csrf)
}

/// Returns whether this is the CSRF token of a session's cookie.
#[must_use]
pub fn is_csrf_token(presented: &str, cookie: &SecretString) -> bool {
    derived::is_derived(presented, cookie, Purpose::Csrf)
}
