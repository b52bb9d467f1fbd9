//! Tokens for external subjects.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use crate::support::people::World;
use crate::support::{Answer, TestServer};

fn token(minted: &Answer) -> String {
    assert_eq!(minted.status, 201, "{}", minted.text);
    minted.body["accessToken"].as_str().expect("a token").to_owned()
}

async fn is_nobody(server: &TestServer, token: &str) {
    server.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn a_subject_asks_as_itself_and_finds_no_tenant() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, key) = world.key(&tenant, "developer").await;
    let minted = world.subject_token(&tenant, &key, "user-1").await;
    let access = token(&minted);
    let who = world.other.get_as("/api/v1/whoami", &access).await;
    let principal = minted.body["principal"].clone();
    assert_eq!(
        who.body,
        json!({ "principal": principal, "kind": "external", "operator": false, "tenants": [] })
    );
    for path in ["", "/members", "/keys", "/audit", "/enrolments"] {
        let path = format!("/api/v1/tenants/{tenant}{path}");
        world.other.get_as(&path, &access).await.assert_failure(404, "not-found");
    }
    world.subject_token(&tenant, &access, "user-2").await.assert_failure(404, "not-found");
    let again = world.subject_token(&tenant, &key, "user-1").await;
    assert_eq!(again.body["principal"], principal, "the same subject is the same principal");
    let second = world.tenant("second").await;
    let (_, second_key) = world.key(&second, "developer").await;
    let elsewhere = world.subject_token(&second, &second_key, "user-1").await;
    assert_ne!(elsewhere.body["principal"], principal, "another tenant's user of the same name is another");
}

/// Even where somebody made the subject a member: its token does not carry that.
#[tokio::test]
async fn a_role_given_to_a_subject_opens_nothing() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, key) = world.key(&tenant, "developer").await;
    let minted = world.subject_token(&tenant, &key, "user-1").await;
    let path =
        format!("/api/v1/tenants/{tenant}/members/{}", minted.body["principal"].as_str().expect("an id"));
    let set =
        world.one.ask(Method::PUT, &path, &world.operator.access, Some(json!({ "role": "owner" }))).await;
    assert_eq!(set.status, 204, "{}", set.text);
    let tenant = format!("/api/v1/tenants/{tenant}");
    world.other.get_as(&tenant, &token(&minted)).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn a_subject_whose_key_lost_what_it_vouches_with_is_refused_at_once() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (id, key) = world.key(&tenant, "developer").await;
    let service = world.one.get_as("/api/v1/whoami", &key).await.body["principal"].clone();
    let access = token(&world.subject_token(&tenant, &key, "user-1").await);
    let (_, spared_key) = world.key(&tenant, "developer").await;
    let spared = token(&world.subject_token(&tenant, &spared_key, "user-1").await);
    let member = format!("/api/v1/tenants/{tenant}/members/{}", service.as_str().expect("an id"));
    for (role, status) in [("viewer", 401), ("developer", 200)] {
        let body = Some(json!({ "role": role }));
        assert_eq!(world.one.ask(Method::PUT, &member, &world.operator.access, body).await.status, 204);
        assert_eq!(world.other.get_as("/api/v1/whoami", &access).await.status, status, "{role}");
    }
    let path = format!("/api/v1/tenants/{tenant}/keys/{id}");
    assert_eq!(world.one.ask(Method::DELETE, &path, &world.operator.access, None).await.status, 204);
    is_nobody(&world.one, &access).await;
    is_nobody(&world.other, &access).await;
    assert_eq!(world.other.get_as("/api/v1/whoami", &spared).await.status, 200, "of another key");
    world.db.sql().await.execute("UPDATE principals SET disabled_at = now() WHERE kind = 'external'").await;
    is_nobody(&world.other, &spared).await;
}

#[tokio::test]
async fn only_a_service_key_with_the_right_vouches() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, viewer) = world.key(&tenant, "viewer").await;
    let refused = world.subject_token(&tenant, &viewer, "user-1").await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.text.contains("subjects:vouch"), "{}", refused.text);
    let person = world.subject_token(&tenant, &world.operator.access, "user-1").await;
    person.assert_failure(403, "forbidden");
    assert!(person.text.contains("service key"), "{}", person.text);
    let (_, key) = world.key(&tenant, "developer").await;
    for body in [
        json!({ "subject": "" }),
        json!({ "subject": "x".repeat(256) }),
        json!({ "subject": "a\u{0}b" }),
        json!({ "subject": "a", "name": "" }),
        json!({ "subject": "a", "role": "owner" }),
        json!({}),
    ] {
        let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
        world.one.post_as(&path, &key, body).await.assert_failure(400, "schema-invalid");
    }
    let principals = "SELECT count(*) FROM principals WHERE kind = 'external'";
    assert_eq!(world.db.sql().await.number(principals).await, 0);
}

#[tokio::test]
async fn a_subject_met_on_two_replicas_at_once_is_one_principal_and_one_entry_in_the_log() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, key) = world.key(&tenant, "developer").await;
    let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
    let body = json!({ "subject": "user-1", "name": "Ada" });
    // Both find nobody, then wait here to write.
    let (mut gate, mut watch) = (world.db.sql().await, world.db.sql().await);
    gate.execute("BEGIN; LOCK TABLE external_subjects IN EXCLUSIVE MODE").await;
    let open_the_gate = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = Instant::now() + Duration::from_secs(6);
        while watch.number(waiting).await < 2 {
            assert!(Instant::now() < deadline, "they do not meet");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        gate.execute("COMMIT").await;
    };
    let (first, second, ()) = tokio::join!(
        world.one.post_as(&path, &key, body.clone()),
        world.other.post_as(&path, &key, body.clone()),
        open_the_gate
    );
    token(&first);
    token(&second);
    assert_eq!(first.body["principal"], second.body["principal"]);
    let names = "SELECT name FROM principals WHERE kind = 'external'";
    assert_eq!(watch.texts(names).await, ["Ada"]);
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    let entries = log.body["entries"].as_array().expect("entries").iter();
    assert_eq!(entries.filter(|e| e["action"] == "subject.created").count(), 1, "{}", log.text);
    let metrics = world.one.get("/metrics").await.text;
    assert!(metrics.contains("guildhall_subject_tokens_total"), "{metrics}");
}
