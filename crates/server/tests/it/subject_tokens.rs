//! Tokens for external subjects.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::runs::TestTenant;
use crate::support::{TestResponse, TestServer};

fn token(minted: &TestResponse) -> String {
    assert_eq!(minted.status, 201, "{}", minted.text);
    minted.body["accessToken"].as_str().expect("a token").to_owned()
}

async fn assert_unauthenticated(server: &TestServer, token: &str) {
    server.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn subject_token_identifies_the_subject_and_grants_no_tenant() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, key) = cluster.create_key(&tenant, "developer").await;
    let minted = cluster.mint_subject_token(&tenant, &key, "user-1").await;
    let access = token(&minted);
    let whoami = cluster.second.get_as("/api/v1/whoami", &access).await;
    let principal = minted.body["principal"].clone();
    assert_eq!(
        whoami.body,
        json!({ "principal": principal, "kind": "external", "operator": false, "tenants": [] })
    );
    for path in ["", "/members", "/keys", "/audit", "/enrolments"] {
        let path = format!("/api/v1/tenants/{tenant}{path}");
        cluster.second.get_as(&path, &access).await.assert_failure(404, "not-found");
    }
    cluster.mint_subject_token(&tenant, &access, "user-2").await.assert_failure(404, "not-found");
    let again = cluster.mint_subject_token(&tenant, &key, "user-1").await;
    assert_eq!(again.body["principal"], principal, "the same subject has the same principal");
    let second = cluster.create_tenant("second").await;
    let (_, second_key) = cluster.create_key(&second, "developer").await;
    let elsewhere = cluster.mint_subject_token(&second, &second_key, "user-1").await;
    assert_ne!(
        elsewhere.body["principal"], principal,
        "the same subject of another tenant has another principal"
    );
}

/// Even if the subject is a member of the tenant, its token does not carry the role.
#[tokio::test]
async fn subject_token_ignores_the_role_of_its_principal() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, key) = cluster.create_key(&tenant, "developer").await;
    let minted = cluster.mint_subject_token(&tenant, &key, "user-1").await;
    let principal = minted.body["principal"].as_str().expect("an id");
    cluster.insert_membership(&tenant, principal, "owner").await;
    cluster.create_run(&TestTenant { id: tenant.clone(), enrolment: String::new() }).await;
    let tenant = format!("/api/v1/tenants/{tenant}");
    let subject = token(&minted);
    cluster.second.get_as(&tenant, &subject).await.assert_failure(404, "not-found");
    let list = async |path: &str| cluster.second.get_as(path, &subject).await.body;
    assert_eq!(list("/api/v1/tenants").await, json!({ "tenants": [] }));
    assert_eq!(list("/api/v1/whoami").await["tenants"], json!([]));
    assert_eq!(list("/api/v1/sessions?state=all").await, json!({ "sessions": [], "nextCursor": null }));
}

#[tokio::test]
async fn subject_token_is_refused_when_its_key_loses_the_permission() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (id, key) = cluster.create_key(&tenant, "developer").await;
    let service = cluster.first.get_as("/api/v1/whoami", &key).await.body["principal"].clone();
    let access = token(&cluster.mint_subject_token(&tenant, &key, "user-1").await);
    let (_, other_key) = cluster.create_key(&tenant, "developer").await;
    let other = token(&cluster.mint_subject_token(&tenant, &other_key, "user-1").await);
    let member = format!("/api/v1/tenants/{tenant}/members/{}", service.as_str().expect("an id"));
    for (role, status) in [("viewer", 401), ("developer", 200)] {
        let body = Some(json!({ "role": role }));
        assert_eq!(
            cluster.first.request_as(Method::PUT, &member, &cluster.operator.token, body).await.status,
            200
        );
        assert_eq!(cluster.second.get_as("/api/v1/whoami", &access).await.status, status, "{role}");
    }
    let path = format!("/api/v1/tenants/{tenant}/keys/{id}");
    assert_eq!(
        cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await.status,
        200
    );
    assert_unauthenticated(&cluster.first, &access).await;
    assert_unauthenticated(&cluster.second, &access).await;
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &other).await.status, 200, "a token of another key");
    cluster.db.sql().await.execute("UPDATE principals SET disabled_at = now() WHERE kind = 'external'").await;
    assert_unauthenticated(&cluster.second, &other).await;
}

#[tokio::test]
async fn subject_tokens_need_a_service_key_with_the_vouch_permission() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, viewer) = cluster.create_key(&tenant, "viewer").await;
    let refused = cluster.mint_subject_token(&tenant, &viewer, "user-1").await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.text.contains("subjects:vouch"), "{}", refused.text);
    let refused = cluster.mint_subject_token(&tenant, &cluster.operator.token, "user-1").await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.text.contains("service key"), "{}", refused.text);
    let (_, key) = cluster.create_key(&tenant, "developer").await;
    for body in [
        json!({ "subject": "" }),
        json!({ "subject": "x".repeat(256) }),
        json!({ "subject": "a\u{0}b" }),
        json!({ "subject": "a", "name": "" }),
        json!({ "subject": "a", "role": "owner" }),
        json!({}),
    ] {
        let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
        cluster.first.post_as(&path, &key, body).await.assert_failure(400, "schema-invalid");
    }
    let principals = "SELECT count(*) FROM principals WHERE kind = 'external'";
    assert_eq!(cluster.db.sql().await.number(principals).await, 0);
}

#[tokio::test]
async fn concurrent_first_tokens_of_a_subject_create_one_principal() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, key) = cluster.create_key(&tenant, "developer").await;
    let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
    let body = json!({ "subject": "user-1", "name": "Ada" });
    // The table lock holds both requests after they have found no principal, until both wait to insert one.
    let (mut lock, mut watch) = (cluster.db.sql().await, cluster.db.sql().await);
    lock.execute("BEGIN; LOCK TABLE external_subjects IN EXCLUSIVE MODE").await;
    let release_lock = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = Instant::now() + Duration::from_secs(120);
        while watch.number(waiting).await < 2 {
            assert!(Instant::now() < deadline, "the two requests do not wait for the lock");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        lock.execute("COMMIT").await;
    };
    let (first, second, ()) = tokio::join!(
        cluster.first.post_as(&path, &key, body.clone()),
        cluster.second.post_as(&path, &key, body.clone()),
        release_lock
    );
    token(&first);
    token(&second);
    assert_eq!(first.body["principal"], second.body["principal"]);
    let names = "SELECT name FROM principals WHERE kind = 'external'";
    assert_eq!(watch.texts(names).await, ["Ada"]);
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries").iter();
    assert_eq!(entries.filter(|e| e["action"] == "subject.created").count(), 1, "{}", log.text);
    let metrics = cluster.first.get("/metrics").await.text;
    assert!(metrics.contains("guildhall_subject_tokens_total"), "{metrics}");
}
