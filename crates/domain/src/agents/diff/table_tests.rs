//! The table of the specification, row by row, at every depth of an input schema.

use serde_json::{Value, json};

use super::test_manifests::{changes_after, diff, example, schema_changes};
use super::{Contract, Outcome};

/// Name, way to put a schema into another one, and place where it is then.
type Nesting = (&'static str, fn(Value) -> Value, &'static str);

fn nestings() -> Vec<Nesting> {
    vec![
        ("outermost", |schema| schema, "#"),
        ("property", |schema| json!({ "properties": { "a": schema } }), "#/properties/a"),
        ("items", |schema| json!({ "properties": { "a": { "items": schema } } }), "#/properties/a/items"),
        ("tuple", |schema| json!({ "prefixItems": [true, schema] }), "#/prefixItems/1"),
        ("allOf", |schema| json!({ "allOf": [{ "title": "x" }, schema] }), "#/allOf/1"),
        ("anyOf", |schema| json!({ "anyOf": [{ "type": "null" }, schema] }), "#/anyOf/1"),
        ("oneOf", |schema| json!({ "oneOf": [{ "type": "null" }, schema] }), "#/oneOf/1"),
        ("then", |schema| json!({ "if": { "required": ["b"] }, "then": schema }), "#/then"),
        ("additional", |schema| json!({ "additionalProperties": schema }), "#/additionalProperties"),
        ("pattern", |schema| json!({ "patternProperties": { "^x": schema } }), "#/patternProperties/^x"),
        (
            "reference",
            |schema| json!({ "properties": { "a": { "$ref": "#/$defs/d" } }, "$defs": { "d": schema } }),
            "#/$defs/d",
        ),
        (
            "recursion",
            |schema| {
                json!({
                    "$ref": "#/$defs/d",
                    "$defs": { "d": { "allOf": [schema], "properties": { "next": { "$ref": "#/$defs/d" } } } }
                })
            },
            "#/$defs/d/allOf/0",
        ),
        (
            "deep",
            |schema| json!({ "properties": { "a": { "items": { "allOf": [{ "anyOf": [{ "properties": { "b": schema } }] }] } } } }),
            "#/properties/a/items/allOf/0/anyOf/0/properties/b",
        ),
    ]
}

/// Checks that a change of a schema is one breaking change, wherever the schema is.
fn assert_breaking(old: &Value, new: &Value, kind: &str, place: &str) {
    for (name, nest, pointer) in nestings() {
        let changes = schema_changes(&nest(old.clone()), &nest(new.clone()));
        let expected = format!("breaking re-consent {kind} {pointer}{place}");
        assert!(changes.contains(&expected), "{name}: no {expected} in {changes:#?}");
    }
}

/// Checks that no change of a schema is breaking, wherever the schema is, and that it is found.
fn assert_compatible(old: &Value, new: &Value, kind: &str, place: &str) {
    for (name, nest, pointer) in nestings() {
        let changes = schema_changes(&nest(old.clone()), &nest(new.clone()));
        assert!(changes.iter().all(|change| change.starts_with("compatible ")), "{name}: {changes:#?}");
        let found = changes.iter().any(|change| change.contains(&format!(" {kind} {pointer}{place}")));
        assert!(found, "{name}: no {kind} at {pointer}{place} in {changes:#?}");
    }
}

#[test]
fn m17a_added_required_field_breaks() {
    let old = json!({ "properties": { "p": {}, "q": {} }, "required": ["p"] });
    let new = json!({ "properties": { "p": {}, "q": {} }, "required": ["p", "q"] });
    assert_breaking(&old, &new, "required-added", "/required/1");
    let none = json!({ "properties": { "p": {}, "q": {} } });
    assert_breaking(&none, &new, "required-added", "/required/0");
    assert_compatible(&new, &old, "required-dropped", "/required/1 (old)");
}

#[test]
fn m17b_changed_type_breaks() {
    for (old, new) in [
        (json!("string"), json!("integer")),
        (json!("number"), json!("integer")),
        (json!(["string", "null"]), json!("string")),
        (json!(["string", "null"]), json!(["string", "integer"])),
    ] {
        assert_breaking(&json!({ "type": old }), &json!({ "type": new }), "type-changed", "/type");
    }
    assert_breaking(&json!({}), &json!({ "type": "string" }), "type-changed", "/type");
    for (old, new) in [("string", json!(["null", "string"])), ("integer", json!("number"))] {
        assert_compatible(&json!({ "type": old }), &json!({ "type": new }), "type-widened", "/type");
    }
    let same = [json!({ "type": "string" }), json!({ "type": ["string"] })];
    assert_eq!(schema_changes(&same[0], &same[1]), [""; 0]);
}

#[test]
fn m17c_closed_additional_properties_break() {
    let closed = json!({ "type": "object", "additionalProperties": false });
    for open in [
        json!({ "type": "object", "additionalProperties": true }),
        json!({ "type": "object", "additionalProperties": {} }),
        json!({ "type": "object" }),
    ] {
        assert_breaking(&open, &closed, "additional-properties-closed", "/additionalProperties");
    }
}

#[test]
fn m17d_removed_enum_value_breaks() {
    let (old, new) = (json!({ "enum": ["a", 1, null] }), json!({ "enum": ["a", null] }));
    assert_breaking(&old, &new, "enum-value-removed", "/enum");
    assert_breaking(&json!({ "const": "a" }), &json!({ "const": "b" }), "enum-value-removed", "/const");
    assert_eq!(schema_changes(&json!({ "enum": [1, "a"] }), &json!({ "enum": ["a", 1.0] })), [""; 0]);
}

#[test]
fn m17e_raised_sensitivity_of_a_tool_breaks() {
    let raised = changes_after(|value| value["permission_scopes"][0]["sensitivity"] = json!("high"));
    assert_eq!(raised, ["breaking re-consent sensitivity-raised /permission_scopes/0/sensitivity"]);
    let moved = changes_after(|value| value["tools"][0]["permission_scope"] = json!("shell:run"));
    assert_eq!(moved, ["breaking re-consent scope-remapped /tools/0/permission_scope"]);
}

#[test]
fn m17f_new_permission_scope_breaks() {
    let changes = changes_after(|value| {
        let mut scope = value["permission_scopes"][1].clone();
        scope["id"] = json!("camera:use");
        value["permission_scopes"].as_array_mut().expect("an array").insert(0, scope);
    });
    assert_eq!(changes, ["breaking re-consent scope-added /permission_scopes/0"]);
}

#[test]
fn m17g_removed_scope_or_tool_is_silent() {
    let without_scope = changes_after(|value| {
        value["permission_scopes"].as_array_mut().expect("an array").remove(2);
    });
    assert_eq!(without_scope, ["compatible silent scope-removed /permission_scopes/2 (old)"]);
    let without_tool = changes_after(|value| value["tools"] = json!([]));
    assert_eq!(without_tool, ["compatible silent tool-removed /tools/0 (old)"]);
    let mut new = example();
    new["tools"] = json!([]);
    assert_eq!(diff(&example(), &new).outcome(), Outcome::Same);
}

#[test]
fn m17h_opened_additional_properties_do_not_break() {
    let closed = json!({ "type": "object", "additionalProperties": false });
    let open = json!({ "type": "object", "additionalProperties": true });
    assert_compatible(&closed, &open, "additional-properties-opened", "/additionalProperties");
}

#[test]
fn m17i_added_enum_value_does_not_break() {
    let (old, new) = (json!({ "enum": ["a"] }), json!({ "enum": ["b", "a"] }));
    assert_compatible(&old, &new, "enum-value-added", "/enum");
}

/// The example of the specification for what is synchronised silently, as far as the contract goes.
#[test]
fn new_tool_under_a_granted_scope_does_not_break() {
    let mut new = example();
    let mut tool = new["tools"][0].clone();
    tool["name"] = json!("list_files");
    new["tools"].as_array_mut().expect("an array").push(tool);
    assert_eq!(diff(&example(), &new).contract(), Contract::Compatible);
}
