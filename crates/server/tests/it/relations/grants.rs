//! Grants, changes and their history.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Consents, RELATIONS, SCOPES, id_of};
use crate::support::manifests::{hash_of, manifest, manifest_with};
use crate::support::read_response;
use crate::support::runs::text;

/// Returns a relation without its times, which were checked.
fn without_times(mut relation: Value) -> Value {
    for name in ["created_at", "changed_at"] {
        assert!(relation[name].take().is_string(), "{relation}");
    }
    relation
}

// covers: M12
#[tokio::test]
async fn grant_is_stored_with_the_manifest_that_was_shown() {
    let consents = Consents::new().await;
    let body = json!({
        "agent_id": consents.agent, "granted_scopes": ["location:read", "filesystem:read", "filesystem:read"],
        "manifest_version": 1, "manifest_hash": hash_of(&manifest()),
    });
    let granted = consents.try_grant(&consents.ada, body).await;
    assert_eq!(granted.status, 201, "{}", granted.text);
    let id = id_of(&granted.body);
    let expected = json!({
        "id": id, "agent_id": consents.agent, "agent_name": "helper", "agent_aid": null, "status": "active",
        "granted_scopes": ["filesystem:read", "location:read"],
        "manifest_version": 1, "manifest_hash": hash_of(&manifest()),
        "current_manifest_version": 1, "current_manifest_hash": hash_of(&manifest()),
        "scopes_requiring_reauth": [], "tools_requiring_reauth": [],
        "created_at": null, "changed_at": null, "ended_at": null,
    });
    assert_eq!(without_times(granted.body), expected);
    assert_eq!(without_times(consents.read(&id).await), expected);
    let path = format!("/api/v1/relations/{id}");
    let read = consents.second().get_as(&path, &consents.ada.token).await;
    assert_eq!(without_times(read.body), expected, "the same at the other route");
    let listed = consents.second().get_as(RELATIONS, &consents.ada.token).await.body;
    assert_eq!(
        (listed["relations"].as_array().map(Vec::len), &listed["next_cursor"]),
        (Some(1), &Value::Null)
    );
    assert_eq!(without_times(listed["relations"][0].clone()), expected);
    let stored = "SELECT granted_scopes::text FROM relations";
    let stored = consents.gateway.cluster.db.sql().await.texts(stored).await;
    assert_eq!(stored, [r#"["filesystem:read", "location:read"]"#]);
    let audit = "SELECT body FROM journal_entries WHERE kind = 'relation.granted'";
    let audit = consents.gateway.cluster.db.sql().await.texts(audit).await;
    let entry: Value = serde_json::from_str(&audit[0]).expect("JSON");
    let pinned = json!({ "version": 1, "hash": hash_of(&manifest()) });
    let detail = json!({
        "agent": consents.agent, "scopes": ["filesystem:read", "location:read"], "manifest": pinned
    });
    assert_eq!(
        json!([entry["actor"], entry["object"], entry["detail"]]),
        json!([consents.ada.principal, id, detail])
    );
}

// covers: M2
#[tokio::test]
async fn grant_without_scopes_is_an_empty_one() {
    let consents = Consents::new().await;
    let granted = consents.try_grant(&consents.ada, json!({ "agent_id": consents.agent })).await;
    assert_eq!((granted.status.as_u16(), &granted.body["granted_scopes"]), (201, &json!([])));
    let columns = "SELECT column_default FROM information_schema.columns \
                   WHERE table_name = 'relations' AND column_name = 'granted_scopes'";
    let default = consents.gateway.cluster.db.sql().await.texts(columns).await;
    assert_eq!(default, ["'[]'::jsonb"]);
}

#[tokio::test]
async fn grant_for_another_manifest_or_an_undeclared_scope_is_refused() {
    let consents = Consents::new().await;
    let changed = manifest_with(|value| value["agent_version"] = json!("1.0.1"));
    consents.declare(&changed).await;
    let grant = async |more: Value| {
        let mut body = json!({ "agent_id": consents.agent, "granted_scopes": ["filesystem:read"] });
        for (name, value) in more.as_object().expect("members") {
            body[name] = value.clone();
        }
        consents.try_grant(&consents.ada, body).await
    };
    for stale in [
        json!({ "manifest_version": 1 }),
        json!({ "manifest_hash": hash_of(&manifest()) }),
        json!({ "manifest_version": 2, "manifest_hash": hash_of(&manifest()) }),
    ] {
        let refused = grant(stale).await;
        refused.assert_failure(409, "conflict");
        assert!(refused.text.contains(&hash_of(&changed)), "it names the current one: {}", refused.text);
    }
    grant(json!({ "granted_scopes": ["shell:run"] })).await.assert_failure(400, "schema-invalid");
    grant(json!({ "manifest_hash": "x" })).await.assert_failure(400, "schema-invalid");
    let many: Vec<String> = (0..65).map(|number| format!("scope:{number}")).collect();
    grant(json!({ "granted_scopes": many })).await.assert_failure(400, "schema-invalid");
    assert_eq!(grant(json!({ "manifest_version": 2 })).await.status, 201);
    grant(json!({})).await.assert_failure(409, "conflict");
}

#[tokio::test]
async fn agent_that_is_not_published_is_granted_by_members_only() {
    let consents = Consents::new().await;
    let cluster = &consents.gateway.cluster;
    cluster.change_agent(&consents.agent, json!({ "published": false })).await;
    let body = json!({ "agent_id": consents.agent, "granted_scopes": [] });
    let made_up = json!({ "agent_id": "agt_01920000000070008000000000000000", "granted_scopes": [] });
    let without_trace = |mut body: Value| {
        body["traceId"].take();
        body
    };
    let (hidden, missing) = (
        consents.try_grant(&consents.ada, body.clone()).await,
        consents.try_grant(&consents.ada, made_up).await,
    );
    hidden.assert_failure(404, "not-found");
    assert_eq!(without_trace(hidden.body), without_trace(missing.body));
    assert_eq!(consents.try_grant(&cluster.operator, body).await.status, 201, "a member of the tenant");
    let silent = cluster.create_agent("acme", "silent").await;
    let nothing = json!({ "agent_id": silent, "granted_scopes": [] });
    consents.try_grant(&cluster.operator, nothing).await.assert_failure(409, "conflict");
}

#[tokio::test]
async fn only_people_grant_and_see_their_own_relations() {
    let consents = Consents::new().await;
    let cluster = &consents.gateway.cluster;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let tenant = text(
        &cluster.first.get_as("/api/v1/tenants", &cluster.operator.token).await.body["tenants"][0]["tenant"],
        "id",
    );
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    let subject = cluster.mint_subject_token(&tenant, &key, "user-1").await.body["accessToken"].clone();
    let body = json!({ "agent_id": consents.agent, "granted_scopes": [] });
    for token in [&key, subject.as_str().expect("a token")] {
        let refused = consents.second().post_as(RELATIONS, token, body.clone()).await;
        refused.assert_failure(403, "forbidden");
    }
    for token in [&cluster.operator.token, &key] {
        for (method, path) in [
            (Method::GET, format!("{RELATIONS}/{relation}")),
            (Method::DELETE, format!("{RELATIONS}/{relation}")),
            (Method::GET, format!("/api/v1/relations/{relation}/history")),
        ] {
            let refused = consents.second().request_as(method, &path, token, None).await;
            refused.assert_failure(404, "not-found");
        }
    }
    assert_eq!(consents.read(&relation).await["status"], "active");
    let listed = consents.second().get_as(RELATIONS, &cluster.operator.token).await.body;
    assert_eq!(listed["relations"], json!([]));
}

#[tokio::test]
async fn repeated_grant_with_the_same_key_is_one_relation_on_two_replicas() {
    let consents = Consents::new().await;
    let send = async |server: &crate::support::TestServer, scopes: Value| {
        let request = server.client.post(server.url(RELATIONS)).bearer_auth(&consents.ada.token);
        let body = json!({ "agent_id": consents.agent, "granted_scopes": scopes });
        let request = request.header("idempotency-key", "one").json(&body);
        read_response(request.send().await.expect("a response")).await
    };
    let both = json!(["filesystem:read"]);
    let (first, second) =
        tokio::join!(send(consents.first(), both.clone()), send(consents.second(), both.clone()));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    send(consents.second(), json!([])).await.assert_failure(409, "idempotency-conflict");
}

// covers: M16
#[tokio::test]
async fn change_and_end_are_in_the_history_and_a_new_grant_is_a_new_relation() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&["filesystem:read"]).await);
    let changed = consents.patch(&relation, json!({ "granted_scopes": ["location:read"] })).await;
    assert_eq!((changed.status.as_u16(), &changed.body["granted_scopes"]), (200, &json!(["location:read"])));
    let same = consents.patch(&relation, json!({ "granted_scopes": ["location:read"] })).await;
    assert_eq!(same.body, changed.body, "nothing changes twice");
    consents.patch(&relation, json!({ "granted_scopes": ["x"] })).await.assert_failure(400, "schema-invalid");

    let next = manifest_with(|value| value["agent_version"] = json!("2.0.0"));
    consents.declare(&next).await;
    let pinned = json!({ "granted_scopes": SCOPES, "manifest_version": 2, "manifest_hash": hash_of(&next) });
    let renewed = consents.patch(&relation, pinned).await;
    assert_eq!(renewed.body["manifest_version"], 2, "{}", renewed.text);
    let ended = consents.revoke(&relation).await;
    assert_eq!((&ended["ended_scopes"], &ended["ended_calls"]), (&json!(SCOPES), &json!(0)));
    assert_eq!(
        (&ended["relation"]["status"], &ended["relation"]["granted_scopes"]),
        (&json!("ended"), &json!([]))
    );
    let again = consents.revoke(&relation).await;
    assert_eq!((&again["relation"], &again["ended_scopes"]), (&ended["relation"], &json!([])));
    consents.patch(&relation, json!({ "granted_scopes": [] })).await.assert_failure(409, "conflict");

    let path = format!("/api/v1/relations/{relation}/history");
    let history = consents.second().get_as(&path, &consents.ada.token).await.body;
    let row = |change: &Value| {
        assert_eq!(change["actor"], consents.ada.principal.as_str());
        json!([change["number"], change["kind"], change["granted_scopes"], change["manifest_version"]])
    };
    let rows: Vec<Value> = history["changes"].as_array().expect("changes").iter().map(row).collect();
    let expected = [
        json!([4, "revoked", [], 2]),
        json!([3, "reconsented", SCOPES, 2]),
        json!([2, "changed", ["location:read"], 1]),
        json!([1, "granted", ["filesystem:read"], 1]),
    ];
    assert_eq!(rows, expected);
    let page = consents.second().get_as(&format!("{path}?before=3&limit=1"), &consents.ada.token).await.body;
    assert_eq!(page["changes"], json!([history["changes"][2]]));

    let new = id_of(&consents.grant(&["filesystem:read"]).await);
    assert_ne!(new, relation);
    let list = async |query: &str| {
        let listed = consents.first().get_as(&format!("{RELATIONS}{query}"), &consents.ada.token).await.body;
        listed["relations"].as_array().expect("relations").iter().map(id_of).collect::<Vec<_>>()
    };
    assert_eq!(list("").await, std::slice::from_ref(&new));
    assert_eq!(list("?ended=true").await, [relation.clone(), new.clone()]);
    assert_eq!(list("?ended=true&limit=1").await, std::slice::from_ref(&relation));
    assert_eq!(list(&format!("?ended=true&cursor={relation}")).await, [new]);
}

/// Both see one active relation, whoever was first.
#[tokio::test]
async fn concurrent_grants_of_one_user_make_one_relation() {
    let consents = Consents::new().await;
    let body = json!({ "agent_id": consents.agent, "granted_scopes": ["filesystem:read"] });
    let grant = async |server: &crate::support::TestServer| {
        server.post_as(RELATIONS, &consents.ada.token, body.clone()).await.status.as_u16()
    };
    let (first, second) = tokio::join!(grant(consents.first()), grant(consents.second()));
    let mut found = [first, second];
    found.sort_unstable();
    assert_eq!(found, [201, 409]);
}

// covers: M25
#[tokio::test]
async fn preset_scopes_have_texts_in_both_languages() {
    let consents = Consents::new().await;
    let listed = consents.second().get("/api/v1/scopes").await;
    let row = |scope: &Value| {
        let description = &scope["description"];
        let is_told = |name: &str| description[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_told("en") && is_told("zh-CN"), "{scope}");
        json!([scope["id"], scope["sensitivity"], scope["label"]["en"], scope["label"]["zh-CN"]])
    };
    let rows: Vec<Value> = listed.body["scopes"].as_array().expect("scopes").iter().map(row).collect();
    let expected = [
        json!(["notification:send", "low", "Send system notifications", "发送系统通知"]),
        json!(["filesystem:read", "medium", "Read local files", "读取本地文件"]),
        json!(["clipboard:read", "medium", "Read the clipboard", "读取剪贴板"]),
        json!(["location:read", "high", "Read your location", "读取位置"]),
    ];
    assert_eq!(rows, expected);
}

/// Each consent is an entry in the audit log of a tenant that the user may have nothing to do with.
#[tokio::test]
async fn consents_of_a_day_are_limited_and_their_end_is_not() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let mut sql = consents.gateway.cluster.db.sql().await;
    // A hundred and one so far; two of them have ended, or are of the day before.
    sql.execute(
        "INSERT INTO relation_changes (relation, number, kind, granted_scopes, manifest_version, manifest_hash, actor, changed_at) \
         SELECT id, 1 + number, CASE number WHEN 1 THEN 'revoked' ELSE 'changed' END, granted_scopes, manifest_version, \
         manifest_hash, principal, now() - (CASE number WHEN 2 THEN 25 ELSE 20 END) * interval '1 hour' \
         FROM relations, generate_series(1, 100) AS number",
    )
    .await;
    sql.execute("UPDATE relations SET last_change = 101").await;
    let allowed = consents.patch(&relation, json!({ "granted_scopes": ["location:read"] })).await;
    assert_eq!(allowed.status, 200, "the hundredth: {}", allowed.text);
    let refused = consents.patch(&relation, json!({ "granted_scopes": SCOPES })).await;
    refused.assert_failure(429, "rate-limited");
    let wait: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((14_000..=14_400).contains(&wait), "{wait}");
    assert_eq!(consents.revoke(&relation).await["relation"]["status"], "ended");
    let again = json!({ "agent_id": consents.agent, "granted_scopes": [] });
    consents.try_grant(&consents.ada, again.clone()).await.assert_failure(429, "rate-limited");
    let other = consents.gateway.cluster.create_user("ben").await;
    assert_eq!(consents.try_grant(&other, again).await.status, 201, "others may");
}
