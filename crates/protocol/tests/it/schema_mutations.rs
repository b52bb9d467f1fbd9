//! Random changes of schemas.

use guildhall_testkit::Rounds;
use serde_json::{Map, Value, json};

use crate::schema_generator::{GeneratedKeywords, NAMES, any_schema, choose, percent};

/// Where a walk into a schema may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    All,
    /// Not where more values inside may be fewer outside.
    Monotone,
}

/// Changes a schema at one place, in any way.
pub(crate) fn mutate(random: &mut Rounds, schema: &mut Value) {
    let place = descend(random, schema, Paths::All, 60);
    match random.random_index(8) {
        0 => *place = any_schema(random, GeneratedKeywords::All),
        1 => {
            let all_of = percent(random, 50);
            let (inner, other) = (place.take(), any_schema(random, GeneratedKeywords::All));
            *place =
                if all_of { json!({ "allOf": [inner, other] }) } else { json!({ "anyOf": [other, inner] }) };
        }
        2 => widen_place(random, place),
        _ => mutate_keyword(random, place),
    }
}

/// Changes a schema at one place, so that it allows at least the same values.
pub(crate) fn widen(random: &mut Rounds, schema: &mut Value) {
    let place = descend(random, schema, Paths::Monotone, 70);
    widen_place(random, place);
}

/// Returns a random schema inside of a schema. `probability` to go on at each level, in percent.
fn descend<'a>(
    random: &mut Rounds,
    schema: &'a mut Value,
    paths: Paths,
    probability: usize,
) -> &'a mut Value {
    let mut children = child_pointers(schema, paths);
    if children.is_empty() || !percent(random, probability) {
        return schema;
    }
    let child = children.swap_remove(random.random_index(children.len()));
    match schema.pointer_mut(&child) {
        Some(child) => descend(random, child, paths, probability),
        None => unreachable!("the pointer was just made"),
    }
}

fn child_pointers(schema: &Value, paths: Paths) -> Vec<String> {
    let mut found = Vec::new();
    let Some(object) = schema.as_object() else { return found };
    for (keyword, value) in object {
        let turns = ["not", "if", "oneOf", "unevaluatedProperties", "unevaluatedItems"];
        let is_bounded = keyword == "contains" && object.contains_key("maxContains");
        if paths == Paths::Monotone && (turns.contains(&keyword.as_str()) || is_bounded) {
            continue;
        }
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "dependentSchemas", Value::Object(schemas)) => {
                found.extend(schemas.keys().map(|name| format!("/{keyword}/{name}")));
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                found.extend((0..schemas.len()).map(|index| format!("/{keyword}/{index}")));
            }
            (
                "items"
                | "additionalProperties"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                _,
            ) => found.push(format!("/{keyword}")),
            _ => {}
        }
    }
    found
}

fn mutate_keyword(random: &mut Rounds, place: &mut Value) {
    let other = any_schema(random, GeneratedKeywords::All);
    let Some(object) = place.as_object_mut() else {
        *place = other;
        return;
    };
    let keys: Vec<String> = object.keys().filter(|key| *key != "$defs").cloned().collect();
    if percent(random, 40) || keys.is_empty() {
        // A keyword of another schema.
        let other = other.as_object().cloned().unwrap_or_default();
        if let Some((key, value)) = other.into_iter().next_back() {
            object.insert(key, value);
        }
        return;
    }
    let key = &keys[random.random_index(keys.len())];
    let Some(value) = object.get_mut(key) else { return };
    match value {
        Value::Number(number) if percent(random, 70) => {
            let number = number.as_u64().unwrap_or(1);
            *value = json!(if percent(random, 50) { number + 1 } else { number.max(2) - 1 });
        }
        Value::Bool(boolean) if percent(random, 70) => *boolean = !*boolean,
        Value::Array(items) if key == "required" => match items.iter().position(|_| percent(random, 40)) {
            Some(index) => drop(items.remove(index)),
            None => {
                let missing = NAMES.iter().find(|name| !items.iter().any(|item| item == *name));
                items.extend(missing.map(|name| json!(name)));
            }
        },
        Value::Array(items) if items.len() > 1 && percent(random, 70) => {
            items.remove(random.random_index(items.len()));
        }
        Value::String(text) if key == "type" => {
            *text = choose(random, &["string", "object", "integer"]).to_owned()
        }
        Value::Object(members) if !members.is_empty() && percent(random, 60) => {
            let names: Vec<String> = members.keys().cloned().collect();
            members.remove(&names[random.random_index(names.len())]);
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            object.remove(key);
        }
    }
}

fn widen_place(random: &mut Rounds, place: &mut Value) {
    let inserted = any_schema(random, GeneratedKeywords::Monotone);
    let Some(object) = place.as_object_mut() else {
        if *place == Value::Bool(false) {
            *place = inserted;
        }
        return;
    };
    let keys: Vec<String> = object.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    match keys[random.random_index(keys.len())].as_str() {
        "type" => widen_type(random, object),
        "required" => {
            if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
                required.pop();
            }
        }
        "enum" => {
            if let Some(values) = object.get_mut("enum").and_then(Value::as_array_mut) {
                values.insert(
                    random.random_index(values.len() + 1),
                    json!({ "new": random.random_index(1000) }),
                );
            }
        }
        "additionalProperties" => {
            if object.get("additionalProperties") == Some(&Value::Bool(false)) && percent(random, 50) {
                object.insert("additionalProperties".to_owned(), inserted);
            } else {
                object.remove("additionalProperties");
            }
        }
        "properties" => add_property(random, object, inserted),
        "anyOf" => {
            if let Some(branches) = object.get_mut("anyOf").and_then(Value::as_array_mut) {
                branches.insert(random.random_index(branches.len() + 1), inserted);
            }
        }
        key @ ("minLength" | "minItems" | "minProperties" | "maxLength" | "maxProperties" | "minimum"
        | "maximum" | "exclusiveMinimum" | "exclusiveMaximum") => loosen_bound(random, object, key),
        key @ ("pattern" | "contains" | "propertyNames" | "dependentRequired" | "dependentSchemas"
        | "allOf" | "multipleOf") => {
            object.remove(key);
            if key == "contains" {
                object.remove("maxContains");
            }
        }
        _ => {}
    }
}

fn widen_type(random: &mut Rounds, object: &mut Map<String, Value>) {
    let mut types: Vec<Value> = match object.get("type") {
        Some(Value::Array(types)) => types.clone(),
        Some(one) => vec![one.clone()],
        None => return,
    };
    let more = json!(choose(random, &["null", "boolean", "array", "number"]));
    if percent(random, 30) || types.contains(&more) {
        object.remove("type");
    } else {
        types.insert(random.random_index(types.len() + 1), more);
        object.insert("type".to_owned(), types.into());
    }
}

/// Adds an optional property where no other properties were allowed.
fn add_property(random: &mut Rounds, object: &mut Map<String, Value>, schema: Value) {
    let is_closed = object.get("additionalProperties") == Some(&Value::Bool(false))
        && !object.contains_key("patternProperties");
    let name = choose(random, &NAMES);
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties.filter(|properties| is_closed && !properties.contains_key(name)) {
        properties.insert(name.to_owned(), schema);
    }
}

fn loosen_bound(random: &mut Rounds, object: &mut Map<String, Value>, key: &str) {
    let bound = object.get(key).and_then(Value::as_u64).unwrap_or(0);
    if percent(random, 40) {
        object.remove(key);
    } else if key.contains("in") && !key.contains("ax") {
        object.insert(key.to_owned(), json!(bound.saturating_sub(1)));
    } else {
        object.insert(key.to_owned(), json!(bound + 1));
    }
}
