//! What an agent asks for. Words of the manifest are text of the agent's author: they are escaped and isolated.

use guildhall_domain::agents::manifest::{PermissionScope, Sensitivity};
use guildhall_service::relations::{ConsentOffer, EarlierConsent};

use super::{PageView, changes, forms, words};
use crate::edge::html::{Html, Language};

/// The first part of the names of the boxes of scopes.
pub(super) const SCOPE_FIELD: &str = "scope.";

/// Sensitivities in the order of the page: what can hurt most comes first.
const ORDER: [Sensitivity; 3] = [Sensitivity::High, Sensitivity::Medium, Sensitivity::Low];

/// Adds what the reader has granted so far, what has changed since then, and the forms.
pub(super) fn add_offer(html: &mut Html, view: &PageView<'_>, offer: &ConsentOffer) {
    html.markup("<p class=\"state\" role=\"status\">");
    html.text(words::state(view.language, offer.earlier.as_ref())).markup("</p>\n");
    add_agent(html, view.language, offer);
    if let Some(earlier) = offer.earlier.as_ref().filter(|earlier| is_outdated(offer, earlier)) {
        changes::add_changes(html, view.language, earlier.manifest.as_ref(), &offer.manifest);
    }
    add_grant_form(html, view, offer);
    if offer.earlier.is_some() {
        forms::add_revoke_form(html, view);
    }
}

fn add_agent(html: &mut Html, language: Language, offer: &ConsentOffer) {
    html.markup("<dl>\n");
    html.element(["<dt>", "</dt>"], language.pick("Agent", "智能体"));
    html.element(["<dd><bdi>", "</bdi></dd>\n"], &offer.agent.name);
    if let Some(aid) = &offer.agent.aid {
        html.element(["<dt>", "</dt>"], language.pick("Address", "地址"));
        html.element(["<dd><code>", "</code></dd>\n"], &aid.to_string());
    }
    html.element(["<dt>", "</dt>"], language.pick("Version of its manifest", "能力清单版本"));
    html.element(["<dd>", "</dd>\n"], &offer.pin.version.to_string());
    html.element(["<dt>", "</dt>"], language.pick("Hash of its manifest", "能力清单哈希"));
    html.element(["<dd><code>", "</code></dd>\n"], &offer.pin.hash.to_string());
    html.markup("</dl>\n");
}

/// Adds the scopes with their boxes. Nothing is ticked before the reader has granted it.
fn add_grant_form(html: &mut Html, view: &PageView<'_>, offer: &ConsentOffer) {
    forms::open_form(html, view);
    for (name, value) in [("version", offer.pin.version.to_string()), ("hash", offer.pin.hash.to_string())] {
        html.markup("<input type=\"hidden\" name=\"").markup(name).markup("\" value=\"").value(&value);
        html.markup("\">\n");
    }
    for sensitivity in ORDER {
        add_scopes(html, view.language, offer, sensitivity);
    }
    if offer.manifest.permission_scopes.is_empty() {
        let text = view.language.pick("The agent asks for no permission.", "该智能体不请求任何权限。");
        html.element(["<p>", "</p>\n"], text);
    }
    html.markup("<button class=\"allow\" name=\"action\" value=\"grant\">");
    html.text(match &offer.earlier {
        None => view.language.pick("Grant what is ticked", "授予勾选的权限"),
        Some(earlier) if is_outdated(offer, earlier) => {
            view.language.pick("Agree again to what is ticked", "重新同意勾选的权限")
        }
        Some(_) => view.language.pick("Change to what is ticked", "更改为勾选的权限"),
    });
    html.markup("</button>\n</form>\n");
}

/// Adds the scopes of one sensitivity.
fn add_scopes(html: &mut Html, language: Language, offer: &ConsentOffer, sensitivity: Sensitivity) {
    let scopes = offer.manifest.permission_scopes.iter();
    let mut scopes = scopes.filter(|scope| scope.sensitivity == sensitivity).peekable();
    if scopes.peek().is_none() {
        return;
    }
    html.element(["<fieldset>\n<legend>", "</legend>\n"], words::sensitivity(language, sensitivity));
    for scope in scopes {
        add_scope(html, language, offer, scope);
    }
    html.markup("</fieldset>\n");
}

fn add_scope(html: &mut Html, language: Language, offer: &ConsentOffer, scope: &PermissionScope) {
    let (label, description) = words::of_scope(language, scope);
    html.markup("<label class=\"choice\"><input type=\"checkbox\" name=\"").markup(SCOPE_FIELD);
    html.value(&scope.id).markup(if is_ticked(offer, scope) { "\" checked>" } else { "\">" });
    html.markup("<span><bdi>")
        .text(label)
        .markup("</bdi> <code>")
        .text(&scope.id)
        .markup("</code></span></label>\n");
    html.element(["<p class=\"hint\"><bdi>", "</bdi></p>\n"], description);
    let tools = offer.manifest.tools.iter().filter(|tool| tool.permission_scope == scope.id);
    html.markup("<ul>\n");
    for tool in tools {
        let description = tool.description_fallback.as_ref().unwrap_or(&tool.description_i18n_key);
        html.markup("<li><code>").text(&tool.name).markup("</code> <bdi>").text(description);
        html.markup("</bdi></li>\n");
    }
    html.markup("</ul>\n");
}

/// Returns whether the reader has granted a scope, and nothing of it waits for a new consent.
fn is_ticked(offer: &ConsentOffer, scope: &PermissionScope) -> bool {
    offer.earlier.as_ref().is_some_and(|earlier| {
        let state = &earlier.state;
        state.gap.effective_scopes(&state.relation.granted_scopes).contains(&scope.id)
    })
}

/// Returns whether the reader agreed to another version of the manifest.
fn is_outdated(offer: &ConsentOffer, earlier: &EarlierConsent) -> bool {
    earlier.state.relation.manifest != offer.pin
}
