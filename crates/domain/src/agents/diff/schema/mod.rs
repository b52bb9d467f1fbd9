//! Changes of an input schema.
//!
//! Both schemas are walked together, from the outermost schema along the same fields. At each step, references and `allOf`
//! are opened first, so that a change is found wherever it is written. A change that is not known to allow at least the
//! same values counts as one that forbids some.

mod alternatives;
mod assignment;
mod conjunction;
mod effective;
mod keywords;
mod members;

use std::collections::HashSet;

use serde_json::Value;

use super::change::{Change, ChangeKind, Consent, Contract};
use super::collector::{Place, widening};
use crate::agents::manifest::Sensitivity;
use crate::agents::manifest::pointer::Pointer;
use crate::agents::manifest::schema_walk::SchemaIndex;
use assignment::Distance;
use conjunction::{Conjunction, Identity, Node, SchemaAt};

/// Steps of one comparison. Usual schemas take some hundred.
const MAX_STEPS: u32 = 20_000;

/// Nested steps: the levels of a valid schema, and some for two recursive schemas of different periods.
const MAX_LEVELS: u32 = 160;

/// The two versions of an input schema, with their places in the manifests.
#[derive(Debug, Clone)]
pub(super) struct SchemaPair<'a> {
    pub(super) old: (&'a Value, Pointer),
    pub(super) new: (&'a Value, Pointer),
    pub(super) sensitivity: Sensitivity,
}

/// Returns the changes of an input schema.
pub(super) fn compare(pair: &SchemaPair<'_>) -> Vec<Change> {
    if pair.old.0 == pair.new.0 {
        return Vec::new();
    }
    let (old, new) = (SchemaIndex::new(pair.old.0), SchemaIndex::new(pair.new.0));
    // Whether an item or property is "unevaluated" depends on schemas around it.
    let context = Context {
        is_contract: true,
        is_monotone: !has_unevaluated(pair.old.0) && !has_unevaluated(pair.new.0),
    };
    let mut comparison = Comparison::new(pair, &old, &new, MAX_STEPS);
    let root = |value| vec![SchemaAt { value, pointer: Pointer::root() }];
    comparison.compare(&root(pair.old.0), &root(pair.new.0), context, Position::Schema);
    if comparison.is_too_complex {
        let place = Place::new(pair.new.1.clone());
        comparison.changes.push(place.change(ChangeKind::TooComplex, "input_schema").breaking());
    }
    comparison.changes
}

fn has_unevaluated(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(key, value)| key.starts_with("unevaluated") || has_unevaluated(value))
        }
        Value::Array(items) => items.iter().any(has_unevaluated),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// How a schema counts for the schema around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Context {
    /// Whether the table of the specification applies: not inside of `not` and `if`.
    is_contract: bool,
    /// Whether more values here are more values outside.
    is_monotone: bool,
}

impl Context {
    const INVERTED: Self = Self { is_contract: false, is_monotone: false };

    fn without_contract(self) -> Self {
        Self { is_contract: false, ..self }
    }

    fn not_monotone(self) -> Self {
        Self { is_monotone: false, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Position {
    Schema,
    AdditionalProperties,
}

/// What a change does to the values that a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The same values are allowed.
    TextOnly,
    /// At least the same values are allowed.
    Widens,
    /// Some values may no longer be allowed.
    Narrows,
    /// So, and the table of the specification calls it breaking.
    Breaks,
}

/// The two conjunctions that are compared.
struct Step<'s, 'a> {
    old: &'s Conjunction<'a>,
    new: &'s Conjunction<'a>,
    context: Context,
    /// Where the schemas are.
    place: Place,
}

struct Comparison<'a, 'i> {
    pair: &'i SchemaPair<'a>,
    old: &'i SchemaIndex<'a>,
    new: &'i SchemaIndex<'a>,
    seen: HashSet<(Identity, Identity, Context, Position)>,
    steps: u32,
    level: u32,
    is_too_complex: bool,
    /// Whether some value may no longer be allowed.
    is_narrower: bool,
    changes: Vec<Change>,
}

impl<'a, 'i> Comparison<'a, 'i> {
    fn new(pair: &'i SchemaPair<'a>, old: &'i SchemaIndex<'a>, new: &'i SchemaIndex<'a>, steps: u32) -> Self {
        Self {
            pair,
            old,
            new,
            seen: HashSet::new(),
            steps,
            level: 0,
            is_too_complex: false,
            is_narrower: false,
            changes: Vec::new(),
        }
    }

    fn compare(&mut self, old: &[SchemaAt<'a>], new: &[SchemaAt<'a>], context: Context, position: Position) {
        let Some(place) = self.place_of(new.first(), old.first()) else { return };
        let (old, new) = (Conjunction::new(self.old, old), Conjunction::new(self.new, new));
        if !self.seen.insert((old.identity(), new.identity(), context, position)) {
            return;
        }
        if self.steps == 0 || self.level == MAX_LEVELS {
            self.is_too_complex = true;
            self.is_narrower = true;
            return;
        }
        self.steps -= 1;
        self.level += 1;
        let step = Step { old: &old, new: &new, context, place };
        if old.never.is_some() || new.never.is_some() {
            self.compare_never(&step, position);
        } else {
            self.compare_keywords(&step);
            self.compare_members(&step);
            self.compare_alternatives(&step);
        }
        self.level -= 1;
    }

    /// Compares where one of the versions allows nothing.
    fn compare_never(&mut self, step: &Step<'_, 'a>, position: Position) {
        let (kind, effect) = match (step.old.never.is_some(), step.new.never.is_some(), position) {
            (true, false, Position::AdditionalProperties) => {
                (ChangeKind::AdditionalPropertiesOpened, Effect::Widens)
            }
            (false, true, Position::AdditionalProperties) => {
                (ChangeKind::AdditionalPropertiesClosed, Effect::Breaks)
            }
            (true, false, Position::Schema) => (ChangeKind::ValuesAllowed, Effect::Widens),
            (false, true, Position::Schema) => (ChangeKind::ValuesForbidden, Effect::Narrows),
            (true, true, _) | (false, false, _) => return,
        };
        let subject = match position {
            Position::AdditionalProperties => "additionalProperties",
            Position::Schema => "schema",
        };
        self.add(step.context, step.place.change(kind, subject), effect);
    }

    fn add(&mut self, context: Context, change: Change, effect: Effect) {
        let is_narrower = match effect {
            Effect::TextOnly => false,
            Effect::Widens => !context.is_monotone,
            Effect::Narrows | Effect::Breaks => true,
        };
        self.is_narrower |= is_narrower;
        self.changes.push(if effect == Effect::Breaks && context.is_contract {
            change.breaking()
        } else if is_narrower {
            change.consent(Consent::ReConsent)
        } else {
            change.consent(widening(self.pair.sensitivity))
        });
    }

    /// Returns the place of a schema: in the new manifest if it is there.
    fn place_of(&self, new: Option<&SchemaAt<'a>>, old: Option<&SchemaAt<'a>>) -> Option<Place> {
        match (new, old) {
            (Some(at), _) => Some(Place::new(self.pair.new.1.join(at.pointer.as_str()))),
            (None, Some(at)) => Some(Place::old(self.pair.old.1.join(at.pointer.as_str()))),
            (None, None) => None,
        }
    }

    /// Returns the place of a keyword, or of its schema if neither version has it.
    fn place_of_keyword(&self, step: &Step<'_, 'a>, name: &str) -> Place {
        let (new, old) = (step.new.keyword(name), step.old.keyword(name));
        self.place_of(new.first(), old.first()).unwrap_or_else(|| step.place.clone())
    }

    /// Compares without a trace, to choose between pairs of schemas.
    fn probe(&mut self, old: &Node<'a>, new: &Node<'a>, context: Context) -> Probe {
        let mut probe =
            Comparison { level: self.level, ..Comparison::new(self.pair, self.old, self.new, self.steps) };
        probe.compare(old, new, context, Position::Schema);
        self.steps = probe.steps;
        let changes = &probe.changes;
        Probe {
            is_narrower: probe.is_narrower,
            distance: [
                usize::from(probe.is_too_complex),
                changes.iter().filter(|change| change.contract == Contract::Breaking).count(),
                usize::from(probe.is_narrower),
                changes.len(),
            ],
        }
    }
}

/// The result of a comparison that is only tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    is_narrower: bool,
    distance: Distance,
}
