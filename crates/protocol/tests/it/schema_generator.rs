//! Random input schemas over few names and values, so that they meet.

use guildhall_testkit::Rounds;
use serde_json::{Map, Value, json};

/// Names of properties.
pub(crate) const NAMES: [&str; 4] = ["a", "b", "ab", "c"];

/// Which keywords a schema has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeneratedKeywords {
    All,
    /// Those for which more values inside are more values outside.
    Monotone,
}

/// Returns one of some values.
pub(crate) fn choose<T: Copy>(random: &mut Rounds, items: &[T]) -> T {
    items[random.random_index(items.len())]
}

/// Returns whether an event of this probability in percent happens.
pub(crate) fn percent(random: &mut Rounds, probability: usize) -> bool {
    random.random_index(100) < probability
}

/// Returns a schema of an object with definitions that it refers to.
pub(crate) fn input_schema(random: &mut Rounds, keywords: GeneratedKeywords) -> Value {
    let mut generator = SchemaGenerator { random, keywords, has_references: false };
    let defs = json!({ "d0": generator.schema(2), "d1": generator.schema(1) });
    generator.has_references = true;
    let mut schema = generator.object(3);
    schema.insert("$defs".to_owned(), defs);
    Value::Object(schema)
}

/// Returns a schema without references.
pub(crate) fn any_schema(random: &mut Rounds, keywords: GeneratedKeywords) -> Value {
    SchemaGenerator { random, keywords, has_references: false }.schema(2)
}

struct SchemaGenerator<'r> {
    random: &'r mut Rounds,
    keywords: GeneratedKeywords,
    has_references: bool,
}

impl SchemaGenerator<'_> {
    fn schema(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 6 } else { 15 };
        match self.random.random_index(kinds) {
            0 => self.string(),
            1 | 2 => self.number(),
            3 => json!({ "type": choose(self.random, &["boolean", "null", "string", "object"]) }),
            4 => self.finite(),
            5 if self.has_references => json!({ "$ref": choose(self.random, &["#/$defs/d0", "#/$defs/d1"]) }),
            5 => json!({ "type": ["string", "null"] }),
            6..=9 => Value::Object(self.object(depth - 1)),
            10 => self.array(depth - 1),
            11 => json!({ "anyOf": [self.schema(depth - 1), self.schema(depth - 1)] }),
            12 => json!({ "allOf": [self.schema(depth - 1), self.schema(depth - 1)], "minProperties": 0 }),
            13 => json!(percent(self.random, 80)),
            _ => self.special(depth - 1),
        }
    }

    fn string(&mut self) -> Value {
        let mut schema = json!({ "type": "string" });
        if percent(self.random, 40) {
            schema["minLength"] = json!(self.random.random_index(3));
        }
        if percent(self.random, 40) {
            schema["maxLength"] = json!(1 + self.random.random_index(3));
        }
        if percent(self.random, 30) {
            schema["pattern"] = json!(choose(self.random, &["^a", "b", "^[ab]*$"]));
        }
        schema
    }

    fn number(&mut self) -> Value {
        let mut schema = json!({ "type": choose(self.random, &["integer", "number"]) });
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
            if percent(self.random, 20) {
                schema[keyword] = json!(1 + self.random.random_index(4));
            }
        }
        schema
    }

    fn finite(&mut self) -> Value {
        let values = [json!("a"), json!("b"), json!(1), json!(2), json!(null), json!(true)];
        if percent(self.random, 30) {
            return json!({ "const": values[self.random.random_index(values.len())] });
        }
        let count = 1 + self.random.random_index(3);
        let start = self.random.random_index(values.len());
        let chosen: Vec<_> = values.iter().cycle().skip(start).take(count).collect();
        json!({ "enum": chosen })
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for name in NAMES {
            if percent(self.random, 50) {
                properties.insert(name.to_owned(), self.schema(depth));
            }
            if percent(self.random, 25) {
                required.push(name);
            }
        }
        let mut schema = Map::from_iter([("properties".to_owned(), Value::Object(properties))]);
        let mut insert = |name: &str, value: Value| schema.insert(name.to_owned(), value);
        if percent(self.random, 70) {
            insert("type", json!("object"));
        }
        if percent(self.random, 60) {
            insert("required", json!(required));
        }
        match self.random.random_index(6) {
            0..=2 => {
                insert("additionalProperties", json!(false));
            }
            3 => {
                insert("additionalProperties", self.schema(0));
            }
            _ => {}
        }
        if percent(self.random, 15) {
            insert("patternProperties", json!({ "^a": self.schema(0) }));
        }
        if percent(self.random, 10) {
            insert("maxProperties", json!(1 + self.random.random_index(3)));
        }
        if percent(self.random, 10) {
            insert("propertyNames", json!({ "maxLength": 1 + self.random.random_index(2) }));
        }
        if percent(self.random, 10) {
            insert("dependentRequired", json!({ "a": ["b"] }));
        }
        schema
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut schema = json!({ "type": "array" });
        if percent(self.random, 60) {
            schema["items"] = self.schema(depth);
        }
        if percent(self.random, 40) {
            schema["prefixItems"] = json!([self.schema(depth), self.schema(0)]);
        }
        if percent(self.random, 30) {
            schema["minItems"] = json!(self.random.random_index(3));
        }
        if percent(self.random, 20) {
            schema["contains"] = self.schema(0);
        }
        if self.keywords == GeneratedKeywords::All && percent(self.random, 20) {
            schema["maxContains"] = json!(1);
        }
        schema
    }

    /// Keywords with which more values inside may be fewer outside.
    fn special(&mut self, depth: usize) -> Value {
        if self.keywords == GeneratedKeywords::Monotone {
            return json!({ "dependentSchemas": { "a": self.schema(depth) } });
        }
        match self.random.random_index(5) {
            0 => json!({ "not": self.schema(depth) }),
            1 => json!({ "oneOf": [self.schema(depth), self.schema(depth)] }),
            2 => json!({ "if": self.schema(0), "then": self.schema(depth), "else": self.schema(0) }),
            3 => json!({ "anyOf": [self.schema(depth), self.schema(0)], "unevaluatedProperties": false }),
            _ => {
                json!({ "prefixItems": [self.schema(0)], "unevaluatedItems": self.schema(0), "type": "array" })
            }
        }
    }
}
