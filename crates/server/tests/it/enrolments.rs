//! Enrolment tokens and run tokens.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::read;

const OWN_ENROLMENT: &str = "/api/v1/runner/enrolment";
const OWN_GRANT: &str = "/api/v1/runner/grant";

fn enrolments(tenant: &str) -> String {
    format!("/api/v1/tenants/{tenant}/enrolments")
}

#[tokio::test]
async fn an_enrolment_shows_its_secret_once_and_says_what_it_is_bound_to() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let body = json!({ "name": "gpu pool", "profile": "codex", "pool": "gpu", "expiresInMs": 3_600_000 });
    let create = async || {
        let url = world.one.url(&enrolments(&tenant));
        let request = world.one.client.post(url).bearer_auth(&world.operator.access);
        read(request.header("idempotency-key", "one").json(&body).send().await.expect("an answer")).await
    };
    let made = create().await;
    assert_eq!(made.status, 201, "{}", made.text);
    let (id, secret) = (made.body["id"].clone(), made.body["secret"].as_str().expect("a secret").to_owned());
    assert_eq!(create().await.body, json!({ "id": id, "secret": null }), "a replay shows no secret");

    let own = world.other.get_as(OWN_ENROLMENT, &secret).await;
    let expires_at = own.body["expiresAt"].clone();
    let wanted =
        json!({ "id": id, "tenant": tenant, "profile": "codex", "pool": "gpu", "expiresAt": expires_at });
    assert_eq!((own.status.as_u16(), own.body), (200, wanted));
    let list = world.other.get_as(&enrolments(&tenant), &world.operator.access).await;
    let row = &list.body["enrolments"][0];
    let wanted = json!({ "enrolments": [{
        "id": id, "name": "gpu pool", "profile": "codex", "pool": "gpu", "createdAt": row["createdAt"],
        "expiresAt": expires_at, "lastUsedAt": row["lastUsedAt"], "revokedAt": null,
    }] });
    assert!(row["lastUsedAt"].is_string(), "{}", list.text);
    assert_eq!(list.body, wanted);
}

#[tokio::test]
async fn a_revoked_enrolment_ends_at_once_everywhere_and_with_it_the_tokens_of_its_runs() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (id, secret) = world.enrolment(&tenant).await;
    let (_, spared) = world.enrolment(&tenant).await;
    let (run, grant) = world.run_token(&secret).await;
    let (spared_run, _) = world.run_token(&spared).await;
    let own = world.other.get_as(OWN_GRANT, &run).await;
    let wanted = json!({
        "run": grant.run, "epoch": 3, "runner": grant.runner, "tenant": tenant, "expiresAt": own.body["expiresAt"],
    });
    assert_eq!((own.status.as_u16(), own.body), (200, wanted));

    let path = format!("{}/{id}", enrolments(&tenant));
    for _ in 0..2 {
        let revoked = world.one.ask(Method::DELETE, &path, &world.operator.access, None).await;
        assert_eq!(revoked.status, 204, "ending it again is no error: {}", revoked.text);
    }
    for server in [&world.one, &world.other] {
        server.get_as(OWN_ENROLMENT, &secret).await.assert_failure(401, "unauthenticated");
        server.get_as(OWN_GRANT, &run).await.assert_failure(401, "unauthenticated");
        assert_eq!(server.get_as(OWN_ENROLMENT, &spared).await.status, 200);
        assert_eq!(server.get_as(OWN_GRANT, &spared_run).await.status, 200);
    }
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    let entries = log.body["entries"].as_array().expect("entries");
    let revoked: Vec<&Value> = entries.iter().filter(|e| e["action"] == "enrolment.revoked").collect();
    assert_eq!(revoked.len(), 1, "{}", log.text);
    assert!(!log.text.contains(&secret), "a secret stands in the audit log");
}

#[tokio::test]
async fn appends_that_were_let_in_a_moment_ago_end_within_a_second_of_the_revocation() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (id, secret) = world.enrolment(&tenant).await;
    let (token, grant) = world.run_token(&secret).await;
    let path = format!("/api/v1/runs/{}/events", grant.run);
    let body = json!({ "events": [{ "id": "1-1", "type": "status", "payload": {} }] });
    for server in [&world.one, &world.other] {
        let let_in = server.ask(Method::POST, &path, &token, Some(body.clone())).await;
        assert_ne!(let_in.status, 401, "the token holds: {}", let_in.text);
    }
    let revoke = format!("{}/{id}", enrolments(&tenant));
    let revoked = world.one.ask(Method::DELETE, &revoke, &world.operator.access, None).await;
    assert_eq!(revoked.status, 204, "{}", revoked.text);
    // It goes on meanwhile: being asked must not make it hold longer.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.other.ask(Method::POST, &path, &token, Some(body.clone())).await;
    }
    for server in [&world.one, &world.other] {
        let refused = server.ask(Method::POST, &path, &token, Some(body.clone())).await;
        refused.assert_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn an_expired_enrolment_claims_nothing_more_and_what_was_claimed_goes_on() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, secret) = world.enrolment(&tenant).await;
    let (run, _) = world.run_token(&secret).await;
    world.db.sql().await.execute("UPDATE enrolments SET expires_at = now()").await;
    world.other.get_as(OWN_ENROLMENT, &secret).await.assert_failure(401, "unauthenticated");
    assert_eq!(world.other.get_as(OWN_GRANT, &run).await.status, 200);
    world.db.sql().await.execute("UPDATE principals SET disabled_at = now() WHERE name = 'runners'").await;
    world.other.get_as(OWN_GRANT, &run).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn a_secret_of_another_kind_or_another_enrolment_is_nobodys() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let ((one, secret), (other, _)) = (world.enrolment(&tenant).await, world.enrolment(&tenant).await);
    let (_, key) = world.key(&tenant, "operator").await;
    let digits = |id: &str| id.replace("enr_", "");
    let moved = secret.replace(&digits(&one), &digits(&other));
    let as_key = secret.replacen("ghe", "ghk", 1);
    let as_enrolment = key.replacen("ghk", "ghe", 1);
    assert_ne!(moved, secret);
    for token in [&moved, &as_enrolment, &as_key, &secret[..79], &key] {
        world.one.get_as(OWN_ENROLMENT, token).await.assert_failure(401, "unauthenticated");
    }
    for token in [&moved, &as_enrolment, &as_key, &secret] {
        world.one.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn only_operators_and_owners_of_the_tenant_issue_enrolments() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let person = world.user("person").await;
    for (role, status) in [("viewer", 403), ("developer", 403), ("operator", 201)] {
        world.member(&tenant, &person, role).await;
        let made = world.other.post_as(&enrolments(&tenant), &person.access, json!({ "name": "mine" })).await;
        assert_eq!(made.status, status, "{role}: {}", made.text);
        let listed = world.other.get_as(&enrolments(&tenant), &person.access).await;
        assert_eq!(listed.status == 200, status == 201, "{role}: {}", listed.text);
    }
    for body in [
        json!({ "name": "x", "profile": "Not A Slug" }),
        json!({ "name": "x", "pool": "-" }),
        json!({ "name": "x", "expiresInMs": 59_999 }),
        json!({ "name": "x", "expiresInMs": 31_536_000_001_u64 }),
        json!({ "name": "x", "expiresInMs": -1 }),
        json!({ "name": "x", "role": "owner" }),
        json!({ "name": "" }),
    ] {
        let refused = world.one.post_as(&enrolments(&tenant), &world.operator.access, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn where_everyone_must_sign_in_a_runner_is_let_through_to_its_own_routes() {
    let db = guildhall_testkit::TestDb::new().await;
    let world = World::on(crate::support::Setup::on(&db).with("access.require_auth", "true"), db).await;
    let tenant = world.tenant("acme").await;
    let (_, secret) = world.enrolment(&tenant).await;
    let (run, _) = world.run_token(&secret).await;
    assert_eq!(world.one.get_as(OWN_ENROLMENT, &secret).await.status, 200);
    assert_eq!(world.one.get_as(OWN_GRANT, &run).await.status, 200);
}
