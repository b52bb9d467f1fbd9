//! The page on which a user confirms a sign-in for the CLI. It needs no script.

use axum::extract::{RawForm, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ORIGIN, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_service::access::oidc::{CONFIRMATION_PATH, ConfirmationChoice, ConfirmationPrompt};
use secrecy::ExposeSecret;
use url::form_urlencoded;

use super::oidc::{configured_oidc, record_denied_sign_in, redirect};
use crate::App;
use crate::edge::access_rules::host_of;
use crate::edge::cookies;
use crate::edge::error::ApiError;
use crate::edge::rates::AnonymousCaller;

/// The texts of the page in one language.
struct PageText {
    language: &'static str,
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
    language: "en",
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
    language: "zh-CN",
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
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cookie = cookies::find(&headers, cookies::CONFIRMATION);
    match configured_oidc(&app)?.confirmation_prompt(cookie).await {
        Ok(prompt) => {
            let text = text_for(&headers);
            Ok(page(&prompt_body(&prompt, text), text, Some(prompt.port)))
        }
        Err(error) => Err(record_denied_sign_in(&app, error, CONFIRMATION_PATH).await),
    }
}

/// Completes the sign-in as the user chose.
pub(crate) async fn submit(
    State(app): State<App>,
    _: AnonymousCaller,
    uri: Uri,
    headers: HeaderMap,
    RawForm(form): RawForm,
) -> Result<Response, ApiError> {
    check_origin(&app, &uri, &headers)?;
    let (csrf_token, choice) = parse_form(&form)?;
    let cookie = cookies::find(&headers, cookies::CONFIRMATION);
    let completed = configured_oidc(&app)?.complete_confirmation(cookie, &csrf_token, choice).await;
    let cleared = cookies::clear(cookies::CONFIRMATION);
    match completed {
        Ok(Some(address)) => Ok(redirect(address.as_str(), cleared).into_response()),
        Ok(None) => {
            let text = text_for(&headers);
            let mut response = page(&format!("<p>{}</p>", text.declined), text, None);
            response.headers_mut().extend(cleared.map(|cookie| (header::SET_COOKIE, cookie)));
            Ok(response)
        }
        Err(error) => Err(record_denied_sign_in(&app, error, CONFIRMATION_PATH).await),
    }
}

/// Denies a form of another site. Browsers send the origin with every form.
fn check_origin(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    if origin.is_some_and(|origin| app.access_rules.is_own_origin(origin, &host_of(uri, headers))) {
        return Ok(());
    }
    let message = "the form needs the `Origin` of this server, which is missing or different";
    Err(ApiError::new(FailureKind::CsrfRefused, message))
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

/// Returns the texts in the language that the browser prefers. English unless Chinese comes first.
fn text_for(headers: &HeaderMap) -> &'static PageText {
    let languages = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let known = |language: &str| {
        // `zh-CN;q=0.9`: the language is the first part.
        match language.trim().split(['-', ';']).next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "zh" => Some(&CHINESE),
            "en" => Some(&ENGLISH),
            _ => None,
        }
    };
    languages.unwrap_or_default().split(',').find_map(known).unwrap_or(&ENGLISH)
}

fn prompt_body(prompt: &ConfirmationPrompt, text: &PageText) -> String {
    let ConfirmationPrompt { user_name, code, csrf_token, .. } = prompt;
    let ([before_name, after_name], [before_command, after_command]) = (text.request, text.warning);
    let (name, csrf) = (escape(user_name), csrf_token.expose_secret());
    let PageText { title, code: code_label, confirm, decline, .. } = text;
    format!(
        "<h1>{title}</h1>\n<p>{before_name}<strong>{name}</strong>{after_name}</p>\n<p>{code_label}</p>\n\
         <p><strong id=\"code\">{code}</strong></p>\n<p>{before_command}<code>guildhall login</code>{after_command}</p>\n\
         <form method=\"post\" action=\"{CONFIRMATION_PATH}\">\n<input type=\"hidden\" name=\"csrf\" value=\"{csrf}\">\n\
         <button name=\"choice\" value=\"decline\">{decline}</button>\n\
         <button name=\"choice\" value=\"confirm\">{confirm}</button>\n</form>"
    )
}

/// Returns a page that no other page can frame, that runs no script, and whose form leads back here and from here only
/// to the CLI. The referrer policy must keep the origin: with `no-referrer`, browsers send the form with the origin
/// `null`.
fn page(body: &str, text: &PageText, cli_port: Option<u16>) -> Response {
    let PageText { language, title, .. } = text;
    let html = format!(
        "<!doctype html>\n<html lang=\"{language}\">\n<meta charset=\"utf-8\">\n<title>{title} - Guildhall</title>\n{body}\n</html>\n"
    );
    let target = cli_port.map(|port| format!(" http://127.0.0.1:{port}")).unwrap_or_default();
    let policy =
        format!("default-src 'none'; form-action 'self'{target}; frame-ancestors 'none'; base-uri 'none'");
    let mut headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ]);
    headers.extend(HeaderValue::try_from(policy).map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    (StatusCode::OK, headers, html).into_response()
}

fn escape(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(accepted: &'static str) -> &'static str {
        let headers = HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(accepted))]);
        text_for(&headers).language
    }

    #[test]
    fn page_is_in_the_preferred_language_that_exists() {
        for chinese in ["zh-CN,zh;q=0.9,en;q=0.8", "zh", "ZH-tw", "fr, zh;q=0.5, en;q=0.4"] {
            assert_eq!(language(chinese), "zh-CN", "{chinese}");
        }
        for english in ["", "en-GB,zh;q=0.9", "de", "zhx"] {
            assert_eq!(language(english), "en", "{english}");
        }
    }

    #[test]
    fn user_name_is_escaped() {
        let prompt = ConfirmationPrompt {
            user_name: "<b>Ada</b> & \"'".to_owned(),
            code: "ABCD-EFGH".to_owned(),
            port: 4321,
            csrf_token: "token".into(),
        };
        let body = prompt_body(&prompt, &ENGLISH);
        assert!(body.contains("<strong>&lt;b&gt;Ada&lt;/b&gt; &amp; &quot;&#39;</strong>"), "{body}");
    }

    #[test]
    fn form_needs_a_choice() {
        let (token, choice) = parse_form(b"csrf=a%2Bb&choice=confirm").expect("valid");
        assert_eq!((token.as_str(), choice), ("a+b", ConfirmationChoice::Confirm));
        for invalid in [&b""[..], b"csrf=a", b"csrf=a&choice=", b"csrf=a&choice=yes"] {
            assert!(parse_form(invalid).is_err());
        }
    }
}
