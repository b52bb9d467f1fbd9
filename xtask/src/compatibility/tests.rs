use serde_json::json;

use super::*;

/// A small document that uses every feature that the rules look at.
fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "paths": {
            "/runs/{run}": {
                "parameters": [{ "name": "run", "in": "path", "required": true, "schema": { "type": "string" } }],
                "get": {
                    "operationId": "getRun",
                    "parameters": [{ "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 100 } }],
                    "responses": {
                        "200": {
                            "headers": { "ETag": { "schema": { "type": "string" } } },
                            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Run" } } }
                        },
                        "404": { "description": "not found" }
                    },
                    "security": [{ "bearer": [] }, { "session": [] }]
                },
                "put": {
                    "requestBody": { "$ref": "#/components/requestBodies/NewRun" },
                    "responses": { "204": {} }
                }
            },
            "/health": { "get": { "responses": { "200": {} } } }
        },
        "components": components(),
    })
}

fn components() -> Value {
    json!({
        "requestBodies": {
            "NewRun": {
                "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/NewRun" } },
                    "text/plain": {}
                }
            }
        },
        "schemas": {
            "Run": {
                "type": "object",
                "required": ["id", "state"],
                "properties": {
                    "id": { "type": "string", "format": "uuid" },
                    "state": { "type": "string", "enum": ["open", "ended"] },
                    "count": { "type": "number" },
                    "lease": { "oneOf": [{ "$ref": "#/components/schemas/Lease" }, { "type": "null" }] },
                    "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                    "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Run" } }
                }
            },
            "Lease": {
                "type": "object",
                "required": ["epoch"],
                "properties": { "epoch": { "type": "integer" } }
            },
            "NewRun": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": { "type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[a-z]+$" },
                    "mode": { "enum": ["fast", "slow"] },
                    "size": { "type": ["integer", "null"] },
                    "lease": { "oneOf": [{ "$ref": "#/components/schemas/Lease" }, { "type": "null" }] },
                    "tags": { "type": "array", "items": { "type": "string" } },
                    "notes": { "type": "object" }
                }
            }
        }
    })
}

const RUN: &str = "/components/schemas/Run";
const NEW_RUN: &str = "/components/schemas/NewRun";
const GET: &str = "/paths/~1runs~1{run}/get";

/// Returns the changes after the value at `pointer` (in the current document) was set, or removed by `None`.
fn changes_after(pointer: &str, value: Option<Value>) -> Vec<(String, String)> {
    let (baseline, mut current) = (document(), document());
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    let parent = current.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer} does not exist"));
    match (parent, value) {
        (Value::Object(parent), Some(value)) => drop(parent.insert(key, value)),
        (Value::Object(parent), None) => drop(parent.remove(&key).expect("the value exists")),
        (Value::Array(parent), Some(value)) => parent.insert(key.parse().unwrap(), value),
        (Value::Array(parent), None) => drop(parent.remove(key.parse().unwrap())),
        (other, _) => panic!("{other} has no members"),
    }
    breaking_changes(&baseline, &current).into_iter().map(|change| (change.pointer, change.problem)).collect()
}

/// Each case: what is set (or removed), where the change is reported, and as what.
fn assert_breaking<const N: usize>(cases: [(String, Option<Value>, String, &str); N]) {
    for (pointer, value, reported, problem) in cases {
        let changes = changes_after(&pointer, value.clone());
        assert_eq!(changes, [(reported, problem.to_owned())], "{pointer} set to {value:?}");
    }
}

fn assert_compatible<const N: usize>(cases: [(String, Option<Value>); N]) {
    for (pointer, value) in cases {
        assert_eq!(changes_after(&pointer, value.clone()), [], "{pointer} set to {value:?}");
    }
}

#[test]
fn identical_documents_are_compatible() {
    assert_eq!(breaking_changes(&document(), &document()), []);
}

#[test]
fn variants_may_contain_their_own_union() {
    let with_tree = |leaf: Value| {
        let children = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Tree" } });
        let branch =
            json!({ "type": "object", "required": ["children"], "properties": { "children": children } });
        let mut document = document();
        document["components"]["schemas"]["Tree"] = json!({ "oneOf": [leaf, branch] });
        let tree = json!({ "$ref": "#/components/schemas/Tree" });
        document["components"]["schemas"]["Run"]["properties"]["tree"] = tree;
        document
    };
    let leaf =
        json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } });
    let baseline = with_tree(leaf);
    assert_eq!(breaking_changes(&baseline, &baseline), []);
    let changed =
        json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "integer" } } });
    let changes = breaking_changes(&baseline, &with_tree(changed));
    let changes: Vec<&str> = changes.iter().map(|change| change.problem.as_str()).collect();
    assert_eq!(changes, ["type changed from string to integer"]);
}

#[test]
fn removed_operations_and_responses_are_breaking() {
    let json_body = "content/application~1json";
    assert_breaking([
        ("/paths/~1health".into(), None, "/paths/~1health/get".into(), "operation removed"),
        ("/paths/~1health/get".into(), None, "/paths/~1health/get".into(), "operation removed"),
        (format!("{GET}/responses/404"), None, format!("{GET}/responses/404"), "response status 404 removed"),
        (
            format!("{GET}/responses/200/{json_body}"),
            None,
            format!("{GET}/responses/200/{json_body}"),
            "media type application/json removed",
        ),
        (
            format!("{GET}/responses/200/headers/ETag"),
            None,
            format!("{GET}/responses/200/headers/ETag"),
            "response header ETag removed",
        ),
    ]);
}

#[test]
fn narrower_operation_inputs_are_breaking() {
    let body = "/components/requestBodies/NewRun";
    assert_breaking([
        (
            format!("{GET}/parameters/0"),
            None,
            format!("{GET}/parameters/0"),
            "query parameter `limit` removed",
        ),
        (
            format!("{GET}/parameters/0/required"),
            Some(json!(true)),
            format!("{GET}/parameters/0"),
            "query parameter `limit` is now required",
        ),
        (
            format!("{GET}/parameters/1"),
            Some(json!({ "name": "x", "in": "header", "required": true })),
            format!("{GET}/parameters"),
            "new required header parameter `x`",
        ),
        (
            format!("{GET}/parameters/0/schema/maximum"),
            Some(json!(50)),
            format!("{GET}/parameters/0/schema/maximum"),
            "maximum changed from 100 to 50",
        ),
        (format!("{body}/required"), Some(json!(true)), body.into(), "request body is now required"),
        (
            format!("{body}/content/text~1plain"),
            None,
            format!("{body}/content/text~1plain"),
            "media type text/plain removed",
        ),
        ("/paths/~1runs~1{run}/put/requestBody".into(), None, body.into(), "request body removed"),
        (
            format!("{GET}/requestBody"),
            Some(json!({ "required": true })),
            format!("{GET}/requestBody"),
            "new required request body",
        ),
        (
            format!("{GET}/security/1"),
            None,
            format!("{GET}/security"),
            "requests with session are no longer accepted",
        ),
        (
            "/paths/~1health/get/security".into(),
            Some(json!([{ "bearer": [] }])),
            "/paths/~1health/get/security".into(),
            "requests with no credentials are no longer accepted",
        ),
    ]);
}

#[test]
fn response_schemas_that_promise_less_are_breaking() {
    let at = |path: &str| format!("{RUN}/properties/{path}");
    assert_breaking([
        (at("count"), None, at("count"), "property removed"),
        (at("id"), None, at("id"), "property removed"),
        (at("id/type"), Some(json!("integer")), at("id"), "type changed from string to integer"),
        (at("id/type"), Some(json!(["string", "null"])), at("id"), "type changed from string to null|string"),
        (at("id/format"), None, at("id/format"), "format changed from uuid to none"),
        (
            format!("{RUN}/required"),
            Some(json!(["id"])),
            format!("{RUN}/required"),
            "property `state` is now optional",
        ),
        (at("state/enum/2"), Some(json!("lost")), at("state/enum"), "new enum value in a response: \"lost\""),
        (at("state/enum"), None, at("state/enum"), "values are no longer restricted to the enum"),
        (
            at("lease/oneOf/2"),
            Some(json!({ "type": "string" })),
            at("lease"),
            "1 new variant(s) in a response",
        ),
        (
            at("labels/additionalProperties"),
            None,
            at("labels/additionalProperties"),
            "additional properties removed",
        ),
        (
            at("labels/additionalProperties/type"),
            Some(json!("integer")),
            at("labels/additionalProperties"),
            "type changed from string to integer",
        ),
        (at("parts/items"), None, at("parts/items"), "schema of the items removed"),
    ]);
}

#[test]
fn request_schemas_that_accept_less_are_breaking() {
    let at = |path: &str| format!("{NEW_RUN}/properties/{path}");
    let required = format!("{NEW_RUN}/required");
    assert_breaking([
        (at("mode"), None, at("mode"), "property removed"),
        (
            required.clone(),
            Some(json!(["name", "mode"])),
            required.clone(),
            "property `mode` is now required",
        ),
        (required.clone(), Some(json!(["name", "new"])), required, "property `new` is now required"),
        (at("size/type"), Some(json!("integer")), at("size"), "type changed from integer|null to integer"),
        (at("size/format"), Some(json!("int32")), at("size/format"), "format changed from none to int32"),
        (at("mode/enum/0"), None, at("mode/enum"), "enum value removed: \"fast\""),
        (at("size/enum"), Some(json!([1])), at("size/enum"), "values are now restricted to an enum"),
        (at("name/maxLength"), Some(json!(39)), at("name/maxLength"), "maxLength changed from 40 to 39"),
        (at("name/minLength"), Some(json!(2)), at("name/minLength"), "minLength changed from 1 to 2"),
        (at("size/minimum"), Some(json!(0)), at("size/minimum"), "minimum changed from none to 0"),
        (
            at("name/pattern"),
            Some(json!("^x$")),
            at("name/pattern"),
            "pattern changed from \"^[a-z]+$\" to \"^x$\"",
        ),
        (at("lease/oneOf/1"), None, at("lease"), "1 variant(s) removed or no longer accepted"),
        (
            at("tags/items/type"),
            Some(json!("integer")),
            at("tags/items"),
            "type changed from string to integer",
        ),
        (
            at("notes/additionalProperties"),
            Some(json!(false)),
            at("notes/additionalProperties"),
            "additional properties are no longer accepted",
        ),
    ]);
}

/// A changed schema is reported at its own place, once, whoever refers to it.
#[test]
fn change_inside_a_shared_variant_is_reported_at_the_schema() {
    let epoch = "/components/schemas/Lease/properties/epoch";
    let changes = changes_after(&format!("{epoch}/type"), Some(json!("string")));
    assert_eq!(changes, [(epoch.to_owned(), "type changed from integer to string".to_owned())]);
}

#[test]
fn additions_and_texts_are_compatible() {
    let new = |path: &str| format!("{NEW_RUN}/properties/{path}");
    let run = |path: &str| format!("{RUN}/properties/{path}");
    assert_compatible([
        ("/paths/~1new".into(), Some(json!({ "get": { "responses": { "200": {} } } }))),
        ("/paths/~1health/post".into(), Some(json!({ "responses": { "200": {} } }))),
        ("/paths/~1health/get/tags".into(), Some(json!(["health"]))),
        ("/paths/~1health/get/summary".into(), Some(json!("Show the health"))),
        (format!("{GET}/operationId"), Some(json!("fetchRun"))),
        (format!("{GET}/description"), Some(json!("text"))),
        (format!("{GET}/responses/429"), Some(json!({}))),
        (format!("{GET}/parameters/1"), Some(json!({ "name": "x", "in": "query" }))),
        (format!("{GET}/parameters/0/schema/maximum"), Some(json!(200))),
        (format!("{GET}/security/2"), Some(json!({ "key": [] }))),
        (format!("{GET}/security"), None),
        (new("extra"), Some(json!({ "type": "string" }))),
        (format!("{NEW_RUN}/required"), None),
        (new("mode/enum/2"), Some(json!("medium"))),
        (new("name/pattern"), None),
        (new("name/type"), Some(json!(["string", "null"]))),
        (new("size/type"), Some(json!(["number", "null"]))),
        (new("lease/oneOf/2"), Some(json!({ "type": "string" }))),
        (run("extra"), Some(json!({ "type": "string" }))),
        (run("id/description"), Some(json!("The id"))),
        (run("id/maxLength"), Some(json!(36))),
        (run("count/type"), Some(json!("integer"))),
        (run("state/enum/1"), None),
        (run("lease/oneOf/1"), None),
        (format!("{RUN}/required"), Some(json!(["id", "state", "count"]))),
    ]);
}

#[test]
fn renamed_schemas_and_path_parameters_are_compatible() {
    let text = document().to_string();
    let renamed = text
        .replace("schemas/Lease", "schemas/LeaseView")
        .replace("\"Lease\":", "\"LeaseView\":")
        .replace("/runs/{run}", "/runs/{runId}")
        .replace("\"name\":\"run\"", "\"name\":\"runId\"");
    assert_ne!(renamed, text);
    assert_eq!(breaking_changes(&document(), &serde_json::from_str(&renamed).unwrap()), []);
}

#[test]
fn message_names_place_problem_and_operation() {
    let mut current = document();
    current["paths"]["/health"] = json!({});
    let changes = breaking_changes(&document(), &current);
    assert_eq!(changes[0].to_string(), "/paths/~1health/get: operation removed (GET /health)");
}
