//! What devices are told, on every replica.

use std::collections::BTreeSet;
use std::time::Duration;

use guildhall_testkit::{PrivateEngines, Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Consents, SCOPES, id_of};
use crate::support::Setup;
use crate::support::aun_client::AunSocket;
use crate::support::gateway::Gateway;
use crate::support::manifests::{hash_of, manifest, manifest_with};

/// How long a change may take to reach a device, on every replica.
const LIVE: Duration = Duration::from_secs(1);

const EVENTS: &str = "/api/v1/relations/events";

fn breaking() -> Value {
    manifest_with(|value| value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]))
}

/// Waits for the next event about relations.
pub(super) async fn next_event(socket: &mut AunSocket) -> (String, Value) {
    loop {
        let (method, params) = socket.next_event().await;
        if method.starts_with("event/h2a.") {
            return (method, params);
        }
    }
}

/// Waits for the next question. What is told at once before it is not of interest.
async fn next_question(socket: &mut AunSocket) -> (String, Value) {
    loop {
        let event = next_event(socket).await;
        let waits = |value: &Value| value.as_array().is_some_and(|tools| !tools.is_empty());
        if event.0 != "event/h2a.relation_changed" || !waits(&event.1["tools_requiring_reauth"]) {
            return event;
        }
    }
}

/// Returns that no event about relations has arrived until the answer to a call.
async fn is_silent(socket: &mut AunSocket) -> bool {
    socket.call("meta.ping", json!({})).await.expect("a pong");
    !socket.has_event("event/h2a.")
}

/// What a device is told about a relation.
fn row(consents: &Consents, relation: &str, changes: Value) -> Value {
    let mut row = json!({
        "relation_id": relation, "agent_id": consents.agent, "agent_aid": null, "status": "active",
        "granted_scopes": SCOPES, "manifest_version": 1, "manifest_hash": hash_of(&manifest()),
        "current_manifest_version": 1, "current_manifest_hash": hash_of(&manifest()),
        "scopes_requiring_reauth": [], "tools_requiring_reauth": [],
    });
    for (name, value) in changes.as_object().expect("members") {
        row[name] = value.clone();
    }
    row
}

#[tokio::test]
async fn devices_on_both_replicas_are_told_within_a_second() {
    let consents = Consents::new().await;
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut sockets = [
        identity.connected_device(consents.first().address, "phone").await,
        identity.connected_device(consents.second().address, "laptop").await,
    ];
    for socket in &mut sockets {
        let listed = socket.call("h2a.relations", json!({})).await.expect("a list");
        assert_eq!(listed, json!({ "relations": [] }));
    }
    let waited = Stopwatch::start();
    let relation = id_of(&consents.grant(&SCOPES).await);
    let granted = row(&consents, &relation, json!({}));
    for socket in &mut sockets {
        assert_eq!(next_event(socket).await, ("event/h2a.relation_changed".to_owned(), granted.clone()));
        let listed = socket.call("h2a.relations", json!({})).await.expect("a list");
        assert_eq!(listed, json!({ "relations": [granted] }));
    }
    assert!(waited.elapsed() < 2 * LIVE, "{:?}", waited.elapsed());
    let waited = Stopwatch::start();
    consents.revoke(&relation).await;
    let ended = row(
        &consents,
        &relation,
        json!({
            "status": "ended", "granted_scopes": []
        }),
    );
    for socket in &mut sockets {
        assert_eq!(next_event(socket).await, ("event/h2a.relation_changed".to_owned(), ended.clone()));
    }
    assert!(waited.elapsed() < LIVE, "{:?}", waited.elapsed());
}

#[tokio::test]
async fn revocation_is_told_within_a_second_while_nats_is_down() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    engines.nats.kill();
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let consents = Consents::in_gateway(Gateway::open(setup, db).await).await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut socket = identity.connected(consents.second().address).await;
    let waited = Stopwatch::start();
    consents.revoke(&relation).await;
    let (method, params) = next_event(&mut socket).await;
    assert_eq!((&*method, &params["status"]), ("event/h2a.relation_changed", &json!("ended")));
    assert!(waited.elapsed() < LIVE, "{:?}", waited.elapsed());
}

// covers: M14
#[tokio::test]
async fn question_is_pushed_again_at_connect_until_the_user_decides() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut live = identity.connected_device(consents.second().address, "phone").await;
    consents.declare(&breaking()).await;
    let question = json!({
        "agent_id": consents.agent, "new_manifest_version": 2, "new_manifest_hash": hash_of(&breaking()),
        "scopes_requiring_reauth": ["filesystem:read"],
    });
    let event = ("event/h2a.reauth_required".to_owned(), question);
    assert_eq!(next_question(&mut live).await, event);
    for (number, device) in ["laptop", "tablet"].into_iter().enumerate() {
        let mut later = identity.connected_device(consents.gateway.cluster_address(number), device).await;
        assert_eq!(next_event(&mut later).await, event, "a device that was offline");
        let listed = later.call("h2a.relations", json!({})).await.expect("a list");
        let waiting = json!({
            "current_manifest_version": 2, "current_manifest_hash": hash_of(&breaking()),
            "scopes_requiring_reauth": ["filesystem:read"], "tools_requiring_reauth": ["read_file"],
        });
        assert_eq!(listed, json!({ "relations": [row(&consents, &relation, waiting)] }));
    }
    let agreed = consents.patch(&relation, json!({ "granted_scopes": SCOPES })).await;
    assert_eq!(agreed.status, 200, "{}", agreed.text);
    let pinned = json!({
        "manifest_version": 2, "manifest_hash": hash_of(&breaking()),
        "current_manifest_version": 2, "current_manifest_hash": hash_of(&breaking()),
    });
    let changed = ("event/h2a.relation_changed".to_owned(), row(&consents, &relation, pinned));
    assert_eq!(next_event(&mut live).await, changed);
    let mut last = identity.connected_device(consents.first().address, "watch").await;
    assert!(is_silent(&mut last).await, "the user has decided");
}

/// Notices are paced. A connected device knows before it what it must refuse.
#[tokio::test]
async fn connected_devices_are_told_before_the_notice() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut sockets = [
        identity.connected_device(consents.first().address, "phone").await,
        identity.connected_device(consents.second().address, "laptop").await,
    ];
    let mut stream = consents.second().open_stream(EVENTS, &consents.ada.token, None).await;
    // No notice is written while its head is locked.
    let mut sql = consents.gateway.cluster.db.sql().await;
    sql.execute("BEGIN; SELECT FROM relation_heads FOR UPDATE").await;
    let waited = Stopwatch::start();
    consents
        .gateway
        .cluster
        .change_agent(&consents.agent, json!({ "capability_manifest": breaking() }))
        .await;
    let waiting = json!({
        "current_manifest_version": 2, "current_manifest_hash": hash_of(&breaking()),
        "scopes_requiring_reauth": ["filesystem:read"], "tools_requiring_reauth": ["read_file"],
    });
    let told = ("event/h2a.relation_changed".to_owned(), row(&consents, &relation, waiting));
    for socket in &mut sockets {
        assert_eq!(next_event(socket).await, told);
    }
    assert_eq!(stream.next_events(1).await[0].data["payload"], told.1);
    assert!(waited.elapsed() < 2 * LIVE, "{:?}", waited.elapsed());
    sql.execute("COMMIT").await;
    for socket in &mut sockets {
        assert_eq!(next_event(socket).await.0, "event/h2a.reauth_required");
    }
    let question = stream.next_events(1).await.remove(0);
    assert_eq!(question.data["type"], "h2a.reauth_required");
}

#[tokio::test]
async fn acknowledged_question_is_not_repeated_and_stays_open() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&breaking()).await;
    let path = format!("/api/v1/relations/{relation}/acknowledge");
    let acknowledge = async |version: i64| {
        let body = json!({ "manifest_version": version });
        consents.second().post_as(&path, &consents.ada.token, body).await
    };
    acknowledge(1).await.assert_failure(404, "not-found");
    let expected = json!({ "relation_id": relation, "manifest_version": 2, "acknowledged": true });
    assert_eq!(acknowledge(2).await.body, expected);
    assert_eq!(acknowledge(2).await.body, expected, "twice");
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut socket = identity.connected(consents.first().address).await;
    assert!(is_silent(&mut socket).await);
    assert_eq!(consents.read(&relation).await["tools_requiring_reauth"], json!(["read_file"]));
}

#[tokio::test]
async fn stream_starts_with_what_waits_and_resumes_on_the_other_replica() {
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    consents.declare(&breaking()).await;
    let mut stream = consents.first().open_stream(EVENTS, &consents.ada.token, None).await;
    let question = stream.next_events(1).await.remove(0);
    let payload = json!({
        "agent_id": consents.agent, "new_manifest_version": 2, "new_manifest_hash": hash_of(&breaking()),
        "scopes_requiring_reauth": ["filesystem:read"],
    });
    assert_eq!(question.data, json!({ "v": 1, "type": "h2a.reauth_required", "payload": payload }));
    let waited = Stopwatch::start();
    consents.patch(&relation, json!({ "granted_scopes": ["location:read"] })).await;
    let changed = stream.next_events(1).await.remove(0);
    assert!(waited.elapsed() < LIVE, "{:?}", waited.elapsed());
    assert_eq!(
        (&changed.data["type"], &changed.data["payload"]["granted_scopes"]),
        (&json!("h2a.relation_changed"), &json!(["location:read"]))
    );
    consents.revoke(&relation).await;
    let ended = stream.next_events(1).await.remove(0);
    let cursor = question.id.as_deref();
    let mut resumed = consents.second().open_stream(EVENTS, &consents.ada.token, cursor).await;
    // A relation is told as it is: what came before is in its history.
    assert_eq!(resumed.next_events(1).await, [ended]);
    let (_, key) = consents.gateway.cluster.create_key("acme", "viewer").await;
    let refused = consents.first().request_as(Method::GET, EVENTS, &key, None).await;
    refused.assert_failure(403, "forbidden");
}

/// More than one page of relations has changed, and pages end between relations with one revision.
#[tokio::test]
async fn stream_resumed_from_an_old_cursor_misses_nothing() {
    const ENDED: usize = 1_200;
    let consents = Consents::new().await;
    let relation = id_of(&consents.grant(&SCOPES).await);
    let mut sql = consents.gateway.cluster.db.sql().await;
    sql.execute(format!(
        "INSERT INTO relations (id, agent, principal, manifest_version, manifest_hash, revision, ended_at) \
         SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, agent, principal, manifest_version, \
         manifest_hash, 1 + (number + 2) / 3, now() FROM relations, generate_series(1, {ENDED}) AS number"
    ))
    .await;
    sql.execute("UPDATE relation_heads SET revision = (SELECT max(revision) FROM relations)").await;
    consents.revoke(&relation).await;
    let mut stream = consents.second().open_stream(EVENTS, &consents.ada.token, Some("1")).await;
    let events = stream.next_events(ENDED + 1).await;
    let of = |event: &Value| event["payload"]["relation_id"].as_str().expect("an id").to_owned();
    let told: BTreeSet<String> = events.iter().map(|event| of(&event.data)).collect();
    assert_eq!(told.len(), ENDED + 1, "each once");
    let last = events.last().expect("an event");
    assert_eq!((of(&last.data), last.id.as_deref()), (relation, Some("402")));
    let cursors: Vec<i64> = events.iter().filter_map(|event| event.id.as_ref()?.parse().ok()).collect();
    assert!(cursors.is_sorted(), "{cursors:?}");
}

/// A change under a scope of low sensitivity asks nothing.
#[tokio::test]
async fn change_of_a_low_scope_is_told_and_asks_nothing() {
    let consents = Consents::new().await;
    consents.grant(&SCOPES).await;
    let identity = consents.aid_of(&consents.ada, "ada-1").await;
    let mut socket = identity.connected(consents.second().address).await;
    let changed = manifest_with(|value| value["tools"][1]["description_fallback"] = json!("Show a message"));
    consents.declare(&changed).await;
    let told = json!({
        "agent_id": consents.agent, "new_manifest_version": 2, "new_manifest_hash": hash_of(&changed),
        "scopes": ["notification:send"],
    });
    assert_eq!(next_event(&mut socket).await, ("event/h2a.manifest_updated".to_owned(), told));
}
