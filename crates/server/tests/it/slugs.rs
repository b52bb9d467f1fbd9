//! A tenant and a project are named by id or slug, wherever a request names one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestResponse;
use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::runs::run_request;

/// Requests that name a tenant, by the kind of the parameter: `{tenant}` stands for its name.
fn requests() -> Vec<(Method, &'static str, Option<Value>)> {
    let setup = json!({ "command": "make" });
    let session =
        |tenant: &str| json!({ "tenantId": tenant, "projectId": "acme/web", "backendProfile": "demo" });
    vec![
        // In the path, of a member.
        (Method::GET, "/api/v1/tenants/{tenant}", None),
        (Method::GET, "/api/v1/tenants/{tenant}/members", None),
        (Method::GET, "/api/v1/tenants/{tenant}/audit", None),
        (Method::POST, "/api/v1/tenants/{tenant}/keys", Some(json!({ "name": "ci", "role": "viewer" }))),
        // In the path, with another id.
        (Method::DELETE, "/api/v1/tenants/{tenant}/keys/key_01920000000070008000000000000000", None),
        // In the path, with a project.
        (Method::GET, "/api/v1/tenants/{tenant}/projects/website", None),
        (Method::PUT, "/api/v1/tenants/{tenant}/projects/website/setup", Some(setup)),
        (Method::DELETE, "/api/v1/tenants/{tenant}/projects/website/setup", None),
        // In the query.
        (Method::GET, "/api/v1/runs?tenantId={tenant}", None),
        (Method::GET, "/api/v1/sessions?tenantId={tenant}", None),
        (Method::GET, "/api/v1/backends?tenantId={tenant}", None),
        (Method::GET, "/api/v1/provider-profiles?tenantId={tenant}", None),
        (Method::GET, "/api/v1/provider-profiles/codex?tenantId={tenant}", None),
        // In the body.
        (Method::POST, "/api/v1/runs", Some(run_request("{tenant}"))),
        (Method::POST, "/api/v1/sessions", Some(session("{tenant}"))),
    ]
}

async fn send(
    cluster: &Cluster,
    user: &SignedInUser,
    request: &(Method, &str, Option<Value>),
    tenant: &str,
) -> TestResponse {
    let (method, path, body) = request;
    let body = body.clone().map(|mut body| {
        if body["tenantId"] == "{tenant}" {
            body["tenantId"] = tenant.into();
        }
        body
    });
    cluster.second.request_as(method.clone(), &path.replace("{tenant}", tenant), &user.token, body).await
}

#[tokio::test]
async fn slug_is_accepted_wherever_a_tenant_id_is() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    cluster.create_project(&tenant, "website").await;
    let owner = cluster.create_user("owner").await;
    cluster.set_role(&tenant, &owner, "owner").await;
    for request in requests() {
        let by_id = send(&cluster, &owner, &request, &tenant).await;
        let by_slug = send(&cluster, &owner, &request, "acme").await;
        let (_, path, _) = &request;
        assert_eq!(by_id.status, by_slug.status, "{path}: {} {}", by_id.text, by_slug.text);
        let is_missing_key = path.contains("/keys/");
        assert_eq!(by_slug.status.is_success(), !is_missing_key, "{path}: {}", by_slug.text);
        if request.0 == Method::GET && !path.contains("/audit") {
            assert_eq!(by_id.body, by_slug.body, "{path}");
        }
    }
}

#[tokio::test]
async fn slug_of_another_tenant_looks_like_an_unknown_slug() {
    let cluster = Cluster::new().await;
    let (ours, theirs) = (cluster.create_tenant("ours").await, cluster.create_tenant("theirs").await);
    cluster.create_project(&theirs, "website").await;
    let mallory = cluster.create_user("mallory").await;
    cluster.set_role(&ours, &mallory, "owner").await;
    for request in requests() {
        let mut responses = Vec::new();
        for tenant in ["theirs", "no-such-tenant", "ten_01920000000070008000000000000000"] {
            let response = send(&cluster, &mallory, &request, tenant).await;
            let mut body = response.body;
            body["traceId"] = Value::Null;
            responses.push((response.status, body));
        }
        let is_new_run = request.0 == Method::POST && request.1 == "/api/v1/runs";
        assert_eq!(responses[0].0, if is_new_run { 403 } else { 404 }, "{request:?}: {responses:?}");
        assert!(responses.iter().all(|response| *response == responses[0]), "{request:?}: {responses:?}");
    }
}

#[tokio::test]
async fn project_is_found_by_slug_in_its_own_tenant_only() {
    let cluster = Cluster::new().await;
    let (acme, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let project = cluster.create_project(&acme, "website").await;
    let get = async |tenant: &str, key: &str| {
        let path = format!("/api/v1/tenants/{tenant}/projects/{key}");
        cluster.second.get_as(&path, &cluster.operator.token).await
    };
    assert_eq!(get("acme", "website").await.body, get(&acme, &project).await.body);
    for (tenant, key) in
        [("other", "website"), (&*other, &*project), ("acme", "no-such-project"), ("acme", "%2e")]
    {
        get(tenant, key).await.assert_failure(404, "not-found");
    }
    let path = "/api/v1/tenants/acme/projects/website/setup";
    let body = json!({ "command": "make" });
    let set = cluster.first.request_as(Method::PUT, path, &cluster.operator.token, Some(body)).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(set.body, get(&acme, &project).await.body);
}

#[tokio::test]
async fn operator_names_the_tenant_of_bounds_by_slug() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let member = cluster.create_user("member").await;
    cluster.set_role(&tenant, &member, "owner").await;
    let body = json!({ "projects": ["acme/*"] });
    let path = "/api/v1/tenants/acme/bounds";
    let set = cluster.first.request_as(Method::PUT, path, &cluster.operator.token, Some(body)).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let by_id =
        cluster.second.get_as(&format!("/api/v1/tenants/{tenant}/bounds"), &cluster.operator.token).await;
    assert_eq!(set.body, by_id.body);
    for (path, user) in [(path, &member), ("/api/v1/tenants/no-such-tenant/bounds", &cluster.operator)] {
        cluster.second.get_as(path, &user.token).await.assert_failure(404, "not-found");
    }
}
