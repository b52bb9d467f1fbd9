//! Agents of a tenant.

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{agent_request, text};
use crate::support::{TestResponse, TestServer, read_response};

const AGENTS: &str = "/api/v1/agents";

async fn patch(server: &TestServer, agent: &str, token: &str, body: Value) -> TestResponse {
    let request =
        server.client.patch(server.url(&format!("{AGENTS}/{agent}"))).bearer_auth(token).json(&body);
    read_response(request.send().await.expect("a response")).await
}

/// Returns a request body with other values.
fn request_with(tenant: &str, slug: &str, values: &Value) -> Value {
    let mut body = agent_request(tenant, slug);
    for (name, value) in values.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn agent_is_created_once_per_idempotency_key_on_two_replicas() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let create = async |server: &TestServer, slug: &str| {
        let body = request_with("acme", slug, &json!({ "instructions": "Be brief.", "default": true }));
        let request = server.client.post(server.url(AGENTS)).bearer_auth(&cluster.operator.token);
        let request = request.header("idempotency-key", "one").json(&body);
        read_response(request.send().await.expect("a response")).await
    };
    let (first, second) = tokio::join!(create(&cluster.first, "helper"), create(&cluster.second, "helper"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body, second.body);
    create(&cluster.second, "other").await.assert_failure(409, "idempotency-conflict");
    let expected = json!({
        "id": text(&first.body, "id"), "tenantId": tenant, "slug": "helper", "name": "helper", "description": "",
        "instructions": "Be brief.", "projectId": "acme/web", "workspaceRef": { "kind": "empty" },
        "providerId": "local", "backendProfile": "demo", "executionPolicy": {}, "pipeline": {}, "enabled": true, "default": true,
        "endUsers": { "answerApprovals": false, "turnsPerMinute": 10, "openThreads": 5, "tokensPerDay": 2_000_000 },
        "revision": 1, "capabilityManifestVersion": null, "capabilityManifestHash": null, "published": false,
        "createdAt": first.body["createdAt"], "updatedAt": first.body["updatedAt"],
    });
    let path = format!("{AGENTS}/{}", text(&first.body, "id"));
    assert_eq!(cluster.second.get_as(&path, &cluster.operator.token).await.body, expected);
    let list = cluster.second.get_as(&format!("{AGENTS}?tenantId=acme"), &cluster.operator.token).await;
    assert_eq!(list.body, json!({ "agents": [expected] }));
}

#[tokio::test]
async fn changed_settings_get_a_new_revision_and_other_values_stay() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (cluster.create_agent("acme", "helper").await, &cluster.operator.token);
    let before = cluster.first.get_as(&format!("{AGENTS}/{agent}"), token).await.body;
    let named = patch(&cluster.first, &agent, token, json!({ "name": "Helper" })).await;
    assert_eq!((named.body["revision"].as_i64(), text(&named.body, "name")), (Some(1), "Helper".to_owned()));
    let change =
        json!({ "instructions": "Answer in one word.", "executionPolicy": { "sandbox": "read-only" } });
    let changed = patch(&cluster.second, &agent, token, change).await;
    let mut expected = before;
    expected["name"] = json!("Helper");
    expected["instructions"] = json!("Answer in one word.");
    expected["executionPolicy"] = json!({ "sandbox": "read-only" });
    expected["revision"] = json!(2);
    expected["updatedAt"] = changed.body["updatedAt"].clone();
    assert_eq!(changed.body, expected);
    let stale = json!({ "revision": 1, "instructions": "Overwrite." });
    patch(&cluster.first, &agent, token, stale).await.assert_failure(409, "conflict");
    let cleared = patch(&cluster.first, &agent, token, json!({ "revision": 2, "instructions": null })).await;
    assert_eq!((cleared.body["revision"].as_i64(), &cleared.body["instructions"]), (Some(3), &Value::Null));
    let same = patch(&cluster.first, &agent, token, json!({ "name": "Helper" })).await;
    assert_eq!(same.body, cleared.body, "nothing changes");
}

#[tokio::test]
async fn tenant_has_one_default_agent_which_stays_enabled() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let token = &cluster.operator.token;
    let agents = tokio::join!(cluster.create_agent("acme", "one"), cluster.create_agent("acme", "two"));
    let default = json!({ "default": true });
    // Concurrent changes on two replicas: the last one wins, and there is never a second default.
    for _ in 0..5 {
        let (one, two) = tokio::join!(
            patch(&cluster.first, &agents.0, token, default.clone()),
            patch(&cluster.second, &agents.1, token, default.clone())
        );
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{} {}", one.text, two.text);
        let list = cluster.first.get_as(&format!("{AGENTS}?tenantId=acme"), token).await;
        let defaults = list.body["agents"].as_array().expect("agents").iter();
        assert_eq!(defaults.filter(|agent| agent["default"] == true).count(), 1, "{}", list.text);
    }
    patch(&cluster.first, &agents.0, token, default).await;
    let disabled = json!({ "enabled": false });
    patch(&cluster.first, &agents.0, token, disabled.clone()).await.assert_failure(409, "conflict");
    assert_eq!(patch(&cluster.first, &agents.1, token, disabled).await.body["enabled"], json!(false));
}

#[tokio::test]
async fn agent_outside_the_bounds_of_its_tenant_is_refused() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let token = &cluster.operator.token;
    let agent = cluster.create_agent("acme", "helper").await;
    let bounds = format!("/api/v1/tenants/{tenant}/bounds");
    let request = cluster.first.client.put(cluster.first.url(&bounds)).bearer_auth(token);
    let set = request.json(&json!({ "projects": ["acme/web"] })).send().await.expect("a response");
    assert_eq!(set.status(), 200);
    let other = json!({ "projectId": "acme/other" });
    let body = request_with("acme", "other", &other);
    cluster.second.post_as(AGENTS, token, body).await.assert_failure(403, "tenant-policy-denied");
    patch(&cluster.second, &agent, token, other).await.assert_failure(403, "tenant-policy-denied");
}

#[tokio::test]
async fn invalid_agents_are_refused_with_the_name_of_the_field() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let token = &cluster.operator.token;
    cluster.create_agent("acme", "taken").await;
    let taken = agent_request("acme", "taken");
    cluster.first.post_as(AGENTS, token, taken).await.assert_failure(409, "conflict");
    let uploaded = json!({ "kind": "bundle", "sha256": "0".repeat(64), "sizeBytes": 1 });
    for (field, value) in [
        ("slug", json!("No Slug")),
        ("name", json!("\n")),
        ("description", json!("x".repeat(501))),
        ("instructions", json!(" ")),
        ("workspaceRef", uploaded),
        ("executionPolicy", json!({ "privileged": true })),
    ] {
        let body = request_with("acme", "new", &json!({ field: value }));
        let refused = cluster.first.post_as(AGENTS, token, body).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(text(&refused.body, "message").starts_with(field), "{field}: {}", refused.text);
    }
}

#[tokio::test]
async fn members_read_agents_and_operators_change_them() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (agent, user) = (cluster.create_agent("acme", "helper").await, cluster.create_user("person").await);
    for (role, created, changed) in [("viewer", 403, 403), ("developer", 403, 403), ("operator", 201, 200)] {
        cluster.set_role(&tenant, &user, role).await;
        let body = agent_request("acme", &format!("of-{role}"));
        assert_eq!(cluster.second.post_as(AGENTS, &user.token, body).await.status, created, "{role}");
        let name = json!({ "name": role });
        assert_eq!(patch(&cluster.first, &agent, &user.token, name).await.status, changed, "{role}");
        let path = format!("{AGENTS}/{agent}");
        assert_eq!(cluster.second.get_as(&path, &user.token).await.status, 200, "{role}");
    }
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let actions = log.body["entries"].as_array().expect("entries").iter().map(|entry| text(entry, "action"));
    let of_agents: Vec<_> = actions.filter(|action| action.starts_with("agent.")).collect();
    assert_eq!(of_agents, ["agent.created", "agent.created", "agent.changed"]);
}
