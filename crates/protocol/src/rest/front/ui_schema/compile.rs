//! Compiles hints into a UiSchema.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::hints::{UiBadgeHint, UiButtonHint, UiFactHint, UiHints, UiIconHint};
use super::node::{
    UiAction, UiAppearance, UiBadge, UiButton, UiGrid, UiIcon, UiIconSource, UiLayoutNode, UiNode, UiOpenUrl,
    UiStack, UiText, UiTextFormat, UiTextRole,
};
use super::{UiMeta, UiSchemaRenderer, UiSchemaVersion};

/// Characters of a title, subtitle, caption, or part of a fact.
const MAX_LINE_CHARS: usize = 200;

/// Characters of a body or code.
const MAX_BODY_CHARS: usize = 4_000;

/// Characters of the label of a badge or button.
const MAX_LABEL_CHARS: usize = 40;

const MAX_BADGES: usize = 8;

const MAX_FACTS: usize = 16;

const MAX_BUTTONS: usize = 4;

const MAX_ICON_NAME_CHARS: usize = 64;

/// An emoji of several people is a sequence of up to ten.
const MAX_EMOJI_CHARS: usize = 16;

const MAX_URL_CHARS: usize = 2_048;

/// The longest language tag that RFC 5646 asks programs to take.
const MAX_LOCALE_CHARS: usize = 35;

/// A label and a value.
const FACT_COLUMNS: u8 = 2;

/// What the server adds to the hints of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UiContext {
    /// The language of a reply whose hints give none.
    pub default_locale: String,
    pub meta: Option<UiMeta>,
}

/// Compiles hints, or returns `None` if they are absent, invalid, larger than the limits of [`UiHints`], or have nothing
/// to show. Hints are never an error: the reply itself is worth more than its look.
#[must_use]
pub fn compile(hints: &Value, context: &UiContext) -> Option<UiSchemaRenderer> {
    // serde also reads the fields of a struct from an array.
    let hints = if hints.is_object() { UiHints::deserialize(hints).ok()? } else { return None };
    let locale = match &hints.locale {
        Some(locale) if is_locale(locale) => locale.clone(),
        Some(_) => return None,
        None => context.default_locale.clone(),
    };
    let (status, theme) = (hints.status, hints.theme);
    let root =
        UiLayoutNode::Stack(UiStack { appearance: Some(UiAppearance::Card), children: compile_card(hints)? });
    Some(UiSchemaRenderer {
        version: UiSchemaVersion::V2,
        locale,
        status,
        theme,
        meta: context.meta.clone(),
        root,
    })
}

/// Returns the nodes of the card, from top to bottom.
fn compile_card(hints: UiHints) -> Option<Vec<UiNode>> {
    let status_badge = || vec![UiBadgeHint { label: hints.status.label().to_owned(), status: hints.status }];
    let badges = hints.badges.unwrap_or_else(status_badge);
    if badges.len() > MAX_BADGES || hints.facts.len() > MAX_FACTS || hints.buttons.len() > MAX_BUTTONS {
        return None;
    }
    let mut nodes = Vec::new();
    let mut texts = 0;
    if let Some(icon) = hints.icon {
        nodes.push(compile_icon(icon)?);
    }
    texts += push_text(&mut nodes, hints.title, UiTextRole::Title, UiTextFormat::Plain)?;
    texts += push_text(&mut nodes, hints.subtitle, UiTextRole::Subtitle, UiTextFormat::Plain)?;
    for UiBadgeHint { label, status } in badges {
        nodes.push(UiNode::Badge(UiBadge { label: checked(label, MAX_LABEL_CHARS)?, status }));
    }
    texts += push_text(&mut nodes, hints.body, UiTextRole::Body, hints.format)?;
    texts += push_text(&mut nodes, hints.code, UiTextRole::Code, UiTextFormat::Plain)?;
    if !hints.facts.is_empty() {
        texts += 1;
        nodes.push(compile_facts(hints.facts)?);
    }
    texts += push_text(&mut nodes, hints.caption, UiTextRole::Caption, UiTextFormat::Plain)?;
    for button in hints.buttons {
        nodes.push(compile_button(button)?);
    }
    (texts > 0).then_some(nodes)
}

/// Appends a text, unless it is absent or empty, and returns how many were appended.
fn push_text(
    nodes: &mut Vec<UiNode>,
    content: Option<String>,
    role: UiTextRole,
    format: UiTextFormat,
) -> Option<usize> {
    let max_chars = match role {
        UiTextRole::Body | UiTextRole::Code => MAX_BODY_CHARS,
        UiTextRole::Title | UiTextRole::Subtitle | UiTextRole::Caption => MAX_LINE_CHARS,
    };
    let Some(content) = content.filter(|content| !content.is_empty()) else { return Some(0) };
    nodes.push(UiNode::Text(UiText { content: checked(content, max_chars)?, role, format }));
    Some(1)
}

fn compile_facts(facts: Vec<UiFactHint>) -> Option<UiNode> {
    let mut children = Vec::with_capacity(facts.len() * usize::from(FACT_COLUMNS));
    for UiFactHint { label, value } in facts {
        for (content, role) in [(label, UiTextRole::Caption), (value, UiTextRole::Body)] {
            let content = checked(content, MAX_LINE_CHARS)?;
            children.push(UiNode::Text(UiText { content, role, format: UiTextFormat::Plain }));
        }
    }
    Some(UiNode::Grid(UiGrid { columns: FACT_COLUMNS, children }))
}

fn compile_icon(UiIconHint { source, value }: UiIconHint) -> Option<UiNode> {
    let value = match source {
        UiIconSource::Icon => checked(value, MAX_ICON_NAME_CHARS).filter(|name| is_icon_name(name)),
        UiIconSource::Emoji => checked(value, MAX_EMOJI_CHARS),
        UiIconSource::Url => checked_url(value),
    };
    Some(UiNode::Icon(UiIcon { source, value: value? }))
}

fn compile_button(UiButtonHint { label, variant, url }: UiButtonHint) -> Option<UiNode> {
    let action = UiAction::Url(UiOpenUrl { url: checked_url(url)? });
    Some(UiNode::Button(UiButton { label: checked(label, MAX_LABEL_CHARS)?, variant, action }))
}

fn checked(text: String, max_chars: usize) -> Option<String> {
    (!text.is_empty() && text.chars().count() <= max_chars).then_some(text)
}

/// Returns an https URL without a user. A URL of another scheme, such as `javascript`, could act as the reader.
fn checked_url(text: String) -> Option<String> {
    let text = checked(text, MAX_URL_CHARS)?;
    let url = Url::parse(&text).ok()?;
    let is_valid = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
    is_valid.then(|| url.into())
}

fn is_icon_name(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// Returns whether a text has the form of a language tag.
fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    text.len() <= MAX_LOCALE_CHARS
        && (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
