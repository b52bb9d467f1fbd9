//! Compatibility of two JSON schemas, by the direction in which the JSON travels.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Comparison, Direction, Node};

/// Request constraints of which a larger value accepts more.
const UPPER_BOUNDS: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/// Request constraints of which a smaller value accepts more.
const LOWER_BOUNDS: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/// Request constraints that cannot be ordered: any other value may accept less.
const EXACT_CONSTRAINTS: [&str; 4] = ["pattern", "multipleOf", "uniqueItems", "not"];
/// Applied to the members of one schema, so compared in order.
const ALL_OF: &str = "allOf";

impl<'a> Comparison<'a> {
    pub(super) fn compare_schemas(&mut self, direction: Direction, old: Node<'a>, new: Node<'a>) {
        let (old, new) = (old.resolve(self.baseline), new.resolve(self.current));
        if !self.compared.insert((old.pointer.clone(), new.pointer.clone(), direction)) {
            return;
        }
        if is_union(&old) || is_union(&new) {
            return self.compare_unions(direction, &old, &new);
        }
        let (before, after) = (type_names(&old), type_names(&new));
        if !is_compatible(direction, &before, &after, includes_type) {
            let change = format!("type changed from {} to {}", format_types(&before), format_types(&after));
            return self.report(&old.pointer, change);
        }
        self.compare_values(direction, &old, &new);
        self.compare_formats(direction, &old, &new);
        if direction == Direction::Request {
            self.compare_constraints(&old, &new);
        }
        self.compare_properties(direction, &old, &new);
        self.compare_additional_properties(direction, &old, &new);
        self.compare_items(direction, &old, &new);
        self.compare_all_of(direction, &old, &new);
    }

    /// Each variant that one side may send must be accepted by a variant of the side that reads it.
    fn compare_unions(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        let (before, after) = (variants(old, self.baseline), variants(new, self.current));
        let accepts = |old: &Node<'a>, new: &Node<'a>| self.is_compatible_variant(direction, old, new);
        let unmatched_old: Vec<&Node<'a>> =
            before.iter().filter(|old| !after.iter().any(|new| accepts(old, new))).collect();
        let unmatched_new: Vec<&Node<'a>> =
            after.iter().filter(|new| !before.iter().any(|old| accepts(old, new))).collect();
        match (direction, unmatched_old.as_slice(), unmatched_new.as_slice()) {
            (Direction::Request, [], _) | (Direction::Response, _, []) => {}
            // One variant changed: name the change inside of it.
            (_, [old], [new]) if type_names(old) == type_names(new) => {
                self.compare_schemas(direction, (*old).clone(), (*new).clone());
            }
            (Direction::Request, removed, _) => {
                let count = removed.len();
                self.report(&old.pointer, format!("{count} variant(s) removed or no longer accepted"));
            }
            (Direction::Response, _, added) => {
                let count = added.len();
                self.report(&old.pointer, format!("{count} new variant(s) in a response"));
            }
        }
    }

    fn is_compatible_variant(&self, direction: Direction, old: &Node<'a>, new: &Node<'a>) -> bool {
        let mut trial = Comparison::new(self.baseline, self.current);
        // A schema may contain itself: what is being compared further up is not compared again.
        trial.compared.clone_from(&self.compared);
        trial.compare_schemas(direction, old.clone(), new.clone());
        trial.changes.is_empty()
    }

    fn compare_values(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        let (before, after) = (enum_values(old), enum_values(new));
        if is_compatible(direction, &before, &after, BTreeSet::contains) {
            return;
        }
        let empty = BTreeSet::new();
        let (before_set, after_set) = (before.as_ref().unwrap_or(&empty), after.as_ref().unwrap_or(&empty));
        let pointer = old.pointer_to("enum");
        let list = |values: &mut dyn Iterator<Item = &String>| {
            values.map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        match (direction, &before, &after) {
            (Direction::Request, None, _) => self.report(&pointer, "values are now restricted to an enum"),
            (Direction::Request, ..) => {
                let removed = list(&mut before_set.difference(after_set));
                self.report(&pointer, format!("enum value removed: {removed}"));
            }
            (Direction::Response, _, None) => {
                self.report(&pointer, "values are no longer restricted to the enum");
            }
            (Direction::Response, ..) => {
                let added = list(&mut after_set.difference(before_set));
                self.report(&pointer, format!("new enum value in a response: {added}"));
            }
        }
    }

    fn compare_formats(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        let (before, after) = (old.text("format"), new.text("format"));
        let is_allowed = match direction {
            Direction::Request => after.is_none(),
            Direction::Response => before.is_none(),
        };
        if before != after && !is_allowed {
            let (before, after) = (before.unwrap_or("none"), after.unwrap_or("none"));
            self.report(&old.pointer_to("format"), format!("format changed from {before} to {after}"));
        }
    }

    /// A request that was valid must stay valid. Responses promise no bounds.
    fn compare_constraints(&mut self, old: &Node<'a>, new: &Node<'a>) {
        let is_tighter = |name: &str, tighter: fn(f64, f64) -> bool| {
            let after = new.value.get(name).and_then(Value::as_f64);
            let before = old.value.get(name).and_then(Value::as_f64);
            after.is_some_and(|after| before.is_none_or(|before| tighter(after, before)))
        };
        let lowered = UPPER_BOUNDS.into_iter().filter(|name| is_tighter(name, |new, old| new < old));
        let raised = LOWER_BOUNDS.into_iter().filter(|name| is_tighter(name, |new, old| new > old));
        let changed = EXACT_CONSTRAINTS.into_iter().filter(|name| {
            new.value.get(name).is_some_and(|value| value != false && Some(value) != old.value.get(name))
        });
        for name in lowered.chain(raised).chain(changed).collect::<Vec<_>>() {
            let show = |node: &Node<'_>| node.value.get(name).map_or("none".to_owned(), Value::to_string);
            let problem = format!("{name} changed from {} to {}", show(old), show(new));
            self.report(&old.pointer_to(name), problem);
        }
    }

    fn compare_properties(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        let after = new.get("properties");
        for (name, property) in old.get("properties").map(|node| node.members()).unwrap_or_default() {
            match after.as_ref().and_then(|properties| properties.get(name)) {
                None => self.report(&property.pointer, "property removed"),
                Some(new) => self.compare_schemas(direction, property, new),
            }
        }
        let (before, after) = (required(old), required(new));
        match direction {
            Direction::Request => {
                for name in after.difference(&before) {
                    self.report(&old.pointer_to("required"), format!("property `{name}` is now required"));
                }
            }
            Direction::Response => {
                // A removed property is reported as such.
                let is_kept = |name: &&&str| new.get("properties").is_some_and(|all| all.get(name).is_some());
                for name in before.difference(&after).filter(is_kept) {
                    self.report(&old.pointer_to("required"), format!("property `{name}` is now optional"));
                }
            }
        }
    }

    fn compare_additional_properties(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        const KEY: &str = "additionalProperties";
        let pointer = old.pointer_to(KEY);
        let is_schema = |node: &Option<Node<'a>>| node.as_ref().is_some_and(|node| node.value.is_object());
        let is_closed = |node: &Option<Node<'a>>| node.as_ref().is_some_and(|node| node.value == false);
        let (before, after) = (old.get(KEY), new.get(KEY));
        if is_schema(&before) && !is_schema(&after) {
            // Open for any value is more than the schema allowed: fine in a request.
            if direction == Direction::Response || is_closed(&after) {
                self.report(&pointer, "additional properties removed");
            }
        } else if let (true, Some(old), Some(new)) = (is_schema(&before), before.clone(), after.clone()) {
            self.compare_schemas(direction, old, new);
        } else if direction == Direction::Request
            && !is_closed(&before)
            && (is_closed(&after) || is_schema(&after))
        {
            self.report(&pointer, "additional properties are no longer accepted");
        }
    }

    fn compare_items(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        match (old.get("items"), new.get("items")) {
            (Some(old), Some(new)) => self.compare_schemas(direction, old, new),
            (Some(old), None) if direction == Direction::Response => {
                self.report(&old.pointer, "schema of the items removed");
            }
            (None, Some(_)) if direction == Direction::Request => {
                self.report(&old.pointer_to("items"), "items are now restricted by a schema");
            }
            (Some(_) | None, _) => {}
        }
    }

    fn compare_all_of(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        let elements = |node: &Node<'a>| node.get(ALL_OF).map(|list| list.elements()).unwrap_or_default();
        let (before, after) = (elements(old), elements(new));
        if before.len() != after.len() {
            return self.report(&old.pointer_to(ALL_OF), "number of combined schemas changed");
        }
        for (old, new) in before.into_iter().zip(after) {
            self.compare_schemas(direction, old, new);
        }
    }
}

/// Compares two sets of which `None` holds everything: requests may widen, responses may narrow.
fn is_compatible<T: Ord>(
    direction: Direction,
    before: &Option<BTreeSet<T>>,
    after: &Option<BTreeSet<T>>,
    includes: fn(&BTreeSet<T>, &T) -> bool,
) -> bool {
    let (narrow, wide) = match direction {
        Direction::Request => (before, after),
        Direction::Response => (after, before),
    };
    match (narrow, wide) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(narrow), Some(wide)) => narrow.iter().all(|value| includes(wide, value)),
    }
}

fn includes_type(types: &BTreeSet<&str>, name: &&str) -> bool {
    types.contains(name) || (*name == "integer" && types.contains("number"))
}

fn type_names<'a>(node: &Node<'a>) -> Option<BTreeSet<&'a str>> {
    let value = node.value.get("type")?;
    let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    Some(names.iter().filter_map(Value::as_str).collect())
}

fn format_types(types: &Option<BTreeSet<&str>>) -> String {
    types.as_ref().map_or("any".to_owned(), |types| types.iter().copied().collect::<Vec<_>>().join("|"))
}

/// Returns the values of `enum` or `const` as JSON text.
fn enum_values(node: &Node<'_>) -> Option<BTreeSet<String>> {
    let constant = node.value.get("const").map(|value| BTreeSet::from([value.to_string()]));
    let values = node.value.get("enum").and_then(Value::as_array);
    constant.or_else(|| values.map(|values| values.iter().map(Value::to_string).collect()))
}

fn required<'a>(node: &Node<'a>) -> BTreeSet<&'a str> {
    let names = node.value.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_union(node: &Node<'_>) -> bool {
    node.value.get("oneOf").or_else(|| node.value.get("anyOf")).is_some()
}

/// Returns the alternatives of a schema; one without alternatives is its own only one.
fn variants<'a>(node: &Node<'a>, document: &'a Value) -> Vec<Node<'a>> {
    let union = node.get("oneOf").or_else(|| node.get("anyOf"));
    let nodes = union.map_or_else(|| vec![node.clone()], |list| list.elements());
    nodes.into_iter().map(|node| node.resolve(document)).collect()
}
