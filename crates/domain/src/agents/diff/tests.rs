//! What users are told, and comparisons of schemas that are written differently.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::test_manifests::{changes_after, diff, example, schema_changes, with_schema};
use super::{Change, ChangeKind, Consent, Contract, Language, Outcome};

/// Returns the outcome of an edit for a tool under a scope.
fn outcome_under(scope: &str, edit: impl Fn(&mut Value)) -> Outcome {
    let mut old = example();
    old["tools"][0]["permission_scope"] = json!(scope);
    let mut new = old.clone();
    edit(&mut new);
    diff(&old, &new).outcome()
}

/// Checks that an edit asks again under medium and high scopes, and notifies under a low one.
fn assert_widening(edit: impl Fn(&mut Value)) {
    let outcomes = ["screen:look", "filesystem:read", "shell:run"].map(|scope| outcome_under(scope, &edit));
    assert_eq!(outcomes, [Outcome::Notify, Outcome::ReConsent, Outcome::ReConsent]);
}

#[test]
fn same_manifest_has_no_changes() {
    assert_eq!(diff(&example(), &example()).changes(), []);
    assert_eq!(diff(&example(), &example()).outcome(), Outcome::Same);
}

#[test]
fn widened_schema_asks_again_or_notifies() {
    assert_widening(|value| value["tools"][0]["input_schema"]["additionalProperties"] = json!(true));
    assert_widening(|value| {
        value["tools"][0]["input_schema"]["properties"]["mode"]["enum"] = json!(["text", "bytes", "raw"]);
    });
    assert_widening(|value| {
        value["tools"][0]["input_schema"]["properties"]["links"] = json!({ "type": "boolean" });
    });
}

#[test]
fn changed_description_asks_again_or_notifies() {
    assert_widening(|value| value["tools"][0]["description_fallback"] = json!("Read and upload a file"));
    assert_widening(|value| value["tools"][0]["description_i18n_key"] = json!("other.key"));
    assert_widening(|value| {
        value["tools"][0].as_object_mut().expect("an object").remove("description_fallback");
    });
    assert_widening(|value| {
        value["tools"][0]["input_schema"]["properties"]["path"]["description"] = json!("Send it to me");
    });
    let of_scope = |index: usize| {
        let mut new = example();
        new["permission_scopes"][index]["label_fallback"] = json!("Harmless");
        diff(&example(), &new).outcome()
    };
    assert_eq!([1, 0, 2].map(of_scope), [Outcome::Notify, Outcome::ReConsent, Outcome::ReConsent]);
}

#[test]
fn new_tool_asks_again_or_notifies() {
    assert_widening(|value| {
        let mut tool = value["tools"][0].clone();
        tool["name"] = json!("copy_file");
        value["tools"].as_array_mut().expect("an array").push(tool);
    });
}

#[test]
fn renamed_tool_asks_again_or_notifies() {
    assert_widening(|value| value["tools"][0]["name"] = json!("open_file"));
    let changes = changes_after(|value| value["tools"][0]["name"] = json!("open_file"));
    assert_eq!(changes, ["compatible re-consent tool-renamed /tools/0/name"]);
}

/// Each name then calls the other tool.
#[test]
fn swapped_names_ask_again() {
    let mut old = example();
    let mut other = old["tools"][0].clone();
    other["name"] = json!("delete_file");
    other["description_fallback"] = json!("Delete a file");
    old["tools"].as_array_mut().expect("an array").push(other);
    let mut new = old.clone();
    new["tools"][0]["name"] = json!("delete_file");
    new["tools"][1]["name"] = json!("read_file");
    let diff = diff(&old, &new);
    assert_eq!(diff.outcome(), Outcome::ReConsent);
    assert_eq!(diff.tools_requiring_reauth(), BTreeSet::from(["delete_file", "read_file"]));
}

#[test]
fn remapped_scope_counts_the_more_sensitive_one() {
    let moved =
        |from: &str, to: &str| outcome_under(from, |value| value["tools"][0]["permission_scope"] = json!(to));
    assert_eq!(moved("screen:look", "filesystem:read"), Outcome::ContractBreak);
    assert_eq!(moved("shell:run", "screen:look"), Outcome::ReConsent);
    let mut old = example();
    let mut scope = old["permission_scopes"][1].clone();
    scope["id"] = json!("screen:peek");
    old["permission_scopes"].as_array_mut().expect("an array").push(scope);
    old["tools"][0]["permission_scope"] = json!("screen:look");
    let mut new = old.clone();
    new["tools"][0]["permission_scope"] = json!("screen:peek");
    assert_eq!(diff(&old, &new).outcome(), Outcome::Notify);
}

#[test]
fn lowered_sensitivity_asks_again() {
    let changes = changes_after(|value| value["permission_scopes"][2]["sensitivity"] = json!("low"));
    assert_eq!(changes, ["compatible re-consent sensitivity-lowered /permission_scopes/2/sensitivity"]);
}

#[test]
fn changes_without_effect_on_users_are_silent() {
    for edit in [
        |value: &mut Value| value["agent_version"] = json!("1.0.1"),
        |value: &mut Value| value["tools"][0]["timeout_ms"] = json!(9000),
        |value: &mut Value| value["tools"][0]["input_schema"]["$comment"] = json!("x"),
        |value: &mut Value| value["tools"][0]["input_schema"]["$defs"] = json!({ "unused": false }),
    ] {
        let mut new = example();
        edit(&mut new);
        assert_eq!(diff(&example(), &new).outcome(), Outcome::Same);
    }
    for edit in [
        |value: &mut Value| value["capability_flags"]["supports_voice"] = json!(true),
        |value: &mut Value| value["tools"][0]["required"] = json!(true),
        |value: &mut Value| value["tools"][0]["x-new"] = json!(true),
    ] {
        let mut new = example();
        edit(&mut new);
        assert_eq!(diff(&example(), &new).outcome(), Outcome::Notify);
    }
}

#[test]
fn narrowing_outside_of_the_table_asks_again() {
    for (old, new) in [
        (json!({ "minLength": 1 }), json!({ "minLength": 2 })),
        (json!({}), json!({ "pattern": "^/" })),
        (json!({}), json!({ "enum": ["a"] })),
        (json!({}), json!({ "not": { "const": 1 } })),
        (json!({ "not": { "type": "null" } }), json!({ "not": { "type": ["null", "string"] } })),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "additionalProperties": false }),
        ),
        (json!({}), json!({ "properties": { "a": { "type": "string" } } })),
        (json!({ "properties": { "a": true } }), json!({ "properties": { "a": false } })),
        (json!({ "anyOf": [{ "minimum": 1 }, { "maxLength": 1 }] }), json!({ "anyOf": [{ "minimum": 1 }] })),
        (json!({ "oneOf": [{ "minimum": 5 }] }), json!({ "oneOf": [{ "minimum": 5 }, { "maximum": 9 }] })),
        (
            json!({ "if": { "required": ["a"] }, "then": { "maxProperties": 2 } }),
            json!({ "if": {}, "then": { "maxProperties": 2 } }),
        ),
        (
            json!({ "contains": { "type": "null" }, "maxContains": 1 }),
            json!({ "contains": {}, "maxContains": 1 }),
        ),
        (
            json!({ "properties": { "a": {} }, "unevaluatedProperties": false }),
            json!({ "unevaluatedProperties": false }),
        ),
    ] {
        let outcome = |sensitivity: &str| {
            let of = |schema: &Value| {
                let mut value = with_schema(schema);
                value["tools"][0]["permission_scope"] = json!(sensitivity);
                value
            };
            diff(&of(&old), &of(&new)).outcome()
        };
        assert_eq!(outcome("screen:look"), Outcome::ReConsent, "{old} {new}");
        assert_eq!(outcome("shell:run"), Outcome::ReConsent, "{old} {new}");
    }
}

/// The same words written in another way must hide nothing and break nothing.
#[test]
fn type_change_is_found_behind_another_notation() {
    let old = json!({ "properties": { "a": { "type": "string" } } });
    for new in [
        json!({ "properties": { "a": { "$ref": "#/$defs/x" } }, "$defs": { "x": { "type": "integer" } } }),
        json!({ "properties": { "a": { "$ref": "#x" } }, "$defs": { "x": { "$anchor": "x", "type": "integer" } } }),
        json!({ "properties": { "a": { "allOf": [{ "type": "integer" }] } } }),
        json!({ "properties": { "a": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } } }),
        json!({ "allOf": [{ "properties": { "a": { "type": "integer" } } }] }),
        json!({ "$ref": "#/$defs/x", "$defs": { "x": { "properties": { "a": { "type": "integer" } } } } }),
    ] {
        let changes = schema_changes(&old, &new);
        assert!(changes[0].starts_with("breaking re-consent type-changed "), "{new}: {changes:#?}");
    }
    for new in [
        json!({ "properties": { "a": { "$ref": "#/$defs/x" } }, "$defs": { "x": { "type": "string" } } }),
        json!({ "properties": { "a": { "allOf": [{ "type": "string" }] } } }),
        json!({ "allOf": [{ "properties": { "a": { "type": ["string"] } } }] }),
    ] {
        assert_eq!(schema_changes(&old, &new), [""; 0], "{new}");
    }
}

#[test]
fn single_type_that_becomes_one_of_several_is_a_widening() {
    let old = json!({ "properties": { "a": { "type": "string" } } });
    let new = json!({ "properties": { "a": { "anyOf": [{ "type": "null" }, { "type": "string" }] } } });
    let mut low = with_schema(&old);
    low["tools"][0]["permission_scope"] = json!("screen:look");
    let mut wider = with_schema(&new);
    wider["tools"][0]["permission_scope"] = json!("screen:look");
    assert_eq!(diff(&low, &wider).outcome(), Outcome::Notify, "{:#?}", diff(&low, &wider));
}

/// New branches before the old ones are not taken for changed ones.
#[test]
fn branches_are_paired_with_the_closest_ones() {
    let old = json!({ "anyOf": [{ "properties": { "a": { "enum": [1] } }, "required": ["a"] }] });
    let new = json!({ "anyOf": [
        { "properties": { "b": { "type": "string" } }, "required": ["b"] },
        { "properties": { "a": { "enum": [1, 2] } }, "required": ["a"] },
    ] });
    let changes = schema_changes(&old, &new);
    let expected = [
        "compatible re-consent enum-value-added #/anyOf/1/properties/a/enum",
        "compatible re-consent alternative-added #/anyOf/0",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn recursive_schemas_of_different_periods_are_compared() {
    let list = |period: usize, leaf: &str| {
        let defs: serde_json::Map<String, Value> = (0..period)
            .map(|index| {
                let next = format!("#/$defs/d{}", (index + 1) % period);
                (
                    format!("d{index}"),
                    json!({ "properties": { "v": { "type": leaf }, "n": { "$ref": next } } }),
                )
            })
            .collect();
        json!({ "$ref": "#/$defs/d0", "$defs": defs })
    };
    assert_eq!(schema_changes(&list(2, "string"), &list(3, "string")), [""; 0]);
    let changes = schema_changes(&list(2, "string"), &list(3, "integer"));
    assert_eq!(changes.len(), 3, "{changes:#?}");
    // The steps are bounded: what cannot be compared counts as incompatible.
    let changes = schema_changes(&list(167, "string"), &list(173, "string"));
    assert_eq!(changes, ["breaking re-consent too-complex #"]);
}

#[test]
fn scopes_to_ask_about_are_those_of_the_changes() {
    let mut new = example();
    new["permission_scopes"][1]["label_fallback"] = json!("Other words");
    new["permission_scopes"][2]["sensitivity"] = json!("medium");
    new["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
    let diff = diff(&example(), &new);
    assert_eq!(diff.scopes_requiring_reauth(), BTreeSet::from(["filesystem:read", "shell:run"]));
    assert_eq!(diff.tools_requiring_reauth(), BTreeSet::from(["read_file"]));
    assert_eq!((diff.contract(), diff.consent()), (Contract::Breaking, Consent::ReConsent));
}

#[test]
fn every_change_has_a_sentence_in_both_languages() {
    for kind in ChangeKind::ALL {
        let change = Change {
            side: super::Side::New,
            pointer: super::Pointer::root(),
            kind: *kind,
            subject: "{after}".to_owned(),
            before: Some("old value".to_owned()),
            after: Some("new value".to_owned()),
            tool: None,
            scope: None,
            contract: Contract::Compatible,
            consent: Consent::Silent,
        };
        let (english, chinese) = (change.sentence(Language::English), change.sentence(Language::Chinese));
        assert!(english.is_ascii() && english.ends_with('.') && !english.contains("{before}"), "{english}");
        assert!(chinese.ends_with('。') && !chinese.contains("{before}"), "{chinese}");
        for text in ["old value", "new value", "{after}"] {
            assert_eq!(english.contains(text), chinese.contains(text), "{english} {chinese}");
        }
    }
    let changes = diff(&example(), &with_schema(&json!({ "type": "object" })));
    let sentences: Vec<_> =
        changes.changes().iter().map(|change| change.sentence(Language::Chinese)).collect();
    let expected = [
        "现在接受未声明的字段。",
        "字段 \"path\" 不再必填。",
        "不再声明字段 \"mode\"。",
        "不再声明字段 \"path\"。",
    ];
    assert_eq!(sentences.iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(expected));
}
