//! Projects of tenants.

use serde_json::json;

use crate::support::people::World;
use crate::support::{TestServer, read};

#[tokio::test]
async fn a_project_is_made_once_under_its_key_and_shown_on_every_replica() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let create = async |server: &TestServer, slug: &str| {
        let request = server.client.post(server.url(&path)).bearer_auth(&world.operator.access);
        let request = request.header("idempotency-key", "one").json(&json!({ "slug": slug, "name": "Site" }));
        read(request.send().await.expect("an answer")).await
    };
    let (first, second) = tokio::join!(create(&world.one, "website"), create(&world.other, "website"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    create(&world.one, "other").await.assert_failure(409, "idempotency-conflict");
    let id = first.body["id"].as_str().expect("an id");
    let made_at = &first.body["createdAt"];
    let wanted = json!({ "id": id, "slug": "website", "name": "Site", "createdAt": made_at });
    assert_eq!(world.other.get_as(&format!("{path}/{id}"), &world.operator.access).await.body, wanted);
    let list = world.other.get_as(&path, &world.operator.access).await;
    assert_eq!(list.body, json!({ "projects": [wanted] }));
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    let entries = log.body["entries"].as_array().expect("entries").iter();
    assert_eq!(entries.filter(|entry| entry["action"] == "project.created").count(), 1, "{}", log.text);
}

#[tokio::test]
async fn a_short_name_is_taken_in_its_own_tenant_only() {
    let world = World::new().await;
    let (acme, other) = (world.tenant("acme").await, world.tenant("other").await);
    let project = world.project(&acme, "website").await;
    world.project(&other, "website").await;
    let path = format!("/api/v1/tenants/{acme}/projects");
    let taken = json!({ "slug": "website", "name": "Another" });
    world.one.post_as(&path, &world.operator.access, taken).await.assert_failure(409, "conflict");
    for body in [
        json!({ "slug": "No Slug", "name": "A" }),
        json!({ "slug": "fine" }),
        json!({ "slug": "fine", "name": "\n" }),
    ] {
        world.one.post_as(&path, &world.operator.access, body).await.assert_failure(400, "schema-invalid");
    }
    // A project of one tenant is not found in another, even by somebody who owns both.
    let elsewhere = format!("/api/v1/tenants/{other}/projects/{project}");
    world.one.get_as(&elsewhere, &world.operator.access).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn everyone_in_the_tenant_sees_projects_and_operators_make_them() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let person = world.user("person").await;
    for (role, status) in [("viewer", 403), ("developer", 403), ("operator", 201)] {
        world.member(&tenant, &person, role).await;
        let body = json!({ "slug": format!("of-{role}"), "name": "mine" });
        assert_eq!(world.other.post_as(&path, &person.access, body).await.status, status, "{role}");
        assert_eq!(world.other.get_as(&path, &person.access).await.status, 200, "{role}");
    }
}
