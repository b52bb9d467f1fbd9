//! How much work a validator has with a schema, when each reference is replaced by what it leads to.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::pointer::Pointer;
use super::schema_walk::{Applied, REFERENCES, SchemaIndex, Subschema, subschemas};

/// Schemas after every reference is replaced: a validator visits each once for a value without recursion.
pub(super) const MAX_PARTS: u64 = 50_000;

/// Nesting over references. Validators recurse.
pub(super) const MAX_LEVELS: u32 = 128;

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SchemaCostError {
    TooExpensive,
    /// A schema that applies itself to the same value: a validator would never end.
    Circle(Pointer),
}

/// Checks that the work is bounded.
pub(super) fn measure(index: &SchemaIndex<'_>) -> Result<(), SchemaCostError> {
    let mut parts = Walk::new(index, Edges::All);
    for (pointer, value) in index.all() {
        parts.visit(value, pointer, 0)?;
    }
    let mut in_place = Walk::new(index, Edges::InPlace);
    for (pointer, value) in index.all() {
        in_place.visit(value, pointer, 0)?;
    }
    Ok(())
}

/// Which schemas are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edges {
    /// All. A reference back to a schema that is being visited is recursion, which the depth of the value bounds.
    All,
    /// Those that are applied to the same value.
    InPlace,
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    parts: u64,
    levels: u32,
}

struct Walk<'a, 'i> {
    index: &'i SchemaIndex<'a>,
    edges: Edges,
    costs: HashMap<Pointer, Cost>,
    open: HashSet<Pointer>,
}

impl<'a, 'i> Walk<'a, 'i> {
    fn new(index: &'i SchemaIndex<'a>, edges: Edges) -> Self {
        Self { index, edges, costs: HashMap::new(), open: HashSet::new() }
    }

    fn visit(&mut self, value: &'a Value, at: &Pointer, depth: u32) -> Result<Cost, SchemaCostError> {
        if let Some(cost) = self.costs.get(at) {
            return Ok(*cost);
        }
        let mut cost = Cost { parts: 1, levels: 1 };
        if self.open.contains(at) {
            return match self.edges {
                Edges::All => Ok(cost),
                Edges::InPlace => Err(SchemaCostError::Circle(at.clone())),
            };
        }
        if depth > MAX_LEVELS {
            return Err(SchemaCostError::TooExpensive);
        }
        self.open.insert(at.clone());
        for next in self.next(value, at) {
            let inner = self.visit(next.value, &next.pointer, depth + 1)?;
            cost.parts = cost.parts.saturating_add(inner.parts);
            cost.levels = cost.levels.max(inner.levels + 1);
        }
        self.open.remove(at);
        if cost.parts > MAX_PARTS || cost.levels > MAX_LEVELS {
            return Err(SchemaCostError::TooExpensive);
        }
        self.costs.insert(at.clone(), cost);
        Ok(cost)
    }

    fn next(&self, value: &'a Value, at: &Pointer) -> Vec<Subschema<'a>> {
        let Some(schema) = value.as_object() else { return Vec::new() };
        let mut next = subschemas(schema, at);
        next.retain(|child| match self.edges {
            Edges::All => child.applied != Applied::Never,
            Edges::InPlace => child.applied == Applied::InPlace,
        });
        let references = REFERENCES.iter().filter_map(|name| schema.get(*name)?.as_str());
        next.extend(references.filter_map(|reference| {
            let (pointer, value) = self.index.resolve(reference)?;
            Some(Subschema { value, pointer, applied: Applied::InPlace })
        }));
        next
    }
}
