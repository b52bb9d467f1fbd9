//! Errors as pages, for people who follow a link.

use axum::response::Response;
use guildhall_domain::FailureKind;

use crate::edge::error::{ApiError, ErrorPage, status_of};
use crate::edge::html::{Html, HtmlPage, Language, STYLE};
use crate::edge::page_target::PageTarget;

/// Returns the page of an error. With a page, it has a link to sign in with another account.
pub(super) fn error_page(language: Language, error: ApiError, target: Option<PageTarget>) -> Response {
    let (title, explanation) = text(language, error.failure.kind);
    let mut body = Html::default();
    body.markup("<main>\n").element(["<h1>", "</h1>\n"], title);
    body.element(["<p role=\"alert\">", "</p>\n"], explanation);
    if let Some(target) = target {
        add_account_link(&mut body, language, target);
    }
    body.markup("</main>");
    with_error(HtmlPage { language, title, body, style: Some(STYLE), cli_port: None }, error)
}

/// Returns a page with the status of an error, which is logged.
pub(super) fn with_error(page: HtmlPage, error: ApiError) -> Response {
    let mut response = page.into_response(status_of(error.failure.kind));
    response.extensions_mut().insert(ErrorPage(error));
    response
}

/// Adds a link to sign in with another account, and to come back to a page.
pub(super) fn add_account_link(html: &mut Html, language: Language, target: PageTarget) {
    html.markup("<p><a class=\"account\" href=\"").value(&target.to_string());
    html.markup("/sign-in\">").text(language.pick("Sign in with another account", "使用其他账户登录"));
    html.markup("</a></p>\n");
}

/// Returns a title and what the person can do.
fn text(language: Language, kind: FailureKind) -> (&'static str, &'static str) {
    let (title, explanation) = if kind == FailureKind::NotFound {
        (
            ["Not found", "未找到"],
            [
                "There is nothing here, or your account has no access to it. Check the link and the account.",
                "此页面不存在，或者您的账户无权访问。请检查链接和账户。",
            ],
        )
    } else if [FailureKind::RateLimited, FailureKind::SignInLocked].contains(&kind) {
        (
            ["Too many attempts", "尝试次数过多"],
            ["Wait a moment, then open the link again.", "请稍候，然后重新打开链接。"],
        )
    } else if kind == FailureKind::Forbidden {
        (
            ["Not allowed", "没有权限"],
            [
                "Your role does not let you do this. Nothing was changed.",
                "您的角色不允许此操作。没有任何更改。",
            ],
        )
    } else if kind == FailureKind::CsrfRefused || kind == FailureKind::SchemaInvalid {
        (
            ["The form was refused", "表单被拒绝"],
            [
                "It did not come from a current page of this server. Nothing was changed. Open the link again.",
                "该表单并非来自本服务器的当前页面。没有任何更改。请重新打开链接。",
            ],
        )
    } else {
        (
            ["This does not work at the moment", "暂时无法使用"],
            ["Nothing was changed. Try again in a moment.", "没有任何更改。请稍后重试。"],
        )
    };
    (language.pick(title[0], title[1]), language.pick(explanation[0], explanation[1]))
}
