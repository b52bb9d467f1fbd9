//! Enrolment tokens and run tokens.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::read_response;

const ENROLMENT_ROUTE: &str = "/api/v1/runner/enrolment";
const GRANT_ROUTE: &str = "/api/v1/runner/grant";

fn enrolments_path(tenant: &str) -> String {
    format!("/api/v1/tenants/{tenant}/enrolments")
}

#[tokio::test]
async fn enrolment_shows_its_secret_once_and_its_bindings() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let body = json!({ "name": "gpu pool", "profile": "codex", "expiresInMs": 3_600_000 });
    let create = async || {
        let url = cluster.first.url(&enrolments_path(&tenant));
        let request = cluster.first.client.post(url).bearer_auth(&cluster.operator.token);
        read_response(request.header("idempotency-key", "one").json(&body).send().await.expect("a response"))
            .await
    };
    let created = create().await;
    assert_eq!(created.status, 201, "{}", created.text);
    let (id, secret) =
        (created.body["id"].clone(), created.body["secret"].as_str().expect("a secret").to_owned());
    assert_eq!(create().await.body, json!({ "id": id, "secret": null }), "a replay shows no secret");

    let own = cluster.second.get_as(ENROLMENT_ROUTE, &secret).await;
    let expires_at = own.body["expiresAt"].clone();
    let expected = json!({ "id": id, "tenant": tenant, "profile": "codex", "expiresAt": expires_at });
    assert_eq!((own.status.as_u16(), own.body), (200, expected));
    let list = cluster.second.get_as(&enrolments_path(&tenant), &cluster.operator.token).await;
    let row = &list.body["enrolments"][0];
    let expected = json!({ "enrolments": [{
        "id": id, "name": "gpu pool", "profile": "codex", "createdAt": row["createdAt"],
        "expiresAt": expires_at, "lastUsedAt": row["lastUsedAt"], "revokedAt": null,
    }] });
    assert!(row["lastUsedAt"].is_string(), "{}", list.text);
    assert_eq!(list.body, expected);
}

#[tokio::test]
async fn revoked_enrolment_and_its_run_tokens_are_refused_everywhere() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (id, secret) = cluster.create_enrolment(&tenant).await;
    let (_, other) = cluster.create_enrolment(&tenant).await;
    let (run, grant) = cluster.mint_run_token(&secret).await;
    let (other_run, _) = cluster.mint_run_token(&other).await;
    let own = cluster.second.get_as(GRANT_ROUTE, &run).await;
    let expected = json!({
        "run": grant.run, "epoch": 3, "runner": grant.runner, "tenant": tenant, "expiresAt": own.body["expiresAt"],
    });
    assert_eq!((own.status.as_u16(), own.body), (200, expected));

    let path = format!("{}/{id}", enrolments_path(&tenant));
    for _ in 0..2 {
        let revoked = cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await;
        assert_eq!(revoked.status, 200, "revoking twice is no error: {}", revoked.text);
    }
    for server in [&cluster.first, &cluster.second] {
        server.get_as(ENROLMENT_ROUTE, &secret).await.assert_failure(401, "unauthenticated");
        server.get_as(GRANT_ROUTE, &run).await.assert_failure(401, "unauthenticated");
        assert_eq!(server.get_as(ENROLMENT_ROUTE, &other).await.status, 200);
        assert_eq!(server.get_as(GRANT_ROUTE, &other_run).await.status, 200);
    }
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries");
    let revoked: Vec<&Value> = entries.iter().filter(|e| e["action"] == "enrolment.revoked").collect();
    assert_eq!(revoked.len(), 1, "{}", log.text);
    assert!(!log.text.contains(&secret), "the audit log contains a secret");
}

#[tokio::test]
async fn appends_are_refused_within_1s_of_a_revocation() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (id, secret) = cluster.create_enrolment(&tenant).await;
    let (token, grant) = cluster.mint_run_token(&secret).await;
    let path = format!("/api/v1/runs/{}/events", grant.run);
    let body = json!({ "events": [{ "id": "1-1", "type": "status", "payload": {} }] });
    for server in [&cluster.first, &cluster.second] {
        let accepted = server.request_as(Method::POST, &path, &token, Some(body.clone())).await;
        assert_ne!(accepted.status, 401, "the token is valid: {}", accepted.text);
    }
    let revoke = format!("{}/{id}", enrolments_path(&tenant));
    let revoked = cluster.first.request_as(Method::DELETE, &revoke, &cluster.operator.token, None).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    // Requests go on meanwhile: they must not extend the life of a cached token.
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cluster.second.request_as(Method::POST, &path, &token, Some(body.clone())).await;
    }
    for server in [&cluster.first, &cluster.second] {
        let refused = server.request_as(Method::POST, &path, &token, Some(body.clone())).await;
        refused.assert_failure(401, "unauthenticated");
    }
}

/// The attacker has an enrolment of the same tenant, and learns from the conflict which runner holds the run.
#[tokio::test]
async fn runner_of_another_enrolment_cannot_be_used_to_claim() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (_, attacker) = cluster.create_enrolment(&tenant.id).await;
    let run = cluster.create_run(&tenant).await;
    let held = cluster.first.claim(&tenant, &run).await;
    let own = cluster.second.register_runner_with(&attacker).await;
    let claim = async |runner: &str| {
        let path = format!("/api/v1/runs/{run}/claim");
        cluster.second.post_as(&path, &attacker, json!({ "runnerId": runner })).await
    };
    let conflict = claim(&own).await;
    conflict.assert_failure(409, "runner-lease-conflict");
    assert_eq!(conflict.body["owner"], held.runner.as_str());
    claim(&held.runner).await.assert_failure(404, "not-found");
    let next = json!({ "runnerId": held.runner, "wait": 0 });
    let response = cluster.second.post_as("/api/v1/runners/claim", &attacker, next).await;
    response.assert_failure(404, "not-found");
    // The holder repeats its claim, as after a lost response.
    assert_eq!(cluster.second.try_claim(&tenant, &run, &held.runner).await.status, 200);
}

#[tokio::test]
async fn expired_enrolment_cannot_claim_and_its_run_tokens_stay_valid() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, secret) = cluster.create_enrolment(&tenant).await;
    let (run, _) = cluster.mint_run_token(&secret).await;
    cluster.db.sql().await.execute("UPDATE enrolments SET expires_at = now()").await;
    cluster.second.get_as(ENROLMENT_ROUTE, &secret).await.assert_failure(401, "unauthenticated");
    assert_eq!(cluster.second.get_as(GRANT_ROUTE, &run).await.status, 200);
    cluster.db.sql().await.execute("UPDATE principals SET disabled_at = now() WHERE name = 'runners'").await;
    cluster.second.get_as(GRANT_ROUTE, &run).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn secret_of_another_kind_or_enrolment_is_unauthenticated() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let ((one, secret), (other, _)) =
        (cluster.create_enrolment(&tenant).await, cluster.create_enrolment(&tenant).await);
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    let digits = |id: &str| id.replace("enr_", "");
    let other_id = secret.replace(&digits(&one), &digits(&other));
    let as_key = secret.replacen("ghe", "ghk", 1);
    let as_enrolment = key.replacen("ghk", "ghe", 1);
    assert_ne!(other_id, secret);
    for token in [&other_id, &as_enrolment, &as_key, &secret[..79], &key] {
        cluster.first.get_as(ENROLMENT_ROUTE, token).await.assert_failure(401, "unauthenticated");
    }
    for token in [&other_id, &as_enrolment, &as_key, &secret] {
        cluster.first.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn only_tenant_operators_and_owners_create_enrolments() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let user = cluster.create_user("person").await;
    for (role, status) in [("viewer", 403), ("developer", 403), ("operator", 201)] {
        cluster.set_role(&tenant, &user, role).await;
        let created =
            cluster.second.post_as(&enrolments_path(&tenant), &user.token, json!({ "name": "mine" })).await;
        assert_eq!(created.status, status, "{role}: {}", created.text);
        let listed = cluster.second.get_as(&enrolments_path(&tenant), &user.token).await;
        assert_eq!(listed.status == 200, status == 201, "{role}: {}", listed.text);
    }
    for body in [
        json!({ "name": "x", "profile": "Not A Slug" }),
        json!({ "name": "x", "pool": "gpu" }),
        json!({ "name": "x", "expiresInMs": 59_999 }),
        json!({ "name": "x", "expiresInMs": 31_536_000_001_u64 }),
        json!({ "name": "x", "expiresInMs": 1_u64 << 62 }),
        json!({ "name": "x", "expiresInMs": -1 }),
        json!({ "name": "x", "role": "owner" }),
        json!({ "name": "" }),
    ] {
        let refused = cluster.first.post_as(&enrolments_path(&tenant), &cluster.operator.token, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn require_auth_lets_runners_use_their_own_routes() {
    let db = guildhall_testkit::TestDb::new().await;
    let cluster =
        Cluster::with_setup(crate::support::Setup::new(&db).with("access.require_auth", "true"), db).await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, secret) = cluster.create_enrolment(&tenant).await;
    let (run, _) = cluster.mint_run_token(&secret).await;
    assert_eq!(cluster.first.get_as(ENROLMENT_ROUTE, &secret).await.status, 200);
    assert_eq!(cluster.first.get_as(GRANT_ROUTE, &run).await.status, 200);
}
