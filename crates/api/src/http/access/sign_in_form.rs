//! The sign-in form of pages. It leads back to the page of one question or agent: the path has its id, so no request can name
//! another target.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{AgentId, ApprovalId};
use guildhall_protocol::rest::access::auth::SignIn;
use guildhall_service::access::browser_session::BrowserSession;

use super::auth::password_attempt;
use super::browser_session::cookie_of;
use super::oidc::redirect;
use crate::App;
use crate::edge::browser_caller::FormFields;
use crate::edge::error::ApiError;
use crate::edge::html::{Html, HtmlPage, Language, STYLE, check_form_origin};
use crate::edge::input::PathIds;
use crate::edge::page_target::PageTarget;
use crate::edge::rates::AnonymousCaller;
use crate::http::error_page::{error_page, with_error};

pub(super) const SIGN_IN_PATH: &str = "/approve/{approval}/sign-in";

/// Shows the form of a question, also to somebody who is signed in with another account.
pub(crate) async fn show(
    State(app): State<App>,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    id: Result<PathIds<ApprovalId>, ApiError>,
) -> Response {
    show_for(&app, caller, language, id.map(|PathIds(id)| PageTarget::Question(id)))
}

/// The same for a consent page.
pub(crate) async fn show_for_consent(
    State(app): State<App>,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    id: Result<PathIds<AgentId>, ApiError>,
) -> Response {
    show_for(&app, caller, language, id.map(|PathIds(id)| PageTarget::Consent(id)))
}

fn show_for(
    app: &App,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    target: Result<PageTarget, ApiError>,
) -> Response {
    match caller.and(target) {
        Ok(target) => sign_in_page(app, language, target),
        Err(error) => error_page(language, error, None),
    }
}

/// Signs a browser in, and leads back to the page of the question.
pub(crate) async fn submit(
    State(app): State<App>,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    id: Result<PathIds<ApprovalId>, ApiError>,
    uri: Uri,
    headers: HeaderMap,
    form: Result<FormFields, ApiError>,
) -> Response {
    let form = check_form_origin(&app, &uri, &headers).and(form);
    submit_for(&app, caller, language, id.map(|PathIds(id)| PageTarget::Question(id)), form).await
}

/// The same for a consent page.
pub(crate) async fn submit_for_consent(
    State(app): State<App>,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    id: Result<PathIds<AgentId>, ApiError>,
    uri: Uri,
    headers: HeaderMap,
    form: Result<FormFields, ApiError>,
) -> Response {
    let form = check_form_origin(&app, &uri, &headers).and(form);
    submit_for(&app, caller, language, id.map(|PathIds(id)| PageTarget::Consent(id)), form).await
}

async fn submit_for(
    app: &App,
    caller: Result<AnonymousCaller, ApiError>,
    language: Language,
    target: Result<PageTarget, ApiError>,
    form: Result<FormFields, ApiError>,
) -> Response {
    let (caller, target) = match caller.and_then(|caller| Ok((caller, target?))) {
        Ok(found) => found,
        Err(error) => return error_page(language, error, None),
    };
    let signed_in = match form {
        Ok(form) => sign_in(app, caller, form).await,
        Err(error) => Err(error),
    };
    match signed_in {
        Ok(session) => redirect(&target.to_string(), cookie_of(&session)).into_response(),
        Err(error) if error.failure.kind == FailureKind::SignInFailed => {
            let message = language.pick("The name or the password is wrong.", "用户名或密码错误。");
            with_error(form_page(app, language, target, Some(message)), error)
        }
        Err(error) => error_page(language, error, None),
    }
}

async fn sign_in(
    app: &App,
    caller: AnonymousCaller,
    mut form: FormFields,
) -> Result<BrowserSession, ApiError> {
    let (Some(name), Some(password)) = (form.take("name"), form.take("password")) else {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "the form needs a name and a password"));
    };
    let attempt = password_attempt(app, caller, SignIn { name, password }).await?;
    Ok(app.access.auth.sign_in_browser(&attempt).await?)
}

/// Returns the page with the sign-in form for another page. It is the same whether that exists or not.
pub(crate) fn sign_in_page(app: &App, language: Language, target: PageTarget) -> Response {
    form_page(app, language, target, None).into_response(StatusCode::OK)
}

fn form_page(app: &App, language: Language, target: PageTarget, notice: Option<&'static str>) -> HtmlPage {
    let title = language.pick("Sign in to answer an agent", "登录以回应智能体");
    let mut body = Html::default();
    body.markup("<main>\n").element(["<h1>", "</h1>\n"], title);
    if let Some(notice) = notice {
        body.element(["<p class=\"notice\" role=\"alert\">", "</p>\n"], notice);
    }
    let (page, name) = (target.to_string(), language.pick("Name", "用户名"));
    let (password, button) = (language.pick("Password", "密码"), language.pick("Sign in", "登录"));
    body.markup("<form method=\"post\" action=\"").value(&page).markup("/sign-in\">\n");
    body.markup("<label>").text(name).markup("<input type=\"text\" name=\"name\" required ");
    body.markup("autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\"></label>\n");
    body.markup("<label>").text(password).markup("<input type=\"password\" name=\"password\" required ");
    body.markup("autocomplete=\"current-password\"></label>\n");
    body.element(["<button>", "</button>\n</form>\n"], button);
    if app.access.oidc.is_some() {
        let link = language.pick("Sign in with the identity provider", "通过身份提供商登录");
        body.markup("<p><a class=\"account\" href=\"/api/v1/auth/oidc/start?returnTo=").value(&page);
        body.markup("\">").text(link).markup("</a></p>\n");
    }
    body.markup("</main>");
    HtmlPage { language, title, body, style: Some(STYLE), cli_port: None }
}
