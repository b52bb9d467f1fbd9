//! Extractors for pages: they need a browser session, and the CSRF token of a form is in its body.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, FromRequestParts, RawForm, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_service::ServiceError;
use guildhall_service::access::browser_session;
use secrecy::SecretString;
use url::form_urlencoded;

use crate::App;
use crate::edge::caller::{AuthenticatedCaller, deny_wrong_csrf_token};
use crate::edge::csrf::CsrfTokenPlace;
use crate::edge::error::ApiError;
use crate::edge::rates::AnonymousCaller;

/// Fields of a form that are read; more make it invalid. A question has 32 fields and 256 choices at most.
const MAX_FIELDS: usize = 320;

/// A person with a browser session who reads a page about an object of their tenant.
#[derive(Debug)]
pub(crate) struct SessionCaller<R> {
    pub(crate) caller: Authorized<R>,
    /// For the forms of the page.
    pub(crate) csrf_token: SecretString,
}

/// A person who sent a form of this server's own page: its origin and its CSRF token are checked.
#[derive(Debug)]
pub(crate) struct FormCaller<R> {
    pub(crate) caller: Authorized<R>,
    pub(crate) csrf_token: SecretString,
    pub(crate) form: FormFields,
    authenticated: AuthenticatedCaller,
}

impl<R> FormCaller<R> {
    /// Checks another right of the same person.
    pub(crate) fn authorize<Other: Right>(&self) -> Result<Authorized<Other>, ServiceError> {
        self.authenticated.clone().authorize()
    }
}

/// A person with a browser session who reads a page about something of their own.
#[derive(Debug)]
pub(crate) struct SessionPerson {
    pub(crate) caller: Caller,
    /// For the forms of the page.
    pub(crate) csrf_token: SecretString,
}

/// A person who sent a form of such a page: its origin and its CSRF token are checked.
#[derive(Debug)]
pub(crate) struct FormPerson {
    pub(crate) caller: Caller,
    pub(crate) csrf_token: SecretString,
    pub(crate) form: FormFields,
}

/// Why there is no caller of a page.
#[derive(Debug)]
pub(crate) enum PageRejection {
    /// There is no valid session: the page shows a sign-in form. The request is counted by address.
    SignInNeeded,
    Failed(ApiError),
}

impl IntoResponse for PageRejection {
    fn into_response(self) -> axum::response::Response {
        match self {
            Self::SignInNeeded => ApiError::from(ServiceError::Unauthenticated).into_response(),
            Self::Failed(error) => error.into_response(),
        }
    }
}

impl From<ApiError> for PageRejection {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl From<ServiceError> for PageRejection {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error.into())
    }
}

/// The fields of a form. A field that occurs twice is absent.
#[derive(Debug, Default)]
pub(crate) struct FormFields(BTreeMap<String, Option<String>>);

impl FormFields {
    pub(crate) fn parse(form: &[u8]) -> Result<Self, ApiError> {
        let mut fields = BTreeMap::new();
        for (number, (name, value)) in form_urlencoded::parse(form).enumerate() {
            if number >= MAX_FIELDS {
                return Err(ApiError::new(FailureKind::SchemaInvalid, "the form has too many fields"));
            }
            fields
                .entry(name.into_owned())
                .and_modify(|value| *value = None)
                .or_insert_with(|| Some(value.into_owned()));
        }
        Ok(Self(fields))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }

    /// Returns what follows a prefix in the names of fields.
    pub(crate) fn names_after(&self, prefix: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(|(_, value)| value.is_some())
            .filter_map(move |(name, _)| name.strip_prefix(prefix))
    }

    /// Takes a field out, for a secret that must not be copied.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).flatten()
    }
}

impl FromRequest<App> for FormFields {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let form = RawForm::from_request(request, app).await;
        let RawForm(form) = form.map_err(|rejection| match rejection.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
                FailureKind::PayloadTooLarge,
                "the request body is larger than this server accepts",
            ),
            _ => ApiError::new(FailureKind::SchemaInvalid, "the body is not a form"),
        })?;
        Self::parse(&form)
    }
}

impl<R: Right> FromRequestParts<App> for SessionCaller<R> {
    type Rejection = PageRejection;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PageRejection> {
        let (found, cookie) = authenticate(parts, app).await?;
        Ok(Self { caller: found.authorize()?, csrf_token: browser_session::csrf_token(&cookie) })
    }
}

impl FromRequestParts<App> for SessionPerson {
    type Rejection = PageRejection;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PageRejection> {
        let (found, cookie) = authenticate(parts, app).await?;
        Ok(Self { caller: found.caller, csrf_token: browser_session::csrf_token(&cookie) })
    }
}

impl FromRequest<App> for FormPerson {
    type Rejection = PageRejection;

    async fn from_request(request: Request, app: &App) -> Result<Self, PageRejection> {
        let (found, cookie, form) = checked_form(request, app).await?;
        Ok(Self { caller: found.caller, csrf_token: browser_session::csrf_token(&cookie), form })
    }
}

impl<R: Right> FromRequest<App> for FormCaller<R> {
    type Rejection = PageRejection;

    async fn from_request(request: Request, app: &App) -> Result<Self, PageRejection> {
        let (found, cookie, form) = checked_form(request, app).await?;
        let (caller, csrf_token) = (found.clone().authorize()?, browser_session::csrf_token(&cookie));
        Ok(Self { caller, csrf_token, form, authenticated: found })
    }
}

/// Reads a form of a browser session, and checks its CSRF token.
async fn checked_form(
    request: Request,
    app: &App,
) -> Result<(AuthenticatedCaller, SecretString, FormFields), PageRejection> {
    let (mut parts, body) = request.into_parts();
    let (found, cookie) = authenticate(&mut parts, app).await?;
    let form = FormFields::from_request(Request::from_parts(parts.clone(), body), app).await?;
    deny_wrong_csrf_token(&parts, app, &found.caller, &cookie, (CsrfTokenPlace::Form, form.get("csrf")))
        .await?;
    Ok((found, cookie, form))
}

/// Authenticates a browser session. Without one, the request is counted as an attempt to sign in.
async fn authenticate(
    parts: &mut Parts,
    app: &App,
) -> Result<(AuthenticatedCaller, SecretString), PageRejection> {
    match AuthenticatedCaller::from_session(parts, app).await {
        Ok(found) => Ok(found),
        Err(error) if error.failure.kind == FailureKind::Unauthenticated => {
            AnonymousCaller::from_request_parts(parts, app).await?;
            Err(PageRejection::SignInNeeded)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_field_is_absent_and_too_many_fields_are_invalid() {
        let mut form = FormFields::parse(b"a=1%2B&b=2&b=3&c=").expect("a form");
        assert_eq!(
            (form.get("a"), form.get("b"), form.get("c"), form.get("d")),
            (Some("1+"), None, Some(""), None)
        );
        assert_eq!((form.take("a").as_deref(), form.get("a")), (Some("1+"), None));
        assert!(FormFields::parse("a=1&".repeat(MAX_FIELDS).as_bytes()).is_ok());
        assert!(FormFields::parse("a=1&".repeat(MAX_FIELDS + 1).as_bytes()).is_err());
    }
}
