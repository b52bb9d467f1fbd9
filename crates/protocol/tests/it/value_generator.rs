//! Random values, most of which a schema allows.

use guildhall_testkit::Rounds;
use serde_json::{Map, Value, json};

use crate::schema_generator::{NAMES, choose, percent};

/// Returns a value that follows a schema where that is easy, with some noise.
pub(crate) fn value_for(random: &mut Rounds, root: &Value, schema: &Value, depth: usize) -> Value {
    let Some(object) = schema.as_object() else { return any_value(random, depth) };
    if depth == 0 || percent(random, 8) {
        return any_value(random, depth);
    }
    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(target.trim_start_matches('#')).unwrap_or(&Value::Bool(true));
        return value_for(random, root, target, depth - 1);
    }
    if let Some(constant) = object.get("const") {
        return constant.clone();
    }
    for keyword in ["enum", "anyOf", "oneOf", "allOf"] {
        let Some(list) = object.get(keyword).and_then(Value::as_array).filter(|list| !list.is_empty()) else {
            continue;
        };
        let chosen = &list[random.random_index(list.len())];
        return if keyword == "enum" { chosen.clone() } else { value_for(random, root, chosen, depth - 1) };
    }
    let types: Vec<&str> = match object.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ if object.contains_key("properties") || object.contains_key("dependentSchemas") => vec!["object"],
        _ => return any_value(random, depth),
    };
    match choose(random, &types) {
        "object" => object_for(random, root, object, depth),
        "array" => array_for(random, root, object, depth),
        "string" => string_for(random, object),
        "integer" => json!(random.random_index(6)),
        "number" => choose(random, &[0.5, 1.0, 2.0, 3.5, 4.0]).into(),
        "boolean" => json!(percent(random, 50)),
        _ => Value::Null,
    }
}

fn object_for(random: &mut Rounds, root: &Value, schema: &Map<String, Value>, depth: usize) -> Value {
    let mut object = Map::new();
    for name in NAMES {
        let own = schema.get("properties").and_then(|properties| properties.get(name));
        let is_required = schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|required| required.iter().any(|field| field == name));
        let other = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let probability = match own {
            Some(_) => 50,
            None if *other == Value::Bool(false) => 3,
            None => 20,
        };
        if is_required || percent(random, probability) {
            let value = value_for(random, root, own.unwrap_or(other), depth - 1);
            object.insert(name.to_owned(), value);
        }
    }
    Value::Object(object)
}

fn array_for(random: &mut Rounds, root: &Value, schema: &Map<String, Value>, depth: usize) -> Value {
    let prefix = schema.get("prefixItems").and_then(Value::as_array);
    let items = schema.get("items").or_else(|| schema.get("contains")).unwrap_or(&Value::Bool(true));
    let item = |random: &mut Rounds, index: usize| {
        let schema = prefix.and_then(|prefix| prefix.get(index)).unwrap_or(items);
        value_for(random, root, schema, depth - 1)
    };
    let count = random.random_index(4);
    (0..count).map(|index| item(random, index)).collect()
}

fn string_for(random: &mut Rounds, schema: &Map<String, Value>) -> Value {
    let bound = |name: &str, missing: usize| {
        schema
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|bound| usize::try_from(bound).ok())
            .unwrap_or(missing)
    };
    let (minimum, maximum) = (bound("minLength", 0), bound("maxLength", 3));
    let length = minimum + random.random_index(maximum.saturating_sub(minimum) + 1);
    (0..length).map(|_| choose(random, &['a', 'a', 'b', 'c'])).collect::<String>().into()
}

fn any_value(random: &mut Rounds, depth: usize) -> Value {
    match random.random_index(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(percent(random, 50)),
        2 => json!(random.random_index(6)),
        3 => json!(1.5),
        4 | 5 => json!(choose(random, &["", "a", "b", "ab", "aab", "c"])),
        6 => (0..random.random_index(3)).map(|_| any_value(random, depth - 1)).collect(),
        _ => {
            let mut object = Map::new();
            for name in NAMES {
                if percent(random, 40) {
                    object.insert(name.to_owned(), any_value(random, depth - 1));
                }
            }
            Value::Object(object)
        }
    }
}
