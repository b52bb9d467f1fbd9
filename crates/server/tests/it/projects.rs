//! Projects of a tenant.

use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::{TestServer, read_response};

#[tokio::test]
async fn project_is_created_once_per_idempotency_key() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let create = async |server: &TestServer, slug: &str| {
        let request = server.client.post(server.url(&path)).bearer_auth(&cluster.operator.token);
        let request = request.header("idempotency-key", "one").json(&json!({ "slug": slug, "name": "Site" }));
        read_response(request.send().await.expect("a response")).await
    };
    let (first, second) = tokio::join!(create(&cluster.first, "website"), create(&cluster.second, "website"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    create(&cluster.first, "other").await.assert_failure(409, "idempotency-conflict");
    let id = first.body["id"].as_str().expect("an id");
    let created_at = &first.body["createdAt"];
    let expected = json!({ "id": id, "slug": "website", "name": "Site", "createdAt": created_at });
    assert_eq!(cluster.second.get_as(&format!("{path}/{id}"), &cluster.operator.token).await.body, expected);
    let list = cluster.second.get_as(&path, &cluster.operator.token).await;
    assert_eq!(list.body, json!({ "projects": [expected] }));
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries").iter();
    assert_eq!(entries.filter(|entry| entry["action"] == "project.created").count(), 1, "{}", log.text);
}

#[tokio::test]
async fn project_slug_is_unique_per_tenant() {
    let cluster = Cluster::new().await;
    let (acme, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let project = cluster.create_project(&acme, "website").await;
    cluster.create_project(&other, "website").await;
    let path = format!("/api/v1/tenants/{acme}/projects");
    let taken = json!({ "slug": "website", "name": "Another" });
    cluster.first.post_as(&path, &cluster.operator.token, taken).await.assert_failure(409, "conflict");
    for body in [
        json!({ "slug": "No Slug", "name": "A" }),
        json!({ "slug": "fine" }),
        json!({ "slug": "fine", "name": "\n" }),
    ] {
        cluster
            .first
            .post_as(&path, &cluster.operator.token, body)
            .await
            .assert_failure(400, "schema-invalid");
    }
    // A project is not found under another tenant, even by an owner of both.
    let other_tenant = format!("/api/v1/tenants/{other}/projects/{project}");
    cluster.first.get_as(&other_tenant, &cluster.operator.token).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn members_list_projects_and_operators_create_them() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let user = cluster.create_user("person").await;
    for (role, status) in [("viewer", 403), ("developer", 403), ("operator", 201)] {
        cluster.set_role(&tenant, &user, role).await;
        let body = json!({ "slug": format!("of-{role}"), "name": "mine" });
        assert_eq!(cluster.second.post_as(&path, &user.token, body).await.status, status, "{role}");
        assert_eq!(cluster.second.get_as(&path, &user.token).await.status, 200, "{role}");
    }
}
