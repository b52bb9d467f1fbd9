//! The audit log, page by page and as a stream.

use std::time::{Duration, Instant};

use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::people::World;

#[tokio::test]
async fn pages_and_streams_of_both_replicas_show_the_same_entries() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit");
    let mut stream = world.other.events(&format!("{path}/stream"), &world.operator.access, None).await;
    for _ in 0..3 {
        world.key(&tenant, "viewer").await;
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(stream.next().await.expect("an event"));
    }
    let mut paged = Vec::new();
    for after in 0..4 {
        let page =
            world.one.get_as(&format!("{path}?afterSeq={after}&limit=1"), &world.operator.access).await;
        assert_eq!(page.body["nextAfterSeq"], after + 1);
        paged.push(page.body["entries"][0].clone());
    }
    // An entry may have been sealed between the two looks; what it says is the same.
    let words = |entry: &serde_json::Value| {
        json!([entry["seq"], entry["id"], entry["action"], entry["body"], entry["recordedAt"]])
    };
    assert_eq!(
        seen.iter().map(|event| words(&event.data)).collect::<Vec<_>>(),
        paged.iter().map(words).collect::<Vec<_>>()
    );

    // A reader that lost its connection goes on after the last event it has, on the other replica.
    let mut resumed =
        world.one.events(&format!("{path}/stream"), &world.operator.access, seen[1].id.as_deref()).await;
    let next = resumed.next().await.expect("an event");
    assert_eq!((next.data["seq"].as_i64(), next.id.clone()), (Some(3), seen[2].id.clone()));
}

#[tokio::test]
async fn a_cursor_of_another_life_of_the_database_is_told_about_the_gap() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    for cursor in ["00000000deadbeef-1", "00000000deadbeef-99"] {
        let mut stream = world.one.events(&path, &world.operator.access, Some(cursor)).await;
        let first = stream.next().await.expect("an event");
        assert_eq!(
            (first.kind.as_str(), &first.data),
            ("gap", &json!({ "v": 1, "type": "gap", "recovered": false, "reason": "other_incarnation" }))
        );
        assert_eq!(stream.next().await.expect("an event").data["seq"], 1);
    }
    let refused = world.one.client.get(world.one.url(&path)).bearer_auth(&world.operator.access);
    let refused = refused.header("last-event-id", "nonsense").send().await.expect("an answer");
    crate::support::read(refused).await.assert_failure(400, "schema-invalid");
}

/// Revocation holds within a second on every replica, with NATS stopped as well.
#[tokio::test]
async fn a_key_revoked_on_one_replica_is_refused_by_the_other_and_its_stream_closed_within_a_second() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let world = World::on(Setup::on_private(&db, &engines.addresses()), db).await;
    let tenant = world.tenant("acme").await;
    for nats_runs in [true, false] {
        if !nats_runs {
            engines.nats.kill();
        }
        let (id, secret) = world.key(&tenant, "operator").await;
        let path = format!("/api/v1/tenants/{tenant}/audit/stream");
        let mut stream = world.other.events(&path, &secret, None).await;
        stream.next().await.expect("the stream is open");
        let revoke = format!("/api/v1/tenants/{tenant}/keys/{id}");
        let answer = world.one.ask(Method::DELETE, &revoke, &world.operator.access, None).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
        let began = Instant::now();
        world.other.get_as("/api/v1/whoami", &secret).await.assert_failure(401, "unauthenticated");
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event);
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(1), "the stream was open for {took:?} more");
        assert_eq!(last.expect("a last word").kind, "closed");
    }
}

#[tokio::test]
async fn a_refused_sign_in_stands_in_the_log_without_its_password() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(Setup::on(&db), db).await;
    world.one.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    let entries = sql.texts("SELECT kind || ' ' || body FROM journal_entries ORDER BY seq").await;
    let refused: Vec<_> = entries.iter().filter(|entry| entry.starts_with("login.refused")).collect();
    assert_eq!(refused.len(), 1, "{entries:#?}");
    assert!(refused[0].contains("operator") && !refused[0].contains("wrong password"), "{}", refused[0]);
}

#[tokio::test]
async fn a_sign_in_under_an_unknown_name_stands_in_the_log_without_the_name() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(Setup::on(&db), db).await;
    // What somebody types who is one field ahead.
    let typed = "my secret password";
    for server in [&world.one, &world.other] {
        server.try_sign_in(typed, "x").await.assert_failure(401, "sign-in-failed");
    }
    world.one.try_sign_in(&"n".repeat(64), "x").await.assert_failure(401, "sign-in-failed");
    let refused = "SELECT body FROM journal_entries WHERE kind = 'login.refused' ORDER BY seq";
    let entries = sql.texts(refused).await;
    assert_eq!(entries.len(), 3, "{entries:#?}");
    assert!(!entries.concat().contains(typed), "{entries:#?}");
    let tags: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| {
            let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
            let tag = entry["detail"]["nameTag"].clone();
            let whole =
                json!({ "actor": null, "object": "unknown", "detail": { "nameTag": tag, "leftOut": 0 } });
            assert_eq!(entry, whole);
            tag
        })
        .collect();
    assert_eq!(tags[0], tags[1], "every replica gives a name the same tag");
    assert_ne!(tags[0], tags[2]);
}

#[tokio::test]
async fn a_page_can_begin_at_the_end() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    for _ in 0..4 {
        world.key(&tenant, "viewer").await;
    }
    let page = async |server: &crate::support::TestServer, query: &str| {
        let path = format!("/api/v1/tenants/{tenant}/audit?{query}");
        let page = server.get_as(&path, &world.operator.access).await;
        let numbers = page.body["entries"].as_array().expect(query).iter().map(|entry| entry["seq"].clone());
        json!([numbers.collect::<Vec<_>>(), page.body["nextAfterSeq"]])
    };
    for server in [&world.one, &world.other] {
        assert_eq!(page(server, "fromEnd=2").await, json!([[4, 5], 5]));
        assert_eq!(page(server, "fromEnd=3&limit=2").await, json!([[3, 4], 4]), "and goes on from there");
        assert_eq!(page(server, "fromEnd=99").await, json!([[1, 2, 3, 4, 5], 5]));
        assert_eq!(page(server, "fromEnd=0").await, json!([[], 5]));
        assert_eq!(page(server, "fromEnd=4&afterSeq=3").await, json!([[4, 5], 5]), "the later of the two");
    }
    for refused in ["fromEnd=-1", "fromEnd=2147483648", "afterSeq=-1&fromEnd=1"] {
        let path = format!("/api/v1/tenants/{tenant}/audit?{refused}");
        world.one.get_as(&path, &world.operator.access).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn who_operates_the_installation_reads_its_sign_ins_and_refusals_page_by_page() {
    let world = World::new().await;
    world.one.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    let page = world.other.get_as("/api/v1/audit?limit=2", &world.operator.access).await;
    let action = |entry: &Value| entry["action"].as_str().expect("an action").to_owned();
    let actions: Vec<_> = page.body["entries"].as_array().expect("entries").iter().map(action).collect();
    assert_eq!(
        (actions.as_slice(), &page.body["nextAfterSeq"]),
        (&["user.created".to_owned(), "login.created".to_owned()][..], &json!(2))
    );
    let rest = world.other.get_as("/api/v1/audit?afterSeq=2", &world.operator.access).await;
    let rest: Vec<_> = rest.body["entries"].as_array().expect("entries").iter().map(action).collect();
    assert_eq!(rest, ["login.refused"]);
    for wrong in ["limit=0", "limit=501", "afterSeq=-1"] {
        let path = format!("/api/v1/audit?{wrong}");
        world.one.get_as(&path, &world.operator.access).await.assert_failure(400, "schema-invalid");
    }
}
