//! Keywords that are compared by their values.

use std::collections::BTreeSet;

use serde_json::Value;

use super::effective::{canonical, types, values};
use super::{Comparison, Effect, Step};
use crate::agents::diff::change::ChangeKind;
use crate::agents::diff::collector::shortened;

/// Lower bounds: more is narrower. With what a missing one means.
const LOWER_BOUNDS: [(&str, f64); 5] = [
    ("minimum", f64::NEG_INFINITY),
    ("exclusiveMinimum", f64::NEG_INFINITY),
    ("minLength", 0.0),
    ("minItems", 0.0),
    ("minProperties", 0.0),
];

/// Upper bounds: less is narrower.
const UPPER_BOUNDS: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/// Keywords that forbid values in ways which are not compared: another value may forbid others.
const OPAQUE: [&str; 9] = [
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
    "dependentRequired",
    "dependencies",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

impl<'a> Comparison<'a, '_> {
    pub(super) fn compare_keywords(&mut self, step: &Step<'_, 'a>) {
        self.compare_types(step);
        self.compare_values(step);
        self.compare_required(step);
        for (name, missing) in LOWER_BOUNDS {
            let bound = |list: Vec<f64>| list.into_iter().fold(missing, f64::max);
            self.compare_bound(step, name, bound, |old, new| new > old);
        }
        for name in UPPER_BOUNDS {
            let bound = |list: Vec<f64>| list.into_iter().fold(f64::INFINITY, f64::min);
            self.compare_bound(step, name, bound, |old, new| new < old);
        }
        for name in OPAQUE {
            self.compare_opaque(step, name);
        }
        self.compare_words(step);
    }

    fn compare_types(&mut self, step: &Step<'_, 'a>) {
        let (old, new) = (types(self.old, step.old), types(self.new, step.new));
        if old == new {
            return;
        }
        let (kind, effect) = if old.is_subset(new) {
            (ChangeKind::TypeWidened, Effect::Widens)
        } else {
            (ChangeKind::TypeChanged, Effect::Breaks)
        };
        let change = self.place_of_keyword(step, "type").change(kind, "type");
        self.add(step.context, change.values(old.text(), new.text()), effect);
    }

    /// A `const` is an `enum` of one value.
    fn compare_values(&mut self, step: &Step<'_, 'a>) {
        let (old, new) = (values(self.old, step.old), values(self.new, step.new));
        let keyword = ["enum", "const", "anyOf", "oneOf"]
            .into_iter()
            .find(|name| !step.new.keyword(name).is_empty() || !step.old.keyword(name).is_empty());
        let Some(keyword) = keyword else { return };
        let place = self.place_of_keyword(step, keyword);
        match (old, new) {
            (Some(old), Some(new)) => {
                let removed: Vec<_> = old.difference(&new).cloned().collect();
                if !removed.is_empty() {
                    let change = place.change(ChangeKind::EnumValueRemoved, keyword);
                    let change = change.before(shortened(&removed.join(", ")));
                    self.add(step.context, change, Effect::Breaks);
                }
                let added: Vec<_> = new.difference(&old).cloned().collect();
                if !added.is_empty() {
                    let change = place.change(ChangeKind::EnumValueAdded, keyword);
                    self.add(step.context, change.after(shortened(&added.join(", "))), Effect::Widens);
                }
            }
            (None, Some(new)) => {
                let new: Vec<_> = new.into_iter().collect();
                let change = place.change(ChangeKind::EnumAdded, keyword);
                self.add(step.context, change.after(shortened(&new.join(", "))), Effect::Narrows);
            }
            (Some(_), None) => {
                self.add(step.context, place.change(ChangeKind::EnumDropped, keyword), Effect::Widens);
            }
            (None, None) => {}
        }
    }

    fn compare_required(&mut self, step: &Step<'_, 'a>) {
        let fields = |lists: Vec<super::SchemaAt<'a>>| -> BTreeSet<&'a str> {
            lists
                .iter()
                .filter_map(|list| list.value.as_array())
                .flatten()
                .filter_map(Value::as_str)
                .collect()
        };
        let (old, new) = (fields(step.old.keyword("required")), fields(step.new.keyword("required")));
        for field in new.difference(&old) {
            let change = self.place_of_field(step, field).change(ChangeKind::RequiredAdded, field);
            self.add(step.context, change, Effect::Breaks);
        }
        for field in old.difference(&new) {
            let change = self.place_of_field(step, field).change(ChangeKind::RequiredDropped, field);
            self.add(step.context, change, Effect::Widens);
        }
    }

    /// Returns the place of a name in `required`.
    fn place_of_field(&self, step: &Step<'_, 'a>, field: &str) -> super::Place {
        let find = |lists: Vec<super::SchemaAt<'a>>| {
            let mut elements = lists.iter().flat_map(super::conjunction::elements);
            elements.find(|element| element.value.as_str() == Some(field))
        };
        let (new, old) = (find(step.new.keyword("required")), find(step.old.keyword("required")));
        self.place_of(new.as_ref(), old.as_ref()).unwrap_or_else(|| step.place.clone())
    }

    fn compare_bound(
        &mut self,
        step: &Step<'_, 'a>,
        name: &str,
        bound: impl Fn(Vec<f64>) -> f64,
        is_narrower: impl Fn(f64, f64) -> bool,
    ) {
        let numbers = |lists: Vec<super::SchemaAt<'a>>| {
            lists.iter().filter_map(|number| number.value.as_f64()).collect::<Vec<f64>>()
        };
        let (old, new) = (bound(numbers(step.old.keyword(name))), bound(numbers(step.new.keyword(name))));
        let (kind, effect) = if is_narrower(old, new) {
            (ChangeKind::ConstraintTightened, Effect::Narrows)
        } else if is_narrower(new, old) {
            (ChangeKind::ConstraintLoosened, Effect::Widens)
        } else {
            return;
        };
        let mut change = self.place_of_keyword(step, name).change(kind, name);
        change.before = old.is_finite().then(|| old.to_string());
        change.after = new.is_finite().then(|| new.to_string());
        self.add(step.context, change, effect);
    }

    fn compare_opaque(&mut self, step: &Step<'_, 'a>, name: &str) {
        let texts = |found: Vec<super::SchemaAt<'a>>| -> BTreeSet<String> {
            found.iter().filter(|at| *at.value != Value::Bool(false)).map(|at| canonical(at.value)).collect()
        };
        let (old, new) = (texts(step.old.keyword(name)), texts(step.new.keyword(name)));
        if old == new {
            return;
        }
        let (kind, effect) = if new.is_subset(&old) {
            (ChangeKind::ConstraintLoosened, Effect::Widens)
        } else {
            (ChangeKind::ConstraintTightened, Effect::Narrows)
        };
        let text = |all: BTreeSet<String>| {
            (!all.is_empty()).then(|| shortened(&all.into_iter().collect::<Vec<_>>().join(", ")))
        };
        let mut change = self.place_of_keyword(step, name).change(kind, name);
        (change.before, change.after) = (text(old), text(new));
        self.add(step.context, change, effect);
    }

    fn compare_words(&mut self, step: &Step<'_, 'a>) {
        let names: BTreeSet<&str> = step.old.annotations().union(&step.new.annotations()).copied().collect();
        for name in names {
            let texts = |found: Vec<super::SchemaAt<'a>>| -> BTreeSet<String> {
                found.iter().map(|at| canonical(at.value)).collect()
            };
            let (old, new) = (texts(step.old.keyword(name)), texts(step.new.keyword(name)));
            if old != new {
                let text = |all: &BTreeSet<String>| all.first().map(|text| shortened(text));
                let mut change =
                    self.place_of_keyword(step, name).change(ChangeKind::AnnotationChanged, name);
                (change.before, change.after) = (text(&old), text(&new));
                self.add(step.context, change, Effect::TextOnly);
            }
        }
    }
}
