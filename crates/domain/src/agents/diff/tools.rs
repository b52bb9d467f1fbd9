//! Changes of tools.

use super::change::{Change, ChangeKind, Consent};
use super::collector::{Collector, Place, shortened, widening};
use super::schema::{self, SchemaPair};
use crate::agents::manifest::pointer::Pointer;
use crate::agents::manifest::{Manifest, Sensitivity, Tool};

/// A tool with its place and sensitivity.
#[derive(Clone)]
struct Declared<'a> {
    tool: &'a Tool,
    at: Pointer,
    sensitivity: Sensitivity,
}

fn declared(manifest: &Manifest) -> Vec<Declared<'_>> {
    let at = Pointer::root().key("tools");
    let of = |(index, tool)| Declared { tool, at: at.index(index), sensitivity: manifest.sensitivity(tool) };
    manifest.tools.iter().enumerate().map(of).collect()
}

pub(super) fn compare(old: &Manifest, new: &Manifest, collector: &mut Collector) {
    let (old_tools, new_tools) = (declared(old), declared(new));
    let mut removed: Vec<_> = old_tools.iter().filter(|old| new.tool(&old.tool.name).is_none()).collect();
    for tool in &new_tools {
        if let Some(before) = old_tools.iter().find(|old| old.tool.name == tool.tool.name) {
            compare_tool(before, tool, collector);
        } else if let Some(index) = removed.iter().position(|old| is_renamed(old.tool, tool.tool)) {
            let before = removed.remove(index);
            collector.add(about(
                tool,
                Place::new(tool.at.key("name"))
                    .change(ChangeKind::ToolRenamed, &tool.tool.name)
                    .values(&before.tool.name, &tool.tool.name)
                    .consent(widening(tool.sensitivity)),
            ));
            compare_tool(before, tool, collector);
        } else {
            let change = Place::new(tool.at.clone())
                .change(ChangeKind::ToolAdded, &tool.tool.name)
                .after(&tool.tool.permission_scope);
            collector.add(about(tool, change.consent(widening(tool.sensitivity))));
        }
    }
    for tool in removed {
        collector
            .add(about(tool, Place::old(tool.at.clone()).change(ChangeKind::ToolRemoved, &tool.tool.name)));
    }
}

/// Returns whether a tool that is gone is the same as one that is new, by what it can do.
fn is_renamed(old: &Tool, new: &Tool) -> bool {
    old.permission_scope == new.permission_scope && old.input_schema == new.input_schema
}

fn about(tool: &Declared<'_>, change: Change) -> Change {
    change.tool(&tool.tool.name).scope(&tool.tool.permission_scope)
}

fn compare_tool(old: &Declared<'_>, new: &Declared<'_>, collector: &mut Collector) {
    let sensitivity = old.sensitivity.max(new.sensitivity);
    compare_scope(old, new, collector);
    compare_words(old, new, sensitivity, collector);
    if old.tool.required != new.tool.required {
        let change = Place::new(new.at.key("required"))
            .change(ChangeKind::RequiredToolChanged, &new.tool.name)
            .values(old.tool.required.to_string(), new.tool.required.to_string());
        let consent = if new.tool.required { Consent::Notify } else { Consent::Silent };
        collector.add(about(new, change.consent(consent)));
    }
    if old.tool.timeout_ms != new.tool.timeout_ms {
        let change = Place::new(new.at.key("timeout_ms"))
            .change(ChangeKind::TimeoutChanged, &new.tool.name)
            .values(old.tool.timeout_ms.to_string(), new.tool.timeout_ms.to_string());
        collector.add(about(new, change));
    }
    let pair = SchemaPair {
        old: (&old.tool.input_schema, old.at.key("input_schema")),
        new: (&new.tool.input_schema, new.at.key("input_schema")),
        sensitivity,
    };
    for change in schema::compare(&pair) {
        collector.add(about(new, change));
    }
    collector.compare_unknown(&old.tool.unknown, &new.tool.unknown, &new.at);
}

/// Whoever granted the new scope gets the tool with it, asked as often as that scope is.
fn compare_scope(old: &Declared<'_>, new: &Declared<'_>, collector: &mut Collector) {
    if old.tool.permission_scope == new.tool.permission_scope {
        return;
    }
    let change = Place::new(new.at.key("permission_scope"))
        .change(ChangeKind::ScopeRemapped, &new.tool.name)
        .values(&old.tool.permission_scope, &new.tool.permission_scope);
    let change = if new.sensitivity > old.sensitivity {
        change.breaking()
    } else {
        change.consent(widening(old.sensitivity.max(new.sensitivity)))
    };
    collector.add(about(new, change));
}

fn compare_words(
    old: &Declared<'_>,
    new: &Declared<'_>,
    sensitivity: Sensitivity,
    collector: &mut Collector,
) {
    let fallback = |tool: &Tool| tool.description_fallback.clone();
    for (name, before, after) in [
        (
            "description_i18n_key",
            Some(old.tool.description_i18n_key.clone()),
            Some(new.tool.description_i18n_key.clone()),
        ),
        ("description_fallback", fallback(old.tool), fallback(new.tool)),
    ] {
        if before != after {
            let place = match after {
                Some(_) => Place::new(new.at.key(name)),
                None => Place::old(old.at.key(name)),
            };
            let mut change =
                place.change(ChangeKind::DescriptionChanged, &format!("{} {name}", new.tool.name));
            change.before = before.as_deref().map(shortened);
            change.after = after.as_deref().map(shortened);
            collector.add(about(new, change.consent(widening(sensitivity))));
        }
    }
}
