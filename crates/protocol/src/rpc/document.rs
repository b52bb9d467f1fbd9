//! Documents that are generated from the method table: the OpenRPC document, the JSON Schema and the reference page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::error::RpcError;
use super::methods::{Access, Method, Order, RpcMethod, TypeVisitor, visit_types};

/// The schemas of all types, and the names of those of each method.
#[derive(Default)]
struct Types {
    schemas: BTreeMap<String, Value>,
    methods: Vec<MethodTypes>,
}

struct MethodTypes {
    method: Method,
    params: String,
    result: String,
}

impl Types {
    fn collect() -> Self {
        let mut types = Self::default();
        types.add::<RpcError>();
        visit_types(&mut types);
        types
    }

    /// Adds a type and what it refers to. Returns its name.
    fn add<T: ToSchema>(&mut self) -> String {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        self.schemas.extend(found.into_iter().map(|(name, schema)| (name, json!(schema))));
        T::name().into_owned()
    }

    fn reference(name: &str) -> Value {
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }
}

impl TypeVisitor for Types {
    fn visit<M: RpcMethod>(&mut self) {
        let (params, result) = (self.add::<M::Params>(), self.add::<M::Result>());
        self.methods.push(MethodTypes { method: M::METHOD, params, result });
    }
}

/// Returns the OpenRPC document of the socket.
#[must_use]
pub fn openrpc(version: &str) -> Value {
    let types = Types::collect();
    let methods: Vec<Value> = types.methods.iter().map(|found| openrpc_method(&types, found)).collect();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Guildhall socket",
            "description": "JSON-RPC 2.0 over the WebSocket at /aun.",
            "version": version,
        },
        "methods": methods,
        "components": { "schemas": types.schemas },
    })
}

fn openrpc_method(types: &Types, found: &MethodTypes) -> Value {
    let spec = found.method.spec();
    let errors: Vec<Value> = spec
        .failures
        .iter()
        .map(|kind| json!({ "code": kind.row().rpc_code, "message": kind.row().title }))
        .collect();
    json!({
        "name": spec.name,
        "summary": spec.summary,
        "paramStructure": "by-name",
        "params": content_descriptors(&types.schemas[&found.params]),
        "result": { "name": "result", "schema": Types::reference(&found.result) },
        "errors": errors,
        "x-access": access_name(spec.access),
        "x-order": order_name(spec.order),
    })
}

/// Returns a content descriptor for each member of the parameters.
fn content_descriptors(schema: &Value) -> Vec<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    members
        .map(|(name, schema)| json!({ "name": name, "required": required.contains(&name.as_str()), "schema": schema }))
        .collect()
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Public => "public",
        Access::Connected => "connected",
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Connection => "connection",
    }
}

/// Returns a JSON Schema with the parameters and the result of every method.
#[must_use]
pub fn json_schema() -> Value {
    let types = Types::collect();
    let methods: serde_json::Map<String, Value> = types
        .methods
        .iter()
        .map(|found| {
            let (params, result) = (Types::reference(&found.params), Types::reference(&found.result));
            let schema = json!({
                "type": "object",
                "description": found.method.spec().summary,
                "properties": { "params": params, "result": result },
            });
            (found.method.spec().name.to_owned(), schema)
        })
        .collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Methods of the Guildhall socket",
        "type": "object",
        "properties": methods,
        "$defs": types.schemas,
    });
    move_references(&mut schema);
    schema
}

/// Replaces references to components by those to definitions.
fn move_references(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/components/schemas/")
            {
                *target = format!("#/$defs/{name}");
            }
            members.values_mut().for_each(move_references);
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the reference page of the socket in Markdown.
#[must_use]
pub fn markdown() -> String {
    let types = Types::collect();
    let mut page = String::new();
    for found in &types.methods {
        let spec = found.method.spec();
        let _infallible = write!(page, "\n## {}\n\n{}\n\n", spec.name, spec.summary);
        let access = match spec.access {
            Access::Public => "Everybody, also before `auth.connect`.",
            Access::Connected => "Connections that are authenticated.",
        };
        let _infallible = writeln!(page, "For: {access}");
        write_members(&mut page, "Parameters", &types.schemas[&found.params]);
        write_members(&mut page, "Result", &types.schemas[&found.result]);
        if !spec.failures.is_empty() {
            let kinds: Vec<String> = spec
                .failures
                .iter()
                .map(|kind| format!("[`{kind}`](../errors/{kind}.md) ({})", kind.row().rpc_code))
                .collect();
            let _infallible = write!(page, "\nFailures: {}.\n", kinds.join(", "));
        }
    }
    page
}

fn write_members(page: &mut String, title: &str, schema: &Value) {
    let Some(members) = schema["properties"].as_object().filter(|members| !members.is_empty()) else {
        return;
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let _infallible = write!(page, "\n{title}:\n\n| member | required | meaning |\n|---|---|---|\n");
    for (name, member) in members {
        let is_required = if required.contains(&name.as_str()) { "yes" } else { "no" };
        let text = member["description"].as_str().unwrap_or_default().replace('\n', " ");
        let _infallible = writeln!(page, "| `{name}` | {is_required} | {text} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_of_the_documents_resolves() {
        for document in [openrpc("0.1.0"), json_schema()] {
            let mut found = Vec::new();
            references(&document, &mut found);
            assert!(!found.is_empty());
            for reference in found {
                let pointer = reference.trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }
    }

    #[test]
    fn documents_have_every_method() {
        let document = openrpc("0.1.0");
        let names: Vec<&str> =
            document["methods"].as_array().into_iter().flatten().filter_map(|m| m["name"].as_str()).collect();
        let expected: Vec<&str> = Method::ALL.iter().map(|method| method.spec().name).collect();
        assert_eq!(names, expected);
        let schema = json_schema();
        for name in expected {
            assert!(schema["properties"][name].is_object(), "{name}");
            assert!(markdown().contains(&format!("## {name}\n")), "{name}");
        }
    }
}
