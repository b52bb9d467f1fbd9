//! Compares two OpenAPI documents and lists the changes that break existing clients.
//!
//! Allowed: new paths, methods, response statuses and optional properties or parameters; looser request constraints;
//! any change of summaries, descriptions, examples, tags, operation ids, schema names and path parameter names.

mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// One change that breaks existing clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BreakingChange {
    /// JSON pointer into the baseline.
    pub(crate) pointer: String,
    /// First operation that is affected, such as `POST /api/v1/runs`.
    pub(crate) operation: String,
    pub(crate) problem: String,
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.pointer, self.problem, self.operation)
    }
}

/// Lists the incompatible changes from `baseline` to `current`. Each place is reported once.
pub(crate) fn breaking_changes(baseline: &Value, current: &Value) -> Vec<BreakingChange> {
    let mut comparison = Comparison::new(baseline, current);
    comparison.compare_paths();
    comparison.changes
}

/// Who writes the JSON that a schema describes: narrowing breaks requests, widening breaks responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Request,
    Response,
}

/// A value and its JSON pointer in its document.
#[derive(Debug, Clone)]
struct Node<'a> {
    value: &'a Value,
    pointer: String,
}

impl<'a> Node<'a> {
    fn root(document: &'a Value) -> Self {
        Self { value: document, pointer: String::new() }
    }

    fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| Self { value, pointer: self.pointer_to(key) })
    }

    fn index(&self, index: usize) -> Option<Self> {
        self.value.get(index).map(|value| Self { value, pointer: format!("{}/{index}", self.pointer) })
    }

    /// Returns the members of an object, or nothing for any other value.
    fn members(&self) -> Vec<(&'a str, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members.map(|(key, value)| (key.as_str(), Self { value, pointer: self.pointer_to(key) })).collect()
    }

    /// Returns the elements of an array, or nothing for any other value.
    fn elements(&self) -> Vec<Self> {
        (0..self.value.as_array().map_or(0, Vec::len)).filter_map(|index| self.index(index)).collect()
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    fn is_true(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|value| value == true)
    }

    fn pointer_to(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"))
    }

    /// Follows `$ref`s inside `document`. A reference that leads nowhere stays as it is.
    fn resolve(mut self, document: &'a Value) -> Self {
        // The limit ends a chain of references that point at each other.
        for _ in 0..32 {
            let target = self.text("$ref").and_then(|reference| reference.strip_prefix('#'));
            let Some((pointer, value)) = target.and_then(|p| Some((p, document.pointer(p)?))) else { break };
            self = Self { value, pointer: pointer.to_owned() };
        }
        self
    }
}

struct Comparison<'a> {
    baseline: &'a Value,
    current: &'a Value,
    operation: String,
    changes: Vec<BreakingChange>,
    /// Schema pairs that were compared: ends recursion, and reports a shared schema once.
    compared: BTreeSet<(String, String, Direction)>,
}

impl<'a> Comparison<'a> {
    fn new(baseline: &'a Value, current: &'a Value) -> Self {
        Self { baseline, current, operation: String::new(), changes: Vec::new(), compared: BTreeSet::new() }
    }

    fn report(&mut self, pointer: &str, problem: impl Into<String>) {
        let (pointer, problem) = (pointer.to_owned(), problem.into());
        if !self.changes.iter().any(|change| change.pointer == pointer && change.problem == problem) {
            self.changes.push(BreakingChange { pointer, operation: self.operation.clone(), problem });
        }
    }

    fn compare_paths(&mut self) {
        let current_paths =
            Node::root(self.current).get("paths").map(|paths| paths.members()).unwrap_or_default();
        let current: BTreeMap<String, (&str, Node<'a>)> = current_paths
            .into_iter()
            .map(|(path, node)| (without_names(path), (path, node.resolve(self.current))))
            .collect();
        for (path, old) in
            Node::root(self.baseline).get("paths").map(|paths| paths.members()).unwrap_or_default()
        {
            let old = old.resolve(self.baseline);
            let new = current.get(&without_names(path));
            for method in METHODS {
                let Some(old_operation) = old.get(method) else { continue };
                self.operation = format!("{} {path}", method.to_uppercase());
                match new.and_then(|(new_path, new)| Some((*new_path, new, new.get(method)?))) {
                    None => self.report(&old_operation.pointer, "operation removed"),
                    Some((new_path, new, new_operation)) => {
                        let old = Operation { path, item: &old, node: old_operation };
                        let new = Operation { path: new_path, item: new, node: new_operation };
                        self.compare_operations(&old, &new);
                    }
                }
            }
        }
    }

    fn compare_operations(&mut self, old: &Operation<'_, 'a>, new: &Operation<'_, 'a>) {
        self.compare_security(&old.node, &new.node);
        self.compare_parameters(old, new);
        self.compare_request_bodies(&old.node, &new.node);
        self.compare_responses(&old.node, &new.node);
    }

    /// A caller who was let in by one scheme must still be let in by it.
    fn compare_security(&mut self, old: &Node<'a>, new: &Node<'a>) {
        let before = security_alternatives(self.baseline, old);
        let after = security_alternatives(self.current, new);
        let refused = before.iter().find(|schemes| !after.iter().any(|needed| needed.is_subset(schemes)));
        if let Some(schemes) = refused {
            let schemes: Vec<&str> = schemes.iter().copied().collect();
            let with = if schemes.is_empty() { "no credentials".to_owned() } else { schemes.join(" and ") };
            self.report(&old.pointer_to("security"), format!("requests with {with} are no longer accepted"));
        }
    }

    fn compare_parameters(&mut self, old: &Operation<'_, 'a>, new: &Operation<'_, 'a>) {
        let before = old.parameters(self.baseline);
        let after = new.parameters(self.current);
        for (key, old) in &before {
            let Some(new) = after.get(key) else {
                self.report(&old.pointer, format!("{key} removed"));
                continue;
            };
            if new.is_true("required") && !old.is_true("required") {
                self.report(&old.pointer, format!("{key} is now required"));
            }
            if let (Some(old), Some(new)) = (old.get("schema"), new.get("schema")) {
                self.compare_schemas(Direction::Request, old, new);
            }
        }
        for (key, parameter) in &after {
            if !before.contains_key(key) && parameter.is_true("required") {
                self.report(&old.node.pointer_to("parameters"), format!("new required {key}"));
            }
        }
    }

    fn compare_request_bodies(&mut self, old: &Node<'a>, new: &Node<'a>) {
        let before = old.get("requestBody").map(|body| body.resolve(self.baseline));
        let after = new.get("requestBody").map(|body| body.resolve(self.current));
        match (before, after) {
            (Some(old), Some(new)) => {
                if new.is_true("required") && !old.is_true("required") {
                    self.report(&old.pointer, "request body is now required");
                }
                self.compare_content(Direction::Request, &old, &new);
            }
            (Some(old), None) => self.report(&old.pointer, "request body removed"),
            (None, Some(new)) if new.is_true("required") => {
                self.report(&old.pointer_to("requestBody"), "new required request body");
            }
            (None, _) => {}
        }
    }

    fn compare_responses(&mut self, old: &Node<'a>, new: &Node<'a>) {
        for (status, old) in old.get("responses").map(|responses| responses.members()).unwrap_or_default() {
            let old = old.resolve(self.baseline);
            let Some(new) = new.get("responses").and_then(|responses| responses.get(status)) else {
                self.report(&old.pointer, format!("response status {status} removed"));
                continue;
            };
            let new = new.resolve(self.current);
            self.compare_content(Direction::Response, &old, &new);
            for (name, header) in old.get("headers").map(|headers| headers.members()).unwrap_or_default() {
                if new.get("headers").is_none_or(|headers| headers.get(name).is_none()) {
                    self.report(&header.pointer, format!("response header {name} removed"));
                }
            }
        }
    }

    fn compare_content(&mut self, direction: Direction, old: &Node<'a>, new: &Node<'a>) {
        for (media_type, old) in old.get("content").map(|content| content.members()).unwrap_or_default() {
            let Some(new) = new.get("content").and_then(|content| content.get(media_type)) else {
                self.report(&old.pointer, format!("media type {media_type} removed"));
                continue;
            };
            if let (Some(old), Some(new)) = (old.get("schema"), new.get("schema")) {
                self.compare_schemas(direction, old, new);
            }
        }
    }
}

/// An operation with the path item that holds it.
struct Operation<'n, 'a> {
    path: &'n str,
    item: &'n Node<'a>,
    node: Node<'a>,
}

impl<'a> Operation<'_, 'a> {
    /// Returns the parameters by what names them on the wire: place and name, or position in the path.
    fn parameters(&self, document: &'a Value) -> BTreeMap<String, Node<'a>> {
        let names: Vec<&str> = self.path.split(['{', '}']).skip(1).step_by(2).collect();
        let mut parameters = BTreeMap::new();
        for list in [self.item.get("parameters"), self.node.get("parameters")].into_iter().flatten() {
            for parameter in list.elements() {
                let parameter = parameter.resolve(document);
                let name = parameter.text("name").unwrap_or_default();
                let place = parameter.text("in").unwrap_or_default();
                let position = names.iter().position(|&each| each == name).filter(|_| place == "path");
                let key = match position {
                    Some(position) => format!("path parameter {}", position + 1),
                    None => format!("{place} parameter `{name}`"),
                };
                parameters.insert(key, parameter);
            }
        }
        parameters
    }
}

/// Returns the path with unnamed parameters: their names do not appear on the wire.
fn without_names(path: &str) -> String {
    path.split('{')
        .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
        .collect::<Vec<_>>()
        .join("{}")
}

/// Returns the sets of security schemes that each authenticate a caller; an empty set means no credentials.
fn security_alternatives<'a>(document: &'a Value, operation: &Node<'a>) -> Vec<BTreeSet<&'a str>> {
    let requirements = operation.value.get("security").or_else(|| document.get("security"));
    match requirements.and_then(Value::as_array) {
        Some(list) if !list.is_empty() => list
            .iter()
            .map(|schemes| schemes.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect())
            .collect(),
        _ => vec![BTreeSet::new()],
    }
}

#[cfg(test)]
mod tests;
