//! The page on which a user confirms a sign-in for the CLI. It needs no script.

use axum::extract::{RawForm, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_service::access::oidc::{CONFIRMATION_PATH, ConfirmationChoice, ConfirmationPrompt};
use secrecy::ExposeSecret;
use url::form_urlencoded;

use super::oidc::{configured_oidc, record_denied_sign_in, redirect};
use crate::App;
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::html::{Html, HtmlPage, Language, check_form_origin};
use crate::edge::rates::AnonymousCaller;

/// The texts of the page in one language.
struct PageText {
    title: &'static str,
    /// Around the name of the user.
    request: [&'static str; 2],
    code: &'static str,
    /// Around the command.
    warning: [&'static str; 2],
    confirm: &'static str,
    decline: &'static str,
    declined: &'static str,
}

const ENGLISH: PageText = PageText {
    title: "Sign in the command line program?",
    request: ["A command line program on this computer asks to be signed in as ", "."],
    code: "It shows this code in the terminal:",
    warning: [
        "Confirm only if you started ",
        " yourself and your terminal shows the same code. Otherwise somebody else gets access to your account.",
    ],
    confirm: "Sign in the program",
    decline: "Cancel",
    declined: "Cancelled. No program was signed in. You can close this page.",
};

const CHINESE: PageText = PageText {
    title: "登录命令行程序？",
    request: ["本机上的一个命令行程序请求以 ", " 的身份登录。"],
    code: "它在终端中显示以下代码：",
    warning: [
        "仅当您自己启动了 ",
        "，并且您的终端显示相同的代码时，才能确认。否则他人将获得您账户的访问权限。",
    ],
    confirm: "登录该程序",
    decline: "取消",
    declined: "已取消。没有程序登录。您可以关闭此页面。",
};

/// Shows the code and the choice.
pub(crate) async fn show(
    State(app): State<App>,
    _: AnonymousCaller,
    language: Language,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cookie = cookies::find(&headers, cookies::CONFIRMATION);
    match configured_oidc(&app)?.confirmation_prompt(cookie).await {
        Ok(prompt) => Ok(page(prompt_body(&prompt, text_in(language)), language, Some(prompt.port))),
        Err(error) => Err(record_denied_sign_in(&app, error, CONFIRMATION_PATH).await),
    }
}

/// Completes the sign-in as the user chose.
pub(crate) async fn submit(
    State(app): State<App>,
    _: AnonymousCaller,
    language: Language,
    uri: Uri,
    headers: HeaderMap,
    RawForm(form): RawForm,
) -> Result<Response, ApiError> {
    check_form_origin(&app, &uri, &headers)?;
    let (csrf_token, choice) = parse_form(&form)?;
    let cookie = cookies::find(&headers, cookies::CONFIRMATION);
    let completed = configured_oidc(&app)?.complete_confirmation(cookie, &csrf_token, choice).await;
    let cleared = cookies::clear(cookies::CONFIRMATION);
    match completed {
        Ok(Some(address)) => Ok(redirect(address.as_str(), cleared).into_response()),
        Ok(None) => {
            let mut body = Html::default();
            body.element(["<p>", "</p>"], text_in(language).declined);
            let mut response = page(body, language, None);
            response.headers_mut().extend(cleared.map(|cookie| (header::SET_COOKIE, cookie)));
            Ok(response)
        }
        Err(error) => Err(record_denied_sign_in(&app, error, CONFIRMATION_PATH).await),
    }
}

fn parse_form(form: &[u8]) -> Result<(String, ConfirmationChoice), ApiError> {
    let value =
        |name: &str| form_urlencoded::parse(form).find(|(found, _)| found == name).map(|(_, value)| value);
    let choice = match value("choice").as_deref() {
        Some("confirm") => ConfirmationChoice::Confirm,
        Some("decline") => ConfirmationChoice::Decline,
        Some(_) | None => {
            return Err(ApiError::new(FailureKind::SchemaInvalid, "choice: use confirm or decline"));
        }
    };
    Ok((value("csrf").unwrap_or_default().into_owned(), choice))
}

fn text_in(language: Language) -> &'static PageText {
    match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
    }
}

fn prompt_body(prompt: &ConfirmationPrompt, text: &PageText) -> Html {
    let ([before_name, after_name], [before_command, after_command]) = (text.request, text.warning);
    let mut html = Html::default();
    html.element(["<h1>", "</h1>\n"], text.title);
    html.markup("<p>").text(before_name).element(["<strong>", "</strong>"], &prompt.user_name);
    html.text(after_name).markup("</p>\n").element(["<p>", "</p>\n"], text.code);
    html.element(["<p><strong id=\"code\">", "</strong></p>\n"], &prompt.code);
    html.markup("<p>").text(before_command).markup("<code>guildhall login</code>").text(after_command);
    html.markup("</p>\n<form method=\"post\" action=\"").markup(CONFIRMATION_PATH);
    html.markup("\">\n<input type=\"hidden\" name=\"csrf\" value=\"");
    html.value(prompt.csrf_token.expose_secret()).markup("\">\n");
    html.element(["<button name=\"choice\" value=\"decline\">", "</button>\n"], text.decline);
    html.element(["<button name=\"choice\" value=\"confirm\">", "</button>\n"], text.confirm);
    html.markup("</form>");
    html
}

/// Returns a page whose form leads back here, and from here only to the CLI.
fn page(body: Html, language: Language, cli_port: Option<u16>) -> Response {
    let title = text_in(language).title;
    HtmlPage { language, title, body, style: None, cli_port }.into_response(StatusCode::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_needs_a_choice() {
        let (token, choice) = parse_form(b"csrf=a%2Bb&choice=confirm").expect("valid");
        assert_eq!((token.as_str(), choice), ("a+b", ConfirmationChoice::Confirm));
        for invalid in [&b""[..], b"csrf=a", b"csrf=a&choice=", b"csrf=a&choice=yes"] {
            assert!(parse_form(invalid).is_err());
        }
    }
}
