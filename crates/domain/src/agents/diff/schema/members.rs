//! Schemas of the parts of a value: properties and items.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conjunction::{Conjunction, Node, Part};
use super::{Comparison, Effect, Position, Step};
use crate::agents::diff::change::ChangeKind;

/// A property or item that only one version has a schema of its own for.
struct OwnSchema<'s, 'a> {
    name: &'s str,
    /// The schema itself.
    own: Node<'a>,
    /// What the property or item has to match in the old and the new version.
    old: Node<'a>,
    new: Node<'a>,
}

impl<'a> Comparison<'a, '_> {
    pub(super) fn compare_members(&mut self, step: &Step<'_, 'a>) {
        self.compare_properties(step);
        let (old, new) = (step.old.keyword("additionalProperties"), step.new.keyword("additionalProperties"));
        self.compare(&old, &new, step.context, Position::AdditionalProperties);
        self.compare_pattern_properties(step);
        self.compare_items(step);
        self.compare_dependent_schemas(step);
        self.compare_all_contains(step);
        for (keyword, context) in [
            ("items", step.context),
            ("propertyNames", step.context.without_contract()),
            ("unevaluatedProperties", step.context.without_contract()),
            ("unevaluatedItems", step.context.without_contract()),
        ] {
            self.compare(&step.old.keyword(keyword), &step.new.keyword(keyword), context, Position::Schema);
        }
    }

    fn compare_properties(&mut self, step: &Step<'_, 'a>) {
        let (old_names, new_names) = (step.old.names("properties"), step.new.names("properties"));
        let names: BTreeSet<&str> = old_names.union(&new_names).copied().collect();
        for name in names {
            let (old, new) = (step.old.property(name), step.new.property(name));
            match (old_names.contains(name), new_names.contains(name)) {
                (true, true) => self.compare(&old, &new, step.context, Position::Schema),
                (false, _) => {
                    let own = step.new.member("properties", name);
                    self.add_own_schema(step, ChangeKind::PropertyAdded, &OwnSchema { name, own, old, new });
                }
                (true, false) => {
                    let own = step.old.member("properties", name);
                    let removed = OwnSchema { name, own, old, new };
                    self.remove_own_schema(step, ChangeKind::PropertyRemoved, &removed);
                }
            }
        }
    }

    /// A new optional argument. Where other arguments were accepted before, it may now be refused.
    fn add_own_schema(&mut self, step: &Step<'_, 'a>, kind: ChangeKind, added: &OwnSchema<'_, 'a>) {
        let Some(place) = self.place_of(added.own.first(), None) else { return };
        let change = place.change(kind, added.name);
        let old = Conjunction::new(self.old, &added.old);
        let new = Conjunction::new(self.new, &added.new);
        let has_patterns = !step.old.names("patternProperties").is_empty();
        if old.never.is_some() && !has_patterns {
            self.add(step.context, change, Effect::Widens);
        } else if has_patterns || (old.is_anything() && !new.is_anything()) {
            self.add(step.context, change, Effect::Narrows);
        } else {
            self.add(step.context, change, Effect::Widens);
            self.compare(&added.old, &added.new, step.context, Position::Schema);
        }
    }

    fn remove_own_schema(&mut self, step: &Step<'_, 'a>, kind: ChangeKind, removed: &OwnSchema<'_, 'a>) {
        let Some(place) = self.place_of(None, removed.own.first()) else { return };
        let change = place.change(kind, removed.name);
        let old = Conjunction::new(self.old, &removed.old);
        let new = Conjunction::new(self.new, &removed.new);
        if new.never.is_some() && old.never.is_none() {
            self.add(step.context, change, Effect::Narrows);
            return;
        }
        self.add(step.context, change, Effect::Widens);
        if !new.is_anything() {
            self.compare(&removed.old, &removed.new, step.context, Position::Schema);
        }
    }

    /// A pattern is not evaluated: a new one may hold for any name.
    fn compare_pattern_properties(&mut self, step: &Step<'_, 'a>) {
        let (old_names, new_names) =
            (step.old.names("patternProperties"), step.new.names("patternProperties"));
        let is_open = Conjunction::new(self.new, &step.new.keyword("additionalProperties")).is_anything();
        for name in old_names.union(&new_names) {
            let (old, new) =
                (step.old.member("patternProperties", name), step.new.member("patternProperties", name));
            let Some(place) = self.place_of(new.first(), old.first()) else { continue };
            let (kind, effect) = match (old_names.contains(name), new_names.contains(name)) {
                (true, true) => {
                    self.compare(&old, &new, step.context, Position::Schema);
                    continue;
                }
                (true, false) if is_open => (ChangeKind::PropertyRemoved, Effect::Widens),
                (true, false) => (ChangeKind::PropertyRemoved, Effect::Narrows),
                (false, _) => (ChangeKind::PropertyAdded, Effect::Narrows),
            };
            self.add(step.context, place.change(kind, name), effect);
        }
    }

    fn compare_items(&mut self, step: &Step<'_, 'a>) {
        let (old_len, new_len) = (step.old.prefix_len(), step.new.prefix_len());
        for index in 0..old_len.max(new_len) {
            let (old, new) = (step.old.item(index), step.new.item(index));
            let name = index.to_string();
            if index >= old_len {
                let own = step.new.prefix_item(index);
                let added = OwnSchema { name: &name, own, old, new };
                self.add_own_schema(step, ChangeKind::ItemAdded, &added);
            } else if index >= new_len {
                let own = step.old.prefix_item(index);
                let removed = OwnSchema { name: &name, own, old, new };
                self.remove_own_schema(step, ChangeKind::ItemRemoved, &removed);
            } else {
                self.compare(&old, &new, step.context, Position::Schema);
            }
        }
    }

    fn compare_dependent_schemas(&mut self, step: &Step<'_, 'a>) {
        let names: BTreeSet<&str> =
            step.old.names("dependentSchemas").union(&step.new.names("dependentSchemas")).copied().collect();
        for name in names {
            let of = |side: &Conjunction<'a>| side.member("dependentSchemas", name);
            self.compare(&of(step.old), &of(step.new), step.context, Position::Schema);
        }
    }

    /// Compares `contains` of all parts, in the order in which they are written.
    fn compare_all_contains(&mut self, step: &Step<'_, 'a>) {
        let parts = |side: &Conjunction<'a>| {
            let parts = side.parts.iter().filter(|part| part.schema.contains_key("contains"));
            parts.cloned().collect::<Vec<_>>()
        };
        let (old, new) = (parts(step.old), parts(step.new));
        for (old, new) in old.iter().zip(&new) {
            self.compare_contains(step, old, new);
        }
        let (kind, effect) = if new.len() > old.len() {
            (ChangeKind::ConstraintTightened, Effect::Narrows)
        } else if new.len() < old.len() {
            (ChangeKind::ConstraintLoosened, Effect::Widens)
        } else {
            return;
        };
        let change = self.place_of_keyword(step, "contains").change(kind, "contains");
        self.add(step.context, change, effect);
    }

    /// Compares `contains` with `minContains` and `maxContains`.
    fn compare_contains(&mut self, step: &Step<'_, 'a>, old: &Part<'a>, new: &Part<'a>) {
        let number = |part: &Part<'a>, name: &str, missing: f64| {
            part.schema.get(name).and_then(Value::as_f64).unwrap_or(missing)
        };
        let minimum = [old, new].map(|part| number(part, "minContains", 1.0));
        let maximum = [old, new].map(|part| number(part, "maxContains", f64::INFINITY));
        let place = self.place_of_keyword(step, "contains");
        if minimum[1] > minimum[0] || maximum[1] < maximum[0] {
            let change = place.change(ChangeKind::ConstraintTightened, "contains");
            self.add(step.context, change, Effect::Narrows);
        } else if minimum[1] < minimum[0] || maximum[1] > maximum[0] {
            let change = place.change(ChangeKind::ConstraintLoosened, "contains");
            self.add(step.context, change, Effect::Widens);
        }
        // With an upper bound, more matching items are fewer valid arrays.
        let is_bounded = maximum.iter().any(|maximum| maximum.is_finite());
        let context = if is_bounded { step.context.not_monotone() } else { step.context };
        let (old, new) = (old.own_keyword("contains"), new.own_keyword("contains"));
        self.compare(&old, &new, context, Position::Schema);
    }
}
