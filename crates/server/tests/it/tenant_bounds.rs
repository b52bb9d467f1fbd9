//! Bounds per tenant: operators restrict what runs of one tenant may request.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, run_request, text};
use crate::support::{Setup, TestResponse};

/// Starts two replicas whose installation allows some directories and sinks.
async fn start() -> Cluster {
    let db = TestDb::new().await;
    let setup = Setup::new(&db)
        .with("runs.directories", "/srv/*")
        .with("runs.trace_sinks", "lab,house")
        .with("runs.providers", "local,G14");
    Cluster::with_setup(setup, db).await
}

async fn set_bounds(cluster: &Cluster, tenant: &str, bounds: Value) -> TestResponse {
    let path = format!("/api/v1/tenants/{tenant}/bounds");
    cluster.first.request_as(Method::PUT, &path, &cluster.operator.token, Some(bounds)).await
}

/// Creates a run on the other replica, with some fields of the body replaced.
async fn create_run(cluster: &Cluster, tenant: &str, fields: &Value) -> TestResponse {
    let mut body = run_request(tenant);
    for (name, value) in fields.as_object().expect("an object") {
        body[name] = value.clone();
    }
    cluster.second.post_as("/api/v1/runs", &cluster.operator.token, body).await
}

fn restrictions() -> Value {
    json!({
        "projects": ["acme/*"], "providers": ["local", "D601"], "profiles": ["demo"], "directories": ["/srv/acme/*", "/etc/*"],
        "traceSinks": ["lab"], "sandbox": "read-only", "approval": "on-request", "timeoutMs": 120_000, "network": "disabled",
    })
}

// covers: R5
#[tokio::test]
async fn each_bound_of_a_tenant_refuses_runs_of_that_tenant_only() {
    let cluster = start().await;
    let (acme, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let policy = |name: &str, value: Value| json!({ "executionPolicy": { name: value } });
    let directory = |path: &str| json!({ "workspaceRef": { "kind": "directory", "path": path } });
    // Requested fields, the field of the refusal, what is allowed.
    let cases = [
        (json!({ "projectId": "other/web" }), "projectId", "acme/*"),
        (json!({ "providerId": "G14" }), "providerId", "local"),
        (json!({ "backendProfile": "codex" }), "backendProfile", "demo"),
        (directory("/srv/other/web"), "workspaceRef.path", "/srv/acme/*"),
        (json!({ "traceSink": "house" }), "traceSink", "lab"),
        (policy("sandbox", json!("workspace-write")), "executionPolicy.sandbox", "read-only"),
        (policy("approval", json!("never")), "executionPolicy.approval", "on-request"),
        (policy("timeoutMs", json!(180_000)), "executionPolicy.timeoutMs", "120000 ms"),
        (policy("network", json!("enabled")), "executionPolicy.network", "disabled"),
    ];
    for (fields, field, _) in &cases {
        // A profile with a credential needs more than the bounds.
        if *field != "backendProfile" {
            let admitted = create_run(&cluster, &acme, fields).await;
            assert_eq!(admitted.status, 201, "{field} before the restriction: {}", admitted.text);
        }
    }
    let set = set_bounds(&cluster, &acme, restrictions()).await;
    assert_eq!(set.status, 200, "{}", set.text);
    for (fields, field, allowed) in &cases {
        let refused = create_run(&cluster, &acme, fields).await;
        refused.assert_failure(403, "tenant-policy-denied");
        let message = text(&refused.body, "message");
        assert!(message.starts_with(&format!("{field}: ")) && message.ends_with(allowed), "{message}");
        if *field != "backendProfile" {
            assert_eq!(create_run(&cluster, &other, fields).await.status, 201, "{field} of another tenant");
        }
    }
    let admitted = create_run(&cluster, &acme, &directory("/srv/acme/web")).await;
    assert_eq!(admitted.status, 201, "{}", admitted.text);
    let omitted = create_run(&cluster, &acme, &json!({ "executionPolicy": {} })).await;
    let filled = &omitted.body["executionPolicy"];
    assert_eq!(
        json!([filled["sandbox"], filled["approval"], filled["timeoutMs"], filled["network"]]),
        json!(["read-only", "on-request", 120_000, "disabled"]),
        "{}",
        omitted.text
    );
}

// covers: R5
#[tokio::test]
async fn restrictions_never_widen_the_bounds_of_the_installation() {
    let cluster = start().await;
    let acme = cluster.create_tenant("acme").await;
    let wide = json!({
        "providers": ["*"], "directories": ["*"], "traceSinks": ["*"], "sandbox": "danger-full-access",
        "timeoutMs": 604_800_000,
    });
    let set = set_bounds(&cluster, &acme, wide).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(
        set.body["effective"],
        json!({
            "projects": ["*"], "providers": ["local", "G14"], "profiles": ["*"], "directories": ["/srv/*"],
            "traceSinks": ["lab", "house"], "sandbox": "workspace-write", "approval": "never",
            "timeoutMs": 1_800_000, "network": "enabled",
        })
    );
    for fields in [
        json!({ "providerId": "D601" }),
        json!({ "workspaceRef": { "kind": "directory", "path": "/etc" } }),
        json!({ "executionPolicy": { "sandbox": "danger-full-access" } }),
    ] {
        create_run(&cluster, &acme, &fields).await.assert_failure(403, "tenant-policy-denied");
    }
}

// covers: R5
#[tokio::test]
async fn sessions_backends_and_validations_follow_the_bounds_of_the_tenant() {
    let cluster = start().await;
    let acme = cluster.create_tenant("acme").await;
    assert_eq!(set_bounds(&cluster, &acme, restrictions()).await.status, 200);
    let operator = &cluster.operator.token;
    for (project, profile) in [("other/web", "demo"), ("acme/web", "codex")] {
        let body = json!({ "tenantId": acme, "projectId": project, "backendProfile": profile });
        let refused = cluster.second.post_as("/api/v1/sessions", operator, body).await;
        refused.assert_failure(403, "tenant-policy-denied");
    }
    let body = json!({ "tenantId": acme, "projectId": "acme/web", "backendProfile": "demo" });
    assert_eq!(cluster.second.post_as("/api/v1/sessions", operator, body).await.status, 201);
    let available = async |query: &str| {
        let response = cluster.second.get_as(&format!("/api/v1/backends{query}"), operator).await;
        let backends = response.body["backends"].as_array().expect("backends").clone();
        backends.iter().filter(|backend| backend["unavailable"].is_null()).count()
    };
    assert_eq!((available(&format!("?tenantId={acme}")).await, available("").await), (1, 8));
    let validated = cluster.second.validate_profile(&acme, "codex", operator).await;
    validated.assert_failure(403, "tenant-policy-denied");
}

// covers: R5
#[tokio::test]
async fn grant_carries_the_directories_that_the_tenant_has_now() {
    let cluster = start().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let claim = async |tenant: &TestTenant, workspace: Value| {
        let created = create_run(&cluster, &tenant.id, &json!({ "workspaceRef": workspace })).await;
        assert_eq!(created.status, 201, "{}", created.text);
        // Restricted after the run was created.
        assert_eq!(set_bounds(&cluster, &tenant.id, restrictions()).await.status, 200);
        let runner = cluster.second.register_runner(tenant).await;
        let claimed = cluster.second.try_claim(tenant, &text(&created.body, "runId"), &runner).await;
        assert_eq!(claimed.status, 200, "{}", claimed.text);
        claimed.body["directories"].clone()
    };
    let directory = json!({ "kind": "directory", "path": "/srv/other/web" });
    assert_eq!(claim(&tenant, directory).await, json!(["/srv/acme/*"]));
    assert_eq!(claim(&tenant, json!({ "kind": "empty" })).await, Value::Null);
}

#[tokio::test]
async fn bounds_are_replaced_and_cleared_by_operators_with_audit_entries() {
    let cluster = start().await;
    let (acme, operator) = (cluster.create_tenant("acme").await, &cluster.operator);
    let path = format!("/api/v1/tenants/{acme}/bounds");
    let get = async || cluster.second.get_as(&path, &operator.token).await.body;
    let nothing = json!({
        "projects": null, "providers": null, "profiles": null, "directories": null, "traceSinks": null,
        "sandbox": null, "approval": null, "timeoutMs": null, "network": null,
    });
    let unrestricted = get().await;
    assert_eq!((&unrestricted["tenantId"], &unrestricted["restrictions"]), (&json!(acme), &nothing));
    let set = set_bounds(&cluster, &acme, restrictions()).await;
    assert_eq!((&set.body["restrictions"], &set.body), (&restrictions(), &get().await));
    // A field that is left out restricts nothing any more.
    let replaced = set_bounds(&cluster, &acme, json!({ "sandbox": "read-only" })).await;
    let mut only_sandbox = nothing.clone();
    only_sandbox["sandbox"] = json!("read-only");
    assert_eq!((&replaced.body["restrictions"], &replaced.body), (&only_sandbox, &get().await));
    for _ in 0..2 {
        let cleared = cluster.second.request_as(Method::DELETE, &path, &operator.token, None).await;
        assert_eq!((cleared.status.as_u16(), &cleared.body), (200, &unrestricted));
    }
    let audit =
        cluster.first.get_as(&format!("/api/v1/tenants/{acme}/audit?afterSeq=1"), &operator.token).await;
    let entries = audit.body["entries"].as_array().expect("entries");
    let found: Vec<Value> = entries
        .iter()
        .map(|entry| json!([entry["action"], entry["body"]["actor"], entry["body"]["detail"]]))
        .collect();
    let actor = &operator.principal;
    assert_eq!(
        found,
        [
            json!(["bounds.set", actor, { "from": null, "to": restrictions() }]),
            json!(["bounds.set", actor, { "from": restrictions(), "to": only_sandbox }]),
            json!(["bounds.cleared", actor, { "from": only_sandbox }]),
        ]
    );
}

#[tokio::test]
async fn owner_of_a_tenant_cannot_read_or_change_its_bounds() {
    let cluster = start().await;
    let acme = cluster.create_tenant("acme").await;
    let owner = cluster.create_user("owner").await;
    cluster.set_role(&acme, &owner, "owner").await;
    let (_, key) = cluster.create_key(&acme, "operator").await;
    assert_eq!(set_bounds(&cluster, &acme, restrictions()).await.status, 200);
    let path = format!("/api/v1/tenants/{acme}/bounds");
    for token in [&owner.token, &key] {
        for (method, body) in [(Method::GET, None), (Method::PUT, Some(json!({}))), (Method::DELETE, None)] {
            cluster.second.request_as(method, &path, token, body).await.assert_failure(404, "not-found");
        }
    }
    let missing = "ten_01920000000070008000000000000000";
    set_bounds(&cluster, missing, json!({})).await.assert_failure(404, "not-found");
    let after = cluster.first.get_as(&path, &cluster.operator.token).await;
    assert_eq!(after.body["restrictions"], restrictions());
}

#[tokio::test]
async fn invalid_bounds_are_rejected_by_field_and_change_nothing() {
    let cluster = start().await;
    let acme = cluster.create_tenant("acme").await;
    let many: Vec<String> = (0..101).map(|number| format!("p{number}")).collect();
    for (bounds, start) in [
        (json!({ "projects": ["a*b"] }), "projects: invalid pattern \"a*b\""),
        (json!({ "directories": ["/srv/\u{7}"] }), "directories: invalid pattern"),
        (json!({ "profiles": many }), "profiles: at most 100 items"),
        (json!({ "sandbox": "none" }), "sandbox: unknown sandbox"),
        (json!({ "network": "" }), "network: unknown network"),
        (json!({ "timeoutMs": 1 }), "timeoutMs: invalid timeout"),
        (json!({ "secrets": ["*"] }), ""),
        (json!([null, null]), "the body must be an object"),
    ] {
        let refused = set_bounds(&cluster, &acme, bounds).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(text(&refused.body, "message").starts_with(start), "{}", refused.text);
    }
    let path = format!("/api/v1/tenants/{acme}/bounds");
    let after = cluster.first.get_as(&path, &cluster.operator.token).await;
    assert_eq!(after.body["restrictions"]["projects"], Value::Null);
}

#[tokio::test]
async fn bounds_that_this_version_cannot_read_allow_nothing() {
    let cluster = start().await;
    let acme = cluster.create_tenant("acme").await;
    assert_eq!(set_bounds(&cluster, &acme, json!({ "sandbox": "read-only" })).await.status, 200);
    let newer = r#"UPDATE tenant_bounds SET restrictions = '{"sandbox":"of-a-newer-version"}'"#;
    cluster.db.sql().await.execute(newer.to_owned()).await;
    create_run(&cluster, &acme, &json!({})).await.assert_failure(403, "tenant-policy-denied");
}
