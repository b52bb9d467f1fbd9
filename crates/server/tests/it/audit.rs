//! The audit log, read in pages and as a stream.

use std::time::Duration;

use guildhall_testkit::{PrivateEngines, Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;

#[tokio::test]
async fn audit_pages_and_streams_show_the_same_entries() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit");
    let mut stream =
        cluster.second.open_stream(&format!("{path}/stream"), &cluster.operator.token, None).await;
    for _ in 0..3 {
        cluster.create_key(&tenant, "viewer").await;
    }
    let mut streamed = Vec::new();
    for _ in 0..4 {
        streamed.push(stream.next().await.expect("an event"));
    }
    let mut paged = Vec::new();
    for after in 0..4 {
        let page =
            cluster.first.get_as(&format!("{path}?afterSeq={after}&limit=1"), &cluster.operator.token).await;
        assert_eq!(page.body["nextAfterSeq"], after + 1);
        paged.push(page.body["entries"][0].clone());
    }
    // The hash is left out: an entry may have been sealed between the two reads.
    let content = |entry: &serde_json::Value| {
        json!([entry["seq"], entry["id"], entry["action"], entry["body"], entry["recordedAt"]])
    };
    assert_eq!(
        streamed.iter().map(|event| content(&event.data)).collect::<Vec<_>>(),
        paged.iter().map(content).collect::<Vec<_>>()
    );

    // A reader that lost its connection resumes after its last event, on the other replica.
    let mut resumed = cluster
        .first
        .open_stream(&format!("{path}/stream"), &cluster.operator.token, streamed[1].id.as_deref())
        .await;
    let next = resumed.next().await.expect("an event");
    assert_eq!((next.data["seq"].as_i64(), next.id.clone()), (Some(3), streamed[2].id.clone()));
}

#[tokio::test]
async fn cursor_of_another_incarnation_gets_a_gap_event() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    for cursor in ["00000000deadbeef-1", "00000000deadbeef-99"] {
        let mut stream = cluster.first.open_stream(&path, &cluster.operator.token, Some(cursor)).await;
        let first = stream.next().await.expect("an event");
        assert_eq!(
            (first.kind.as_str(), &first.data),
            ("gap", &json!({ "v": 1, "type": "gap", "recovered": false, "reason": "other_incarnation" }))
        );
        assert_eq!(stream.next().await.expect("an event").data["seq"], 1);
    }
    let refused = cluster.first.client.get(cluster.first.url(&path)).bearer_auth(&cluster.operator.token);
    let refused = refused.header("last-event-id", "nonsense").send().await.expect("a response");
    crate::support::read_response(refused).await.assert_failure(400, "schema-invalid");
}

/// A revocation takes effect within a second on every replica, with and without NATS.
#[tokio::test]
async fn revoked_key_loses_access_and_streams_on_other_replica_within_1s() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let cluster = Cluster::with_setup(Setup::with_private_engines(&db, &engines.urls()), db).await;
    let tenant = cluster.create_tenant("acme").await;
    for nats_runs in [true, false] {
        if !nats_runs {
            engines.nats.kill();
        }
        let (id, secret) = cluster.create_key(&tenant, "operator").await;
        let path = format!("/api/v1/tenants/{tenant}/audit/stream");
        let mut stream = cluster.second.open_stream(&path, &secret, None).await;
        stream.next().await.expect("an open stream");
        let revoke = format!("/api/v1/tenants/{tenant}/keys/{id}");
        let response = cluster.first.request_as(Method::DELETE, &revoke, &cluster.operator.token, None).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let began = Stopwatch::start();
        cluster.second.get_as("/api/v1/whoami", &secret).await.assert_failure(401, "unauthenticated");
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event);
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(1), "the stream stayed open for {took:?}");
        assert_eq!(last.expect("a closing event").kind, "closed");
    }
}

#[tokio::test]
async fn refused_sign_in_is_audited_without_the_password() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster = Cluster::with_setup(Setup::new(&db), db).await;
    cluster.first.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    let entries = sql.texts("SELECT kind || ' ' || body FROM journal_entries ORDER BY seq").await;
    let refused: Vec<_> = entries.iter().filter(|entry| entry.starts_with("login.refused")).collect();
    assert_eq!(refused.len(), 1, "{entries:#?}");
    assert!(refused[0].contains("operator") && !refused[0].contains("wrong password"), "{}", refused[0]);
}

#[tokio::test]
async fn sign_in_with_an_unknown_name_is_audited_without_the_name() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster = Cluster::with_setup(Setup::new(&db), db).await;
    // A password that was typed into the name field.
    let typed = "my secret password";
    for server in [&cluster.first, &cluster.second] {
        server.try_sign_in(typed, "x").await.assert_failure(401, "sign-in-failed");
    }
    cluster.first.try_sign_in(&"n".repeat(64), "x").await.assert_failure(401, "sign-in-failed");
    let refused = "SELECT body FROM journal_entries WHERE kind = 'login.refused' ORDER BY seq";
    let entries = sql.texts(refused).await;
    assert_eq!(entries.len(), 3, "{entries:#?}");
    assert!(!entries.concat().contains(typed), "{entries:#?}");
    let tags: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| {
            let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
            let tag = entry["detail"]["nameTag"].clone();
            let expected =
                json!({ "actor": null, "address": "127.0.0.1", "object": "unknown", "detail": { "nameTag": tag, "leftOut": 0 } });
            assert_eq!(entry, expected);
            tag
        })
        .collect();
    assert_eq!(tags[0], tags[1], "both replicas give a name the same tag");
    assert_ne!(tags[0], tags[2]);
}

#[tokio::test]
async fn audit_page_can_start_from_the_end() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    for _ in 0..4 {
        cluster.create_key(&tenant, "viewer").await;
    }
    let page = async |server: &crate::support::TestServer, query: &str| {
        let path = format!("/api/v1/tenants/{tenant}/audit?{query}");
        let page = server.get_as(&path, &cluster.operator.token).await;
        let numbers = page.body["entries"].as_array().expect(query).iter().map(|entry| entry["seq"].clone());
        json!([numbers.collect::<Vec<_>>(), page.body["nextAfterSeq"]])
    };
    for server in [&cluster.first, &cluster.second] {
        assert_eq!(page(server, "fromEnd=2").await, json!([[4, 5], 5]));
        assert_eq!(
            page(server, "fromEnd=3&limit=2").await,
            json!([[3, 4], 4]),
            "the limit applies from there"
        );
        assert_eq!(page(server, "fromEnd=99").await, json!([[1, 2, 3, 4, 5], 5]));
        assert_eq!(page(server, "fromEnd=0").await, json!([[], 5]));
        assert_eq!(page(server, "fromEnd=4&afterSeq=3").await, json!([[4, 5], 5]), "the later start wins");
    }
    for invalid in ["fromEnd=-1", "fromEnd=2147483648", "afterSeq=-1&fromEnd=1"] {
        let path = format!("/api/v1/tenants/{tenant}/audit?{invalid}");
        cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn operator_reads_the_installation_audit_log_in_pages() {
    let cluster = Cluster::new().await;
    cluster.first.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    let page = cluster.second.get_as("/api/v1/audit?limit=2", &cluster.operator.token).await;
    let action = |entry: &Value| entry["action"].as_str().expect("an action").to_owned();
    let actions: Vec<_> = page.body["entries"].as_array().expect("entries").iter().map(action).collect();
    assert_eq!(
        (actions.as_slice(), &page.body["nextAfterSeq"]),
        (&["user.created".to_owned(), "login.created".to_owned()][..], &json!(2))
    );
    let rest = cluster.second.get_as("/api/v1/audit?afterSeq=2", &cluster.operator.token).await;
    let rest: Vec<_> = rest.body["entries"].as_array().expect("entries").iter().map(action).collect();
    assert_eq!(rest, ["login.refused"]);
    for invalid in ["limit=0", "limit=501", "afterSeq=-1"] {
        let path = format!("/api/v1/audit?{invalid}");
        cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(400, "schema-invalid");
    }
}
