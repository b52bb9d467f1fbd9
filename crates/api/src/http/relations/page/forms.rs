//! What every consent page has: the form that takes everything back, and the link to the other language.

use guildhall_domain::relations::ConsentPage;
use secrecy::ExposeSecret;

use super::PageView;
use crate::edge::html::{Html, Language};

/// Opens a form that leads back to the page.
pub(super) fn open_form(html: &mut Html, view: &PageView<'_>) {
    html.markup("<form method=\"post\" action=\"").value(&ConsentPage(view.agent).to_string());
    html.markup("?lang=").value(view.language.tag()).markup("\">\n");
    html.markup("<input type=\"hidden\" name=\"csrf\" value=\"");
    html.value(view.csrf_token.expose_secret()).markup("\">\n");
}

pub(super) fn add_revoke_form(html: &mut Html, view: &PageView<'_>) {
    open_form(html, view);
    let text = view.language.pick(
        "Take everything back. The agent can use nothing any more, on all your devices.",
        "撤回全部权限。该智能体在您的所有设备上都无法再使用任何权限。",
    );
    html.element(["<p>", "</p>\n"], text);
    html.markup("<button class=\"deny\" name=\"action\" value=\"revoke\">");
    html.text(view.language.pick("Take everything back", "全部撤回")).markup("</button>\n</form>\n");
}

pub(super) fn add_language_link(html: &mut Html, view: &PageView<'_>) {
    let (other, name) = match view.language {
        Language::English => (Language::Chinese, "中文"),
        Language::Chinese => (Language::English, "English"),
    };
    html.markup("<p><a class=\"account\" href=\"").value(&ConsentPage(view.agent).to_string());
    html.markup("?lang=").value(other.tag()).markup("\">").text(name).markup("</a></p>\n");
}
