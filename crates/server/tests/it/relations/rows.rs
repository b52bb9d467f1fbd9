//! Each row of the table of the specification: who is asked again.

use serde_json::{Value, json};

use super::{Consents, SCOPES, id_of};
use crate::support::manifests::manifest_with;

/// Changes a manifest that somebody has agreed to. Returns the verdict on the contract, the notices, and what waits for a new
/// consent.
async fn change(edit: impl FnOnce(&mut Value)) -> (Value, Vec<String>, Value) {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&manifest_with(edit)).await;
    let path = format!("/api/v1/agents/{}/manifests/2", consents.agent);
    let version = consents.second().get_as(&path, &consents.gateway.cluster.operator.token).await.body;
    let state = consents.read(&relation).await;
    let waiting = json!([state["scopes_requiring_reauth"], state["tools_requiring_reauth"]]);
    (version["contract"].clone(), consents.notices().await, waiting)
}

/// What follows from a row that breaks: one question about these scopes, and these tools wait.
fn asked(scopes: &[&str], tools: &[&str]) -> (Value, Vec<String>, Value) {
    let notice = format!("reauth-required 2 [\"{}\"]", scopes.join("\", \""));
    (json!("breaking"), vec![notice], json!([scopes, tools]))
}

// covers: M17a
#[tokio::test]
async fn new_required_field_asks_again() {
    let found = change(|value| value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"])).await;
    assert_eq!(found, asked(&["filesystem:read"], &["read_file"]));
}

// covers: M17b
#[tokio::test]
async fn changed_type_asks_again() {
    let place = "/tools/1/input_schema/properties/text/type";
    let found = change(|value| *value.pointer_mut(place).expect("a type") = json!("integer")).await;
    assert_eq!(found, asked(&["notification:send"], &["notify"]));
}

// covers: M17c
#[tokio::test]
async fn closed_additional_properties_ask_again() {
    let found =
        change(|value| value["tools"][2]["input_schema"]["additionalProperties"] = json!(false)).await;
    assert_eq!(found, asked(&["location:read"], &["locate"]));
}

// covers: M17d
#[tokio::test]
async fn removed_enum_value_asks_again() {
    let place = "/tools/1/input_schema/properties/level/enum";
    let found = change(|value| *value.pointer_mut(place).expect("values") = json!(["info"])).await;
    assert_eq!(found, asked(&["notification:send"], &["notify"]));
}

// covers: M17e
#[tokio::test]
async fn raised_sensitivity_asks_again() {
    let found = change(|value| value["permission_scopes"][0]["sensitivity"] = json!("high")).await;
    assert_eq!(found, asked(&["filesystem:read"], &["read_file"]));
}

// covers: M17f
#[tokio::test]
async fn new_scope_asks_again() {
    let found = change(|value| {
        let mut scope = value["permission_scopes"][0].clone();
        scope["id"] = json!("clipboard:read");
        value["permission_scopes"].as_array_mut().expect("scopes").push(scope);
    })
    .await;
    assert_eq!(found, asked(&["clipboard:read"], &[]));
}

// covers: M15, M17g
#[tokio::test]
async fn removed_tool_and_scope_ask_nobody() {
    let found = change(|value| {
        value["tools"].as_array_mut().expect("tools").pop();
        value["permission_scopes"].as_array_mut().expect("scopes").pop();
    })
    .await;
    assert_eq!(found, (json!("compatible"), vec![], json!([[], []])));
}

// covers: M17h
#[tokio::test]
async fn opened_additional_properties_ask_nobody() {
    let found = change(|value| value["tools"][1]["input_schema"]["additionalProperties"] = json!(true)).await;
    let told = vec![r#"information 2 ["notification:send"]"#.to_owned()];
    assert_eq!(found, (json!("compatible"), told, json!([[], []])));
}

// covers: M17i
#[tokio::test]
async fn new_enum_value_asks_nobody() {
    let place = "/tools/1/input_schema/properties/level/enum";
    let found =
        change(|value| *value.pointer_mut(place).expect("values") = json!(["info", "warning", "error"]))
            .await;
    let told = vec![r#"information 2 ["notification:send"]"#.to_owned()];
    assert_eq!(found, (json!("compatible"), told, json!([[], []])));
}

/// The second verdict, beside the table: wider values of a scope that can hurt.
#[tokio::test]
async fn widening_under_a_medium_scope_asks_those_who_granted_it() {
    let found = change(|value| value["tools"][0]["input_schema"]["additionalProperties"] = json!(true)).await;
    let notice = vec![r#"reauth-required 2 ["filesystem:read"]"#.to_owned()];
    assert_eq!(found, (json!("compatible"), notice, json!([["filesystem:read"], ["read_file"]])));
}
