//! Setup of a project: how runs prepare their workspace.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestResponse;
use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, run_request, text};

fn setup(command: &str) -> Value {
    json!({ "command": command, "allowedHosts": ["*.example.com:8443"], "cacheFiles": ["web/package-lock.json"] })
}

fn project_path(tenant: &str, project: &str) -> String {
    format!("/api/v1/tenants/{tenant}/projects/{project}")
}

async fn set_setup(cluster: &Cluster, tenant: &str, project: &str, body: Value) -> TestResponse {
    let path = format!("{}/setup", project_path(tenant, project));
    cluster.first.request_as(Method::PUT, &path, &cluster.operator.token, Some(body)).await
}

async fn clear_setup(cluster: &Cluster, tenant: &str, project: &str) -> TestResponse {
    let path = format!("{}/setup", project_path(tenant, project));
    cluster.second.request_as(Method::DELETE, &path, &cluster.operator.token, None).await
}

/// Creates a project with a setup.
async fn create_project_with_setup(cluster: &Cluster, tenant: &str, slug: &str, body: Value) -> String {
    let project = cluster.create_project(tenant, slug).await;
    let response = set_setup(cluster, tenant, &project, body).await;
    assert_eq!(response.status, 200, "{}", response.text);
    project
}

/// Claims a new run of a project, and returns the response.
async fn claim_run_of(cluster: &Cluster, tenant: &TestTenant, project: &str) -> TestResponse {
    let mut body = run_request(&tenant.id);
    body["projectId"] = json!(project);
    let created = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let runner = cluster.second.register_runner(tenant).await;
    cluster.second.try_claim(tenant, &text(&created.body, "runId"), &runner).await
}

#[tokio::test]
async fn setup_is_set_replaced_and_cleared_with_audit_entries() {
    let cluster = Cluster::new().await;
    let (acme, operator) = (cluster.create_tenant("acme").await, &cluster.operator);
    let project = cluster.create_project(&acme, "website").await;
    let get = async || cluster.second.get_as(&project_path(&acme, &project), &operator.token).await.body;
    let without = get().await;
    let with = |setup: &Value| {
        let mut project = without.clone();
        project["setup"] = setup.clone();
        project
    };
    let (first, least) =
        (setup("npm ci"), json!({ "command": "make", "allowedHosts": [], "cacheFiles": [] }));
    // The second request repeats the first; the third leaves out the lists.
    for (body, expected) in [(&first, &first), (&first, &first), (&json!({ "command": "make" }), &least)] {
        let response = set_setup(&cluster, &acme, &project, body.clone()).await;
        assert_eq!((response.status.as_u16(), &response.body), (200, &with(expected)));
        assert_eq!(get().await, with(expected));
    }
    let list = cluster.second.get_as(&format!("/api/v1/tenants/{acme}/projects"), &operator.token).await;
    assert_eq!(list.body, json!({ "projects": [with(&least)] }));
    for _ in 0..2 {
        let cleared = clear_setup(&cluster, &acme, &project).await;
        assert_eq!((cleared.status.as_u16(), &cleared.body), (200, &without));
        assert_eq!(get().await, without);
    }
    let log =
        cluster.first.get_as(&format!("/api/v1/tenants/{acme}/audit?afterSeq=2"), &operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries");
    let found: Vec<Value> = entries.iter().map(|entry| json!([entry["action"], entry["body"]])).collect();
    let expected = [first, least, Value::Null].map(|setup| {
        json!(["project.setup-changed", {
            "actor": operator.principal,
            "address": "127.0.0.1",
            "object": project,
            "detail": { "setup": setup },
        }])
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn members_read_a_setup_and_operators_change_it() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let project = create_project_with_setup(&cluster, &tenant, "website", setup("npm ci")).await;
    let path = project_path(&tenant, &project);
    let user = cluster.create_user("person").await;
    for (role, status) in [("viewer", 403), ("developer", 403), ("operator", 200)] {
        cluster.set_role(&tenant, &user, role).await;
        let before = cluster.second.get_as(&path, &user.token).await;
        assert_eq!(before.body["setup"], setup("npm ci"), "{role}");
        for (method, body) in [(Method::PUT, Some(setup("curl"))), (Method::DELETE, None)] {
            let response =
                cluster.second.request_as(method.clone(), &format!("{path}/setup"), &user.token, body).await;
            assert_eq!(response.status, status, "{role} {method}: {}", response.text);
            if status == 403 {
                response.assert_failure(403, "forbidden");
                assert!(text(&response.body, "message").contains("projects:manage"), "{}", response.text);
            }
        }
    }
    let after = cluster.second.get_as(&path, &user.token).await;
    assert_eq!(after.body["setup"], Value::Null);
}

#[tokio::test]
async fn setup_of_a_missing_project_is_not_found() {
    let cluster = Cluster::new().await;
    let (acme, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let project = create_project_with_setup(&cluster, &acme, "website", setup("npm ci")).await;
    for project in [project.as_str(), "prj_01920000000070008000000000000000", "website"] {
        set_setup(&cluster, &other, project, setup("curl")).await.assert_failure(404, "not-found");
        clear_setup(&cluster, &other, project).await.assert_failure(404, "not-found");
    }
    let after = cluster.first.get_as(&project_path(&acme, &project), &cluster.operator.token).await;
    assert_eq!(after.body["setup"], setup("npm ci"));
}

#[tokio::test]
async fn invalid_setup_is_rejected_by_field_and_changes_nothing() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let project = create_project_with_setup(&cluster, &tenant, "website", setup("npm ci")).await;
    let path = project_path(&tenant, &project);
    let before = cluster.second.get_as(&path, &cluster.operator.token).await.body;
    let with = |field: &str, value: Value| {
        let mut body = setup("npm test");
        body[field] = value;
        body
    };
    for (body, message) in [
        (with("command", json!("")), "command: "),
        (with("command", json!("\t\n")), "command: "),
        (with("command", json!("a\u{0}b")), "command: "),
        (with("command", json!("x".repeat(4097))), "command: "),
        (json!({ "allowedHosts": [] }), "missing field `command`"),
        (with("allowedHosts", json!(["example.com", "Example.com"])), "allowedHosts[1]: "),
        (with("allowedHosts", json!(["a"].repeat(33))), "allowedHosts: "),
        (with("cacheFiles", json!(["../package-lock.json"])), "cacheFiles[0]: "),
        (with("cacheFiles", json!(["/etc/passwd"])), "cacheFiles[0]: "),
        (with("cacheFiles", json!(["a"].repeat(17))), "cacheFiles: "),
        (with("cacheFiles", Value::Null), "expected a sequence"),
        (with("image", json!("debian")), "expected one of `command`, `allowedHosts`, `cacheFiles`"),
    ] {
        let refused = set_setup(&cluster, &tenant, &project, body).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(text(&refused.body, "message").contains(message), "{message}: {}", refused.text);
    }
    assert_eq!(cluster.second.get_as(&path, &cluster.operator.token).await.body, before);
}

#[tokio::test]
async fn grant_of_a_claim_carries_the_setup_of_the_runs_project_only() {
    let cluster = Cluster::new().await;
    let acme = cluster.create_test_tenant("acme").await;
    let other = cluster.create_test_tenant("other").await;
    let third = cluster.create_test_tenant("third").await;
    create_project_with_setup(&cluster, &acme.id, "website", setup("of acme")).await;
    create_project_with_setup(&cluster, &other.id, "website", setup("of other")).await;
    cluster.create_project(&acme.id, "api").await;
    cluster.create_project(&third.id, "website").await;
    for (tenant, project, expected) in [
        (&acme, "website", setup("of acme")),
        (&other, "website", setup("of other")),
        (&third, "website", Value::Null),
        (&acme, "api", Value::Null),
        (&acme, "acme/website", Value::Null),
    ] {
        let claimed = claim_run_of(&cluster, tenant, project).await;
        assert_eq!(claimed.status, 200, "{}", claimed.text);
        assert_eq!(claimed.body["setup"], expected, "{project}");
    }
}

#[tokio::test]
async fn every_claim_carries_the_setup_and_a_renewal_does_not() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let project = create_project_with_setup(&cluster, &tenant.id, "website", setup("npm ci")).await;
    let claimed = claim_run_of(&cluster, &tenant, "website").await;
    let (runner, run) = (text(&claimed.body, "runnerId"), text(&claimed.body["run"], "runId"));
    let lease = format!("/api/v1/runs/{run}/lease");
    let token = text(&claimed.body, "runToken");
    let renewed = cluster.first.request_as(Method::PATCH, &lease, &token, Some(json!({}))).await;
    assert_eq!((renewed.status.as_u16(), &renewed.body["grant"]["setup"]), (200, &Value::Null));

    // The next claim carries the setup that the project has then.
    assert_eq!(set_setup(&cluster, &tenant.id, &project, setup("make")).await.status, 200);
    let again = cluster.first.try_claim(&tenant, &run, &runner).await;
    assert_eq!((again.status.as_u16(), &again.body["setup"]), (200, &setup("make")));
    let release = Some(json!({ "release": true }));
    assert_eq!(cluster.first.request_as(Method::PATCH, &lease, &token, release).await.status, 200);
    cluster.send_turn(&run, "go").await;
    let body = json!({ "runnerId": runner, "wait": 5000 });
    let next = cluster.second.post_as("/api/v1/runners/claim", &tenant.enrolment, body).await;
    assert_eq!((next.status.as_u16(), &next.body["grant"]["setup"]), (200, &setup("make")));
}

#[tokio::test]
async fn setup_that_this_version_cannot_read_is_an_error_until_it_is_replaced() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let project = create_project_with_setup(&cluster, &tenant.id, "website", setup("npm ci")).await;
    let newer = r#"UPDATE projects SET setup = '{"image":"of-a-newer-version"}'"#;
    cluster.db.sql().await.execute(newer.to_owned()).await;
    let path = project_path(&tenant.id, &project);
    let read = cluster.second.get_as(&path, &cluster.operator.token).await;
    let claimed = claim_run_of(&cluster, &tenant, "website").await;
    assert_eq!((read.status.as_u16(), claimed.status.as_u16()), (500, 500), "{} {}", read.text, claimed.text);
    assert_eq!(set_setup(&cluster, &tenant.id, &project, setup("make")).await.status, 200);
    let claimed = claim_run_of(&cluster, &tenant, "website").await;
    assert_eq!((claimed.status.as_u16(), &claimed.body["setup"]), (200, &setup("make")));
}
