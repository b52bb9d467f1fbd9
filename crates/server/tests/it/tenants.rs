//! Tenants, members and keys.

use reqwest::Method;
use serde_json::json;

use crate::support::people::World;
use crate::support::read;

#[tokio::test]
async fn a_role_decides_what_a_member_may_do() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let keys = format!("/api/v1/tenants/{tenant}/keys");
    let viewer = world.user("viewer").await;
    world.member(&tenant, &viewer, "viewer").await;
    let refused =
        world.other.post_as(&keys, &viewer.access, json!({ "name": "mine", "role": "viewer" })).await;
    refused.assert_failure(403, "forbidden");
    assert!(refused.body["message"].as_str().expect("words").contains("keys:manage"), "{}", refused.text);
    assert_eq!(world.other.get_as(&format!("/api/v1/tenants/{tenant}"), &viewer.access).await.status, 200);

    world.member(&tenant, &viewer, "operator").await;
    let made = world.other.post_as(&keys, &viewer.access, json!({ "name": "mine", "role": "viewer" })).await;
    assert_eq!(made.status, 201, "a new role holds from the next request on: {}", made.text);
    let above = world.other.post_as(&keys, &viewer.access, json!({ "name": "mine", "role": "owner" })).await;
    above.assert_failure(403, "forbidden");
}

#[tokio::test]
async fn the_last_owner_stays_even_when_two_leave_at_once() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let second = world.user("second").await;
    world.member(&tenant, &second, "owner").await;
    let leave = |server, person: &crate::support::people::Person| {
        let path = format!("/api/v1/tenants/{tenant}/members/{}", person.principal);
        let access = person.access.clone();
        async move { crate::support::TestServer::ask(server, Method::DELETE, &path, &access, None).await }
    };
    let (first, other) = tokio::join!(leave(&world.one, &world.operator), leave(&world.other, &second));
    let mut statuses = [first.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 409], "{} {}", first.text, other.text);
}

#[tokio::test]
async fn a_name_that_is_taken_and_a_form_that_does_not_fit_are_refused_with_the_reason() {
    let world = World::new().await;
    world.tenant("acme").await;
    let ask = async |body: serde_json::Value| {
        world.other.post_as("/api/v1/tenants", &world.operator.access, body).await
    };
    ask(json!({ "slug": "acme", "name": "A" })).await.assert_failure(409, "conflict");
    for body in [
        json!({ "slug": "Not A Slug", "name": "A" }),
        json!({ "slug": "fine", "name": "" }),
        json!({ "slug": "fine", "name": "A", "extra": 1 }),
        json!({ "slug": "fine" }),
        json!([]),
    ] {
        ask(body).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn the_same_idempotency_key_gives_the_same_tenant_and_other_words_are_refused() {
    let world = World::new().await;
    let create = async |server: &crate::support::TestServer, slug: &str| {
        let request = server.client.post(server.url("/api/v1/tenants")).bearer_auth(&world.operator.access);
        let request = request.header("idempotency-key", "one").json(&json!({ "slug": slug, "name": slug }));
        read(request.send().await.expect("an answer")).await
    };
    let (first, second) = tokio::join!(create(&world.one, "acme"), create(&world.other, "acme"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    create(&world.one, "other").await.assert_failure(409, "idempotency-conflict");
    let mine = world.one.get_as("/api/v1/tenants", &world.operator.access).await;
    assert_eq!(mine.body["tenants"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_key_shows_its_secret_once_and_works_until_it_is_revoked() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (id, secret) = world.key(&tenant, "developer").await;
    let who = world.other.get_as("/api/v1/whoami", &secret).await;
    assert_eq!(
        (who.body["kind"].as_str(), who.body["tenants"][0]["role"].as_str()),
        (Some("service"), Some("developer"))
    );
    let list = world.one.get_as(&format!("/api/v1/tenants/{tenant}/keys"), &world.operator.access).await;
    assert!(!list.text.contains(&secret) && list.body["keys"][0]["lastUsedAt"].is_string(), "{}", list.text);

    let path = format!("/api/v1/tenants/{tenant}/keys/{id}");
    for _ in 0..2 {
        let revoked = world.one.ask(Method::DELETE, &path, &world.operator.access, None).await;
        assert_eq!(revoked.status, 204, "ending it again is no error: {}", revoked.text);
    }
    world.other.get_as("/api/v1/whoami", &secret).await.assert_failure(401, "unauthenticated");
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    let revocations =
        log.body["entries"].as_array().expect("entries").iter().filter(|e| e["action"] == "key.revoked");
    assert_eq!(revocations.count(), 1);
}
