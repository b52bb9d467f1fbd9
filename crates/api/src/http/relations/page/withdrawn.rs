//! The page of an agent that cannot be offered any more, for people with a relation: they can only end it.

use guildhall_domain::agents::manifest::presets::preset;
use guildhall_domain::relations::RelationState;

use super::{PageView, forms, words};
use crate::edge::html::Html;

/// Adds what the reader granted, and the form that takes it back, unless they have done that.
pub(super) fn add_relation(html: &mut Html, view: &PageView<'_>, state: &RelationState) {
    html.markup("<p class=\"state\" role=\"status\">");
    html.text(words::withdrawn(view.language, state)).markup("</p>\n");
    add_agent(html, view, state);
    if state.relation.ended_at.is_none() {
        add_scopes(html, view, state);
        forms::add_revoke_form(html, view);
    }
}

/// Adds the agent and the manifest of the consent. The current manifest is not for the reader.
fn add_agent(html: &mut Html, view: &PageView<'_>, state: &RelationState) {
    let (language, agreed) = (view.language, state.relation.manifest);
    html.markup("<dl>\n");
    html.element(["<dt>", "</dt>"], language.pick("Agent", "智能体"));
    html.element(["<dd><bdi>", "</bdi></dd>\n"], &state.agent.name);
    if let Some(aid) = &state.agent.aid {
        html.element(["<dt>", "</dt>"], language.pick("Address", "地址"));
        html.element(["<dd><code>", "</code></dd>\n"], &aid.to_string());
    }
    let name = language.pick("Version of the manifest that you agreed to", "您同意过的能力清单版本");
    html.element(["<dt>", "</dt>"], name);
    html.element(["<dd>", "</dd>\n"], &agreed.version.to_string());
    let name = language.pick("Hash of the manifest that you agreed to", "您同意过的能力清单哈希");
    html.element(["<dt>", "</dt>"], name);
    html.element(["<dd><code>", "</code></dd>\n"], &agreed.hash.to_string());
    html.markup("</dl>\n");
}

fn add_scopes(html: &mut Html, view: &PageView<'_>, state: &RelationState) {
    let language = view.language;
    html.element(["<section>\n<h2>", "</h2>\n"], language.pick("What you have granted", "您已授予的权限"));
    if state.relation.granted_scopes.is_empty() {
        let text = language.pick("You have granted no permission.", "您未授予任何权限。");
        html.element(["<p>", "</p>\n</section>\n"], text);
        return;
    }
    html.markup("<ul>\n");
    for scope in &state.relation.granted_scopes {
        html.markup("<li>");
        if let Some(preset) = preset(scope) {
            html.text(preset.label(language.of_manifests())).markup(" ");
        }
        html.element(["<code>", "</code></li>\n"], scope);
    }
    html.markup("</ul>\n</section>\n");
}
