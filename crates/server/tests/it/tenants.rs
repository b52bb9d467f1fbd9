//! Tenants, members and keys.

use reqwest::Method;
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::read_response;

#[tokio::test]
async fn role_determines_the_permissions_of_a_member() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let keys = format!("/api/v1/tenants/{tenant}/keys");
    let viewer = cluster.create_user("viewer").await;
    cluster.set_role(&tenant, &viewer, "viewer").await;
    let refused =
        cluster.second.post_as(&keys, &viewer.token, json!({ "name": "mine", "role": "viewer" })).await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.body["message"].as_str().expect("a message").contains("keys:manage"), "{}", refused.text);
    assert_eq!(cluster.second.get_as(&format!("/api/v1/tenants/{tenant}"), &viewer.token).await.status, 200);

    cluster.set_role(&tenant, &viewer, "operator").await;
    let created =
        cluster.second.post_as(&keys, &viewer.token, json!({ "name": "mine", "role": "viewer" })).await;
    assert_eq!(created.status, 201, "a new role applies to the next request: {}", created.text);
    let above =
        cluster.second.post_as(&keys, &viewer.token, json!({ "name": "mine", "role": "owner" })).await;
    above.assert_failure(403, "forbidden");
}

#[tokio::test]
async fn last_owner_stays_when_two_owners_leave_concurrently() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let second = cluster.create_user("second").await;
    cluster.set_role(&tenant, &second, "owner").await;
    let leave = |server, user: &crate::support::cluster::SignedInUser| {
        let path = format!("/api/v1/tenants/{tenant}/members/{}", user.principal);
        let access = user.token.clone();
        async move { crate::support::TestServer::request_as(server, Method::DELETE, &path, &access, None).await }
    };
    let (first, other) =
        tokio::join!(leave(&cluster.first, &cluster.operator), leave(&cluster.second, &second));
    let mut statuses = [first.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", first.text, other.text);
}

#[tokio::test]
async fn taken_slug_conflicts_and_invalid_tenant_body_is_refused() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let create = async |body: serde_json::Value| {
        cluster.second.post_as("/api/v1/tenants", &cluster.operator.token, body).await
    };
    create(json!({ "slug": "acme", "name": "A" })).await.assert_failure(409, "conflict");
    for body in [
        json!({ "slug": "Not A Slug", "name": "A" }),
        json!({ "slug": "fine", "name": "" }),
        json!({ "slug": "fine", "name": "A", "extra": 1 }),
        json!({ "slug": "fine" }),
        json!([]),
    ] {
        create(body).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn same_idempotency_key_replays_the_tenant_or_conflicts() {
    let cluster = Cluster::new().await;
    let create = async |server: &crate::support::TestServer, slug: &str| {
        let request = server.client.post(server.url("/api/v1/tenants")).bearer_auth(&cluster.operator.token);
        let request = request.header("idempotency-key", "one").json(&json!({ "slug": slug, "name": slug }));
        read_response(request.send().await.expect("a response")).await
    };
    let (first, second) = tokio::join!(create(&cluster.first, "acme"), create(&cluster.second, "acme"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    create(&cluster.first, "other").await.assert_failure(409, "idempotency-conflict");
    let list = cluster.first.get_as("/api/v1/tenants", &cluster.operator.token).await;
    assert_eq!(list.body["tenants"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn key_shows_its_secret_once_and_works_until_revoked() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (id, secret) = cluster.create_key(&tenant, "developer").await;
    let whoami = cluster.second.get_as("/api/v1/whoami", &secret).await;
    assert_eq!(
        (whoami.body["kind"].as_str(), whoami.body["tenants"][0]["role"].as_str()),
        (Some("service"), Some("developer"))
    );
    let list = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/keys"), &cluster.operator.token).await;
    assert!(!list.text.contains(&secret) && list.body["keys"][0]["lastUsedAt"].is_string(), "{}", list.text);

    let path = format!("/api/v1/tenants/{tenant}/keys/{id}");
    for _ in 0..2 {
        let revoked = cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await;
        assert_eq!(revoked.status, 200, "revoking twice is no error: {}", revoked.text);
    }
    cluster.second.get_as("/api/v1/whoami", &secret).await.assert_failure(401, "unauthenticated");
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let revocations =
        log.body["entries"].as_array().expect("entries").iter().filter(|e| e["action"] == "key.revoked");
    assert_eq!(revocations.count(), 1);
}
