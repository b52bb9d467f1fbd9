//! What follows from a changed manifest, until the user has decided.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Consents, RELATIONS, SCOPES, id_of};
use crate::support::manifests::{hash_of, manifest, manifest_with};

/// A change that breaks `read_file`.
fn breaking() -> Value {
    manifest_with(|value| value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]))
}

/// The same, and a change that breaks `locate`.
fn breaking_twice() -> Value {
    let mut changed = breaking();
    changed["tools"][2]["input_schema"]["additionalProperties"] = json!(false);
    changed
}

// covers: M13, M14
#[tokio::test]
async fn breaking_change_tells_every_user_with_an_active_relation_once() {
    let consents = Consents::new().await;
    let cluster = &consents.gateway.cluster;
    consents.grant(&["location:read"]).await;
    for (name, scopes, is_revoked) in
        [("ben", &SCOPES[..], false), ("carl", &[], false), ("dora", &SCOPES[..], true)]
    {
        let user = cluster.create_user(name).await;
        let body = json!({ "agent_id": consents.agent, "granted_scopes": scopes });
        let granted = consents.try_grant(&user, body).await.body;
        if is_revoked {
            let path = format!("{RELATIONS}/{}", id_of(&granted));
            cluster.first.request_as(Method::DELETE, &path, &user.token, None).await;
        }
    }
    consents.declare(&breaking()).await;
    let notice = "reauth-required 2 [\"filesystem:read\"]";
    assert_eq!(consents.notices().await, [notice; 3]);
    // The comparison again, as after a kill before its end was written: nobody is told twice.
    let again = "UPDATE relation_checks SET after = NULL, ended_at = NULL";
    cluster.db.sql().await.execute(again).await;
    consents.wait_for_checks().await;
    assert_eq!(consents.notices().await, [notice; 3]);
    let heads = "SELECT revision::text FROM relation_heads ORDER BY revision";
    let heads = cluster.db.sql().await.texts(heads).await;
    assert!(
        heads.iter().all(|revision| revision.parse::<i64>().is_ok_and(|revision| revision <= 3)),
        "{heads:?}"
    );
}

// covers: M16
#[tokio::test]
async fn changed_tool_waits_for_the_user_and_works_after_a_new_consent() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&breaking()).await;
    let state = consents.read(&relation).await;
    let pinned = |state: &Value| {
        json!([
            state["manifest_version"],
            state["current_manifest_version"],
            state["scopes_requiring_reauth"],
            state["tools_requiring_reauth"],
            state["granted_scopes"]
        ])
    };
    assert_eq!(pinned(&state), json!([1, 2, ["filesystem:read"], ["read_file"], SCOPES]));
    let stale = json!({ "granted_scopes": SCOPES, "manifest_hash": hash_of(&manifest()) });
    consents.patch(&relation, stale).await.assert_failure(409, "conflict");
    let agreed = json!({ "granted_scopes": SCOPES, "manifest_hash": hash_of(&breaking()) });
    let renewed = consents.patch(&relation, agreed).await;
    assert_eq!(pinned(&renewed.body), json!([2, 2, [], [], SCOPES]), "{}", renewed.text);
    assert_eq!(consents.notices().await, Vec::<String>::new(), "the user has decided");
}

/// The consent counts, not the version before: two changes are one question, and a change that was taken back is none.
#[tokio::test]
async fn versions_are_compared_from_the_consent_on() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&breaking()).await;
    consents.declare(&breaking_twice()).await;
    let both = "reauth-required 3 [\"filesystem:read\", \"location:read\"]";
    assert_eq!(consents.notices().await, [both], "the newest version alone");
    consents.declare(&manifest()).await;
    assert_eq!(consents.notices().await, Vec::<String>::new());
    let state = consents.read(&relation).await;
    let found = json!([
        state["manifest_version"],
        state["current_manifest_version"],
        state["tools_requiring_reauth"]
    ]);
    assert_eq!(found, json!([1, 4, []]), "the consent stays where it is");
}

// covers: M15
#[tokio::test]
async fn silent_change_tells_nobody_and_keeps_the_consent() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let before =
        consents.gateway.cluster.db.sql().await.texts("SELECT revision::text FROM relation_heads").await;
    consents.declare(&manifest_with(|value| value["tools"][0]["timeout_ms"] = json!(1234))).await;
    assert_eq!(consents.notices().await, Vec::<String>::new());
    let after =
        consents.gateway.cluster.db.sql().await.texts("SELECT revision::text FROM relation_heads").await;
    assert_eq!(before, after, "no device is told");
    let state = consents.read(&relation).await;
    assert_eq!(json!([state["manifest_version"], state["current_manifest_version"]]), json!([1, 2]));
}

/// Whoever cannot see an agent any more learns nothing about its manifests, and can still take everything back.
#[tokio::test]
async fn manifest_of_a_withdrawn_agent_is_not_shown() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": false })).await;
    consents.declare(&breaking()).await;
    assert_eq!(consents.notices().await, Vec::<String>::new());
    let state = consents.read(&relation).await;
    assert_eq!(json!([state["status"], state["current_manifest_version"]]), json!(["active", null]));
    consents.patch(&relation, json!({ "granted_scopes": [] })).await.assert_failure(409, "conflict");
    consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": true })).await;
    consents.wait_for_checks().await;
    assert_eq!(consents.notices().await, ["reauth-required 2 [\"filesystem:read\"]"]);
    assert_eq!(consents.revoke(&relation).await["relation"]["status"], "ended");
    assert_eq!(consents.notices().await, Vec::<String>::new());
}

/// A withdrawn agent gets nothing back: what had changed before waits until the user can agree again.
#[tokio::test]
async fn changed_tool_of_a_withdrawn_agent_still_waits() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&breaking()).await;
    consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": false })).await;
    consents.declare(&breaking_twice()).await;
    let state = consents.read(&relation).await;
    let shown = json!([state["current_manifest_version"], state["tools_requiring_reauth"]]);
    assert_eq!(shown, json!([null, ["read_file"]]), "nothing of the version that is not public");
    let listed = consents.second().get_as(RELATIONS, &consents.ada.token).await.body;
    assert_eq!(listed["relations"][0], state);
}

#[tokio::test]
async fn member_who_comes_back_is_asked_about_a_change_meanwhile() {
    let consents = Consents::new().await;
    let (cluster, ada) = (&consents.gateway.cluster, &consents.ada);
    cluster.change_agent(&consents.agent, json!({ "published": false })).await;
    let tenant = cluster
        .db
        .sql()
        .await
        .texts("SELECT 'ten_' || replace(id::text, '-', '') FROM tenants")
        .await
        .remove(0);
    cluster.set_role(&tenant, ada, "viewer").await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let member = format!("/api/v1/tenants/{tenant}/members/{}", ada.principal);
    let left = cluster.first.request_as(Method::DELETE, &member, &cluster.operator.token, None).await;
    assert_eq!(left.status, 200, "{}", left.text);
    consents.declare(&breaking()).await;
    let waits = async || consents.read(&relation).await["tools_requiring_reauth"].clone();
    assert_eq!((consents.notices().await, waits().await), (vec![], json!([])));
    cluster.set_role(&tenant, ada, "viewer").await;
    consents.wait_for_checks().await;
    assert_eq!(consents.notices().await, ["reauth-required 2 [\"filesystem:read\"]"]);
    assert_eq!(waits().await, json!(["read_file"]));
}

/// Many users, in several batches of two replicas: each is told once.
#[tokio::test]
async fn many_users_are_told_once_by_two_replicas() {
    const USERS: i64 = 2_000;
    let consents = Consents::new().await;
    consents.grant(&SCOPES).await;
    let mut sql = consents.gateway.cluster.db.sql().await;
    sql.execute(format!(
        "INSERT INTO principals (id, kind, name) \
         SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'person', 'user ' || number \
         FROM generate_series(1, {USERS}) AS number"
    ))
    .await;
    sql.execute(
        "INSERT INTO relations (id, agent, principal, granted_scopes, manifest_version, manifest_hash, revision) \
         SELECT person.id, agent, person.id, granted_scopes, manifest_version, manifest_hash, 0 \
         FROM relations, principals AS person WHERE person.name LIKE 'user %'",
    )
    .await;
    consents.declare(&breaking()).await;
    assert_eq!(sql.number("SELECT count(*) FROM relation_notices").await, USERS + 1);
    assert_eq!(sql.number("SELECT count(DISTINCT principal) FROM relation_notices").await, USERS + 1);
    consents.declare(&breaking_twice()).await;
    assert_eq!(
        sql.number("SELECT count(*) FROM relation_notices WHERE manifest_version = 3").await,
        USERS + 1
    );
    assert_eq!(sql.number("SELECT count(*) FROM relation_notices").await, USERS + 1);
}
