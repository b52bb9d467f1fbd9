//! Extractors that authenticate a request. A handler names in its signature who may reach it:
//!
//! - [`Authorized`]: a caller with this right in the tenant that the path names.
//! - [`Follower`]: the same, for a stream.
//! - [`WaitingCaller`]: the same, for a request that waits before it does something.
//! - [`PendingAuthorization`]: the same, where the query or the body names the tenant.
//! - [`ThreadOwner`]: the same, or an external subject, in their own conversations.
//! - [`InstallationOperator`]: an operator of the installation. [`TenantInPath`] is the tenant that they name.
//! - [`OperatorFollower`]: the same, for a stream.
//! - [`AuthenticatedCaller`]: anyone with a valid token or browser session, for what is their own.
//! - [`OptionalCaller`]: anyone; a caller may see more.
//! - `SessionCaller` and `FormCaller` of `browser_caller`: a person with a browser session, on a page.
//! - [`EnrolledRunner`], [`EnrolmentBearer`], [`RunHolder`], [`CachedRunHolder`], [`SignedRunHolder`]: a runner with a token of that
//!   kind. A valid token of another kind counts as none.
//!
//! Callers are within their rate limit.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use axum::http::request::Parts;
use axum::http::{Method, header};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::ids::TenantId;
use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::runners::enrolment::Enrolment;
use guildhall_service::ServiceError;
pub(crate) use guildhall_service::access::auth::Credential;
use guildhall_service::access::browser_session;
use guildhall_service::runners::tokens::{SignedRunToken, VerifiedRunToken};
use secrecy::{ExposeSecret, SecretString};

use crate::App;
use crate::edge::access_rules::host_of;
use crate::edge::credential::credential;
use crate::edge::csrf::CsrfTokenPlace;
use crate::edge::denials::DeniedRequest;
use crate::edge::error::ApiError;
use crate::edge::{cookies, rates};

/// The header with the CSRF token of a browser session.
pub(crate) const CSRF_HEADER: &str = "x-guildhall-csrf";

/// The caller, with their role in the tenant that the path names.
#[derive(Debug, Clone)]
pub(crate) struct AuthenticatedCaller {
    pub(crate) caller: Caller,
    /// The tenant of the object in the path.
    tenant_in_path: Option<TenantId>,
    pub(crate) credential: Credential,
}

/// A caller who opens a stream. Their authority is checked again while it is open.
#[derive(Debug)]
pub(crate) struct Follower<R> {
    pub(crate) caller: Authorized<R>,
}

/// A caller whose request waits. Their right is checked again after it.
#[derive(Debug)]
pub(crate) struct WaitingCaller<R> {
    pub(crate) caller: Authorized<R>,
    credential: Credential,
}

/// An operator who opens a stream. Their authority is checked again while it is open.
#[derive(Debug)]
pub(crate) struct OperatorFollower {
    pub(crate) operator: InstallationOperator,
}

/// The tenant in the path, by id or slug, for operators of the installation. It proves no right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantInPath(pub(crate) TenantId);

/// A caller whose right `R` is checked in the tenant that the query or the body names. Nothing is proved yet.
#[derive(Debug)]
#[must_use]
pub(crate) struct PendingAuthorization<R> {
    caller: AuthenticatedCaller,
    /// The caller with their role in the tenant that the query names, until it is used: a later check reads it again.
    in_query: Mutex<Option<(TenantId, Caller)>>,
    right: PhantomData<fn() -> R>,
}

/// The caller of a request that needs none. An invalid credential counts as none.
#[derive(Debug)]
pub(crate) struct OptionalCaller(Option<AuthenticatedCaller>);

/// A runner with an enrolment token: it may register and claim.
#[derive(Debug, Clone)]
pub(crate) struct EnrolledRunner(pub(crate) Enrolment);

/// The bearer token of a runner that asks for a run. The service authenticates it together with the runner.
#[derive(Debug, Clone)]
pub(crate) struct EnrolmentBearer(pub(crate) SecretString);

/// A runner with a run token: it may serve that run while the epoch is current.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunHolder(pub(crate) VerifiedRunToken);

/// The same for frequent requests: the token may have been verified up to 400 ms ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachedRunHolder(pub(crate) VerifiedRunToken);

/// A runner whose run token has a valid signature. The service checks whether its enrolment was revoked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedRunHolder(pub(crate) SignedRunToken);

/// Refuses a request without a credential before anything is read for it.
fn require_credential(parts: &Parts) -> Result<(), ServiceError> {
    credential(&parts.headers).map(drop).ok_or(ServiceError::Unauthenticated)
}

impl FromRequestParts<App> for AuthenticatedCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        require_credential(parts)?;
        let tenant_in_path = tenant_in_path(parts, app).await?;
        let found = Self::in_tenant(parts, app, tenant_in_path).await?;
        Ok(Self { tenant_in_path, ..found })
    }
}

impl AuthenticatedCaller {
    /// Authenticates the caller of a request, with their role in a tenant.
    async fn in_tenant(parts: &mut Parts, app: &App, tenant: Option<TenantId>) -> Result<Self, ApiError> {
        let credential = credential(&parts.headers).ok_or(ServiceError::Unauthenticated)?;
        let caller = app.access.auth.authenticate(&credential, tenant).await?;
        match &credential {
            Credential::Bearer(_) => deny_mismatched_credentials(parts, app, &caller).await?,
            Credential::Cookie(cookie) => deny_cross_site(parts, app, &caller, cookie).await?,
        }
        rates::count(parts, app, rates::tier_of(parts), RateKey::Principal(caller.principal)).await?;
        Ok(Self { caller, tenant_in_path: None, credential })
    }

    /// Authenticates the browser session of a page. A bearer token is not looked at. The CSRF token of a form is in its
    /// body, which the caller of this function checks.
    pub(crate) async fn from_session(parts: &mut Parts, app: &App) -> Result<(Self, SecretString), ApiError> {
        let cookie = cookies::find(&parts.headers, cookies::SESSION).ok_or(ServiceError::Unauthenticated)?;
        let tenant_in_path = tenant_in_path(parts, app).await?;
        let credential = Credential::Cookie(cookie.clone());
        let caller = app.access.auth.authenticate(&credential, tenant_in_path).await?;
        deny_other_origin(parts, app, &caller).await?;
        rates::count(parts, app, rates::tier_of(parts), RateKey::Principal(caller.principal)).await?;
        Ok((Self { caller, tenant_in_path, credential }, cookie))
    }

    /// Checks a right in the tenant of the object in the path.
    pub(super) fn authorize<R: Right>(self) -> Result<Authorized<R>, ServiceError> {
        let tenant = self.tenant_in_path.ok_or(ServiceError::NOT_FOUND)?;
        Ok(Authorized::new(self.caller, tenant)?)
    }
}

impl<R: Right> FromRequestParts<App> for Authorized<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(AuthenticatedCaller::from_request_parts(parts, app).await?.authorize()?)
    }
}

impl<R: Right> FromRequestParts<App> for ThreadOwner<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = AuthenticatedCaller::from_request_parts(parts, app).await?;
        let tenant = found.tenant_in_path.ok_or(ServiceError::NOT_FOUND)?;
        Ok(Self::new(found.caller, tenant).map_err(ServiceError::from)?)
    }
}

impl FromRequestParts<App> for InstallationOperator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = AuthenticatedCaller::from_request_parts(parts, app).await?;
        Ok(Self::new(found.caller).map_err(ServiceError::from)?)
    }
}

impl FromRequestParts<App> for TenantInPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(tenant_in_path(parts, app).await?.ok_or(ServiceError::NOT_FOUND)?))
    }
}

impl<R: Right> FromRequestParts<App> for PendingAuthorization<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        require_credential(parts)?;
        // The body of a write may arrive late: its right is read after it.
        let tenant_in_query = if parts.method.is_safe() { tenant_in_query(parts, app).await? } else { None };
        let caller = match tenant_in_query {
            Some(tenant) => AuthenticatedCaller::in_tenant(parts, app, Some(tenant)).await?,
            None => AuthenticatedCaller::from_request_parts(parts, app).await?,
        };
        let in_query = Mutex::new(tenant_in_query.map(|tenant| (tenant, caller.caller.clone())));
        Ok(Self { caller, in_query, right: PhantomData })
    }
}

impl<R: Right> PendingAuthorization<R> {
    /// Checks the right in the tenant that the request names by id or slug. An unknown tenant is not found, like one
    /// without access. A repeated call, after a wait, reads the right again.
    pub(crate) async fn in_tenant(&self, app: &App, tenant: &str) -> Result<Authorized<R>, ServiceError> {
        let tenant = app.access.tenants.resolve(tenant).await?.ok_or(ServiceError::NOT_FOUND)?;
        let first = self.in_query.lock().unwrap_or_else(PoisonError::into_inner).take();
        let caller = match first.filter(|(of, _)| *of == tenant) {
            Some((_, caller)) => caller,
            None => app.access.auth.authenticate(&self.caller.credential, Some(tenant)).await?,
        };
        Ok(Authorized::new(caller, tenant)?)
    }

    /// Checks the right in the tenant that the caller's service key belongs to. Other callers belong to none.
    pub(crate) fn in_tenant_of_key(&self) -> Result<Authorized<R>, ApiError> {
        let Some(role) = self.caller.caller.tenant else {
            let message = "tenantId: required; only a service key may omit it";
            return Err(ApiError::new(FailureKind::TenantPolicyDenied, message));
        };
        Ok(Authorized::new(self.caller.caller.clone(), role.tenant).map_err(ServiceError::from)?)
    }

    /// Checks the right in the tenant that the request names, or in that of the caller's service key.
    pub(crate) async fn in_named_tenant(
        self,
        app: &App,
        tenant: Option<&str>,
    ) -> Result<Authorized<R>, ApiError> {
        match tenant {
            Some(tenant) => Ok(self.in_tenant(app, tenant).await?),
            None => self.in_tenant_of_key(),
        }
    }

    /// Returns whether the caller is an external subject, whom nothing is for but their own threads.
    pub(crate) fn is_subject(&self) -> bool {
        self.caller.caller.subject.is_some()
    }

    /// Checks that the caller may use their own threads in the tenant that the request names, or in that of their service
    /// key or token.
    pub(crate) async fn thread_owner(
        &self,
        app: &App,
        tenant: Option<&str>,
    ) -> Result<ThreadOwner<R>, ApiError> {
        let (caller, own) = match (self.caller.caller.subject, tenant) {
            (Some(scope), named) => {
                if let Some(named) = named
                    && app.access.tenants.resolve(named).await? != Some(scope.tenant)
                {
                    return Err(ServiceError::NOT_FOUND.into());
                }
                (app.access.auth.authenticate(&self.caller.credential, None).await?, scope.tenant)
            }
            (None, Some(named)) => {
                let member = self.in_tenant(app, named).await?;
                let tenant = member.tenant();
                (member.into_caller(), tenant)
            }
            (None, None) => {
                let key = self.in_tenant_of_key()?;
                let tenant = key.tenant();
                (key.into_caller(), tenant)
            }
        };
        Ok(ThreadOwner::new(caller, own).map_err(ServiceError::from)?)
    }

    /// Returns the caller without a right, for a request that names no tenant.
    pub(crate) fn into_caller(self) -> Caller {
        self.caller.caller
    }

    /// Checks that the caller is an operator, for objects that belong to no tenant.
    pub(crate) fn into_operator(self) -> Result<InstallationOperator, ServiceError> {
        Ok(InstallationOperator::new(self.caller.caller)?)
    }
}

impl<R: Right> FromRequestParts<App> for Follower<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = AuthenticatedCaller::from_request_parts(parts, app).await?;
        Ok(Self { caller: found.authorize()? })
    }
}

impl<R: Right> FromRequestParts<App> for WaitingCaller<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = AuthenticatedCaller::from_request_parts(parts, app).await?;
        let credential = found.credential.clone();
        Ok(Self { caller: found.authorize()?, credential })
    }
}

impl<R: Right> WaitingCaller<R> {
    /// Checks the right as it is now.
    pub(crate) async fn authorize_again(&self, app: &App) -> Result<Authorized<R>, ServiceError> {
        let tenant = self.caller.tenant();
        let caller = app.access.auth.authenticate(&self.credential, Some(tenant)).await?;
        Ok(Authorized::new(caller, tenant)?)
    }
}

impl FromRequestParts<App> for OperatorFollower {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let found = AuthenticatedCaller::from_request_parts(parts, app).await?;
        let operator = InstallationOperator::new(found.caller).map_err(ServiceError::from)?;
        Ok(Self { operator })
    }
}

impl FromRequestParts<App> for OptionalCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match AuthenticatedCaller::from_request_parts(parts, app).await {
            Ok(caller) => Ok(Self(Some(caller))),
            Err(error) if error.failure.kind == FailureKind::Unauthenticated => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }
}

impl OptionalCaller {
    /// Returns the tenant that the caller acts in: the one that the request names, or that of a service key. A named
    /// tenant requires a caller, and is not found without access.
    pub(crate) async fn tenant(
        self,
        app: &App,
        named: Option<&str>,
    ) -> Result<Option<TenantId>, ServiceError> {
        let Some(named) = named else {
            return Ok(self.0.and_then(|caller| caller.caller.tenant).map(|role| role.tenant));
        };
        let caller = self.0.ok_or(ServiceError::Unauthenticated)?;
        let tenant = app.access.tenants.resolve(named).await?.ok_or(ServiceError::NOT_FOUND)?;
        let in_tenant = app.access.auth.authenticate(&caller.credential, Some(tenant)).await?;
        in_tenant.tenant.map(|role| Some(role.tenant)).ok_or(ServiceError::NOT_FOUND)
    }
}

impl FromRequestParts<App> for EnrolledRunner {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.runners.tokens.enrolment(bearer(parts)?.expose_secret()).await?))
    }
}

impl FromRequestParts<App> for EnrolmentBearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Ok(Self(bearer(parts)?))
    }
}

impl FromRequestParts<App> for RunHolder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.runners.tokens.verify(bearer(parts)?.expose_secret()).await?))
    }
}

impl FromRequestParts<App> for SignedRunHolder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.runners.tokens.verify_signature(bearer(parts)?.expose_secret()).await?))
    }
}

impl FromRequestParts<App> for CachedRunHolder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(app.runners.tokens.verify_cached(bearer(parts)?.expose_secret()).await?))
    }
}

/// Returns the bearer token of a runner. Runners have no browser sessions.
fn bearer(parts: &Parts) -> Result<SecretString, ServiceError> {
    match credential(&parts.headers) {
        Some(Credential::Bearer(token)) => Ok(token),
        Some(Credential::Cookie(_)) | None => Err(ServiceError::Unauthenticated),
    }
}

/// Denies a token of one principal together with the browser session of another.
async fn deny_mismatched_credentials(parts: &Parts, app: &App, caller: &Caller) -> Result<(), ApiError> {
    let Some(cookie) = cookies::find(&parts.headers, cookies::SESSION) else { return Ok(()) };
    match app.access.auth.authenticate_browser(&cookie, None).await {
        Ok(other) if other.principal != caller.principal => {}
        Ok(_) | Err(ServiceError::Unauthenticated) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    record_denial(parts, app, caller, "request.two_callers_refused", "a token and a session").await;
    let message = "the token and the browser session are of two different principals: send one of them";
    Err(ApiError::new(FailureKind::SchemaInvalid, message))
}

/// Denies cookies on cross-origin requests, even from an allowed origin, and cookies without a CSRF token on requests
/// that change something.
async fn deny_cross_site(
    parts: &Parts,
    app: &App,
    caller: &Caller,
    cookie: &SecretString,
) -> Result<(), ApiError> {
    deny_other_origin(parts, app, caller).await?;
    if is_read(&parts.method) {
        return Ok(());
    }
    let token = parts.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    deny_wrong_csrf_token(parts, app, caller, cookie, (CsrfTokenPlace::Header, token)).await
}

fn is_read(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

async fn deny_other_origin(parts: &Parts, app: &App, caller: &Caller) -> Result<(), ApiError> {
    let host = host_of(&parts.uri, &parts.headers);
    let origin = parts.headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("[not text]"));
    // Browsers omit the origin of same-origin reads, and send it with every change.
    if !origin.map_or(is_read(&parts.method), |origin| app.access_rules.is_own_origin(origin, &host)) {
        record_denial(parts, app, caller, "request.csrf_refused", origin.unwrap_or("no origin")).await;
        let message = "a browser session requires the `Origin` of this server, which is missing or different";
        return Err(ApiError::new(FailureKind::CsrfRefused, message));
    }
    Ok(())
}

pub(crate) async fn deny_wrong_csrf_token(
    parts: &Parts,
    app: &App,
    caller: &Caller,
    cookie: &SecretString,
    (place, presented): (CsrfTokenPlace, Option<&str>),
) -> Result<(), ApiError> {
    if !presented.is_some_and(|token| browser_session::is_csrf_token(token, cookie)) {
        record_denial(parts, app, caller, "request.csrf_refused", "no token, or a wrong one").await;
        return Err(ApiError::new(FailureKind::CsrfRefused, place.advice()));
    }
    Ok(())
}

async fn record_denial(parts: &Parts, app: &App, caller: &Caller, action: &'static str, from: &str) {
    // The route template: it holds no text of the caller.
    let route = parts.extensions.get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let denied = DeniedRequest { action, actor: Some(caller.principal), from, path: route };
    app.denials.record(&app.access.audit, denied).await;
}

/// Returns the tenant of the object in the path. An unreadable or unknown one has no tenant and becomes a 404.
async fn tenant_in_path(parts: &mut Parts, app: &App) -> Result<Option<TenantId>, ApiError> {
    let Ok(params) = RawPathParams::from_request_parts(parts, app).await else { return Ok(None) };
    for (name, value) in &params {
        let tenant = match name {
            "tenant" => app.access.tenants.resolve(value).await,
            "run" => tenant_by_id(value, |id| app.runs.runs.tenant_of(id)).await,
            "command" => tenant_by_id(value, |id| app.runs.commands.tenant_of(id)).await,
            "agent" => tenant_by_id(value, |id| app.agents.agents.tenant_of(id)).await,
            "automation" => tenant_by_id(value, |id| app.agents.automations.tenant_of(id)).await,
            "approval" => tenant_by_id(value, |id| app.approvals.approvals.tenant_of(id)).await,
            "rule" => tenant_by_id(value, |id| app.approvals.rules.tenant_of(id)).await,
            "webhook" => tenant_by_id(value, |id| app.webhooks.webhooks.tenant_of(id)).await,
            "session" => tenant_by_id(value, |id| app.sessions.sessions.tenant_of(id)).await,
            _ => continue,
        };
        return Ok(tenant?);
    }
    Ok(None)
}

/// Returns the tenant that the query names as `tenantId`, by id or slug.
async fn tenant_in_query(parts: &Parts, app: &App) -> Result<Option<TenantId>, ApiError> {
    let query = parts.uri.query().unwrap_or_default();
    let mut named = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "tenantId");
    match (named.next(), named.next()) {
        (Some((_, tenant)), None) => Ok(app.access.tenants.resolve(&tenant).await?),
        // Repeated: the handler refuses it.
        (Some(_), Some(_)) | (None, _) => Ok(None),
    }
}

async fn tenant_by_id<I: std::str::FromStr, F>(
    text: &str,
    find: impl FnOnce(I) -> F,
) -> Result<Option<TenantId>, ServiceError>
where
    F: Future<Output = Result<Option<TenantId>, ServiceError>>,
{
    match text.parse() {
        Ok(id) => find(id).await,
        Err(_) => Ok(None),
    }
}
