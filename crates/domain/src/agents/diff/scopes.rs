//! Changes of permission scopes.

use super::change::{ChangeKind, Consent};
use super::collector::{Collector, Place, shortened, widening};
use crate::agents::manifest::pointer::Pointer;
use crate::agents::manifest::{Manifest, PermissionScope};

pub(super) fn compare(old: &Manifest, new: &Manifest, collector: &mut Collector) {
    let at = Pointer::root().key("permission_scopes");
    for (index, scope) in new.permission_scopes.iter().enumerate() {
        match old.scope(&scope.id) {
            Some(before) => compare_scope(before, scope, new, &at.index(index), collector),
            None => collector.add(
                Place::new(at.index(index))
                    .change(ChangeKind::ScopeAdded, &scope.id)
                    .after(scope.sensitivity.as_str())
                    .scope(&scope.id)
                    .breaking(),
            ),
        }
    }
    for (index, scope) in old.permission_scopes.iter().enumerate() {
        if new.scope(&scope.id).is_none() {
            let place = Place::old(at.index(index));
            collector.add(place.change(ChangeKind::ScopeRemoved, &scope.id).scope(&scope.id));
        }
    }
}

fn compare_scope(
    old: &PermissionScope,
    new: &PermissionScope,
    manifest: &Manifest,
    at: &Pointer,
    collector: &mut Collector,
) {
    let sensitivity = old.sensitivity.max(new.sensitivity);
    if old.sensitivity != new.sensitivity {
        let is_raised = new.sensitivity > old.sensitivity;
        let kind = if is_raised { ChangeKind::SensitivityRaised } else { ChangeKind::SensitivityLowered };
        let change = Place::new(at.key("sensitivity"))
            .change(kind, &new.id)
            .values(old.sensitivity.as_str(), new.sensitivity.as_str())
            .scope(&new.id);
        let is_used = manifest.tools.iter().any(|tool| tool.permission_scope == new.id);
        // Lowering drops the question before a call, which users relied on.
        collector.add(if is_raised && is_used {
            change.breaking()
        } else {
            change.consent(Consent::ReConsent)
        });
    }
    for (name, before, after) in [
        ("label_i18n_key", Some(&old.label_i18n_key), Some(&new.label_i18n_key)),
        ("label_fallback", old.label_fallback.as_ref(), new.label_fallback.as_ref()),
        ("description_i18n_key", Some(&old.description_i18n_key), Some(&new.description_i18n_key)),
        ("description_fallback", old.description_fallback.as_ref(), new.description_fallback.as_ref()),
    ] {
        if before != after {
            let pointer = at.key(name);
            let place = if after.is_some() { Place::new(pointer) } else { Place::old(pointer) };
            let mut change =
                place.change(ChangeKind::DescriptionChanged, &format!("{} {name}", new.id)).scope(&new.id);
            change.before = before.map(|text| shortened(text));
            change.after = after.map(|text| shortened(text));
            collector.add(change.consent(widening(sensitivity)));
        }
    }
    collector.compare_unknown(&old.unknown, &new.unknown, at);
}
