//! Session storage: reported by runners, evicted by callers or by expiry, deleted by its owner.

use std::fs;
use std::time::Duration;

use guildhall_testkit::{Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, run_request, text};
use crate::support::{Setup, TestResponse};

fn summary(size: u64) -> Value {
    json!({ "sizeBytes": size, "filesCount": 2, "sha256": "ab".repeat(32) })
}

/// Creates a session with a claimed run and reported storage. Returns the session and the run.
async fn create_stored_session(cluster: &Cluster, tenant: &TestTenant) -> (String, String) {
    let run = cluster.create_run(tenant).await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    let claim = cluster.first.claim(tenant, &run).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    let refreshed = cluster.second.post_as(&path, &claim.token, summary(3)).await;
    assert_eq!(
        (refreshed.status.as_u16(), &refreshed.body["storageKind"]),
        (200, &json!("directory")),
        "{}",
        refreshed.text
    );
    (session, run)
}

async fn storage(cluster: &Cluster, method: Method, session: &str) -> TestResponse {
    cluster
        .first
        .request_as(method, &format!("/api/v1/sessions/{session}/storage"), &cluster.operator.token, None)
        .await
}

async fn cancel(cluster: &Cluster, run: &str) {
    let path = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(
        cluster.first.request_as(Method::POST, &path, &cluster.operator.token, None).await.status,
        200
    );
}

async fn create_next_run(cluster: &Cluster, tenant: &TestTenant, session: &str) -> TestResponse {
    let mut body = run_request(&tenant.id);
    body["sessionRef"] = json!({ "sessionId": session });
    cluster.second.post_as("/api/v1/runs", &cluster.operator.token, body).await
}

// covers: R21
#[tokio::test]
async fn session_without_a_run_gets_its_storage_state_from_its_runner() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let body = json!({ "tenantId": "acme", "projectId": "acme/web", "backendProfile": "demo" });
    let created = cluster.first.post_as("/api/v1/sessions", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let session = text(&created.body, "sessionId");
    let storage_view = storage(&cluster, Method::GET, &session).await.body;
    assert_eq!(
        (&storage_view["storageKind"], &storage_view["phase"]),
        (&json!("none"), &json!("pending")),
        "{storage_view}"
    );
    let run = create_next_run(&cluster, &tenant, &session).await;
    assert_eq!(run.status, 201, "{}", run.text);
    let claim = cluster.first.claim(&tenant, &text(&run.body, "runId")).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    assert_eq!(cluster.second.post_as(&path, &claim.token, summary(7)).await.status, 200);
    let storage_view = storage(&cluster, Method::GET, &session).await.body;
    let fields = ["storageKind", "phase", "sizeBytes", "filesCount", "sha256", "evictedAt"];
    assert_eq!(
        fields.map(|name| storage_view[name].clone()),
        [json!("directory"), json!("bound"), json!(7), json!(2), json!("ab".repeat(32)), Value::Null]
    );
    assert!(
        storage_view["updatedAt"].is_string()
            && text(&storage_view, "name").starts_with("guildhall-session-"),
        "{storage_view}"
    );
    for invalid in [json!({ "sizeBytes": 1, "filesCount": 1, "sha256": "x" }), json!({ "sizeBytes": -1 })] {
        cluster.second.post_as(&path, &claim.token, invalid).await.assert_failure(400, "schema-invalid");
    }
}

// covers: R21
#[tokio::test]
async fn runner_refreshes_storage_of_its_own_claimed_run_only() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (session, _) = create_stored_session(&cluster, &tenant).await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let path = format!("/api/v1/sessions/{session}/storage/refresh");
    cluster.first.post_as(&path, &claim.token, summary(9)).await.assert_failure(404, "not-found");
    let own = text(&cluster.get_run(&run).await, "sessionId");
    let own = format!("/api/v1/sessions/{own}/storage/refresh");
    cluster
        .first
        .request_as(
            Method::PATCH,
            &format!("/api/v1/runs/{run}/lease"),
            &claim.token,
            Some(json!({ "release": true })),
        )
        .await;
    cluster.first.post_as(&own, &claim.token, summary(9)).await.assert_failure(409, "runner-lease-conflict");
    assert_eq!(storage(&cluster, Method::GET, &session).await.body["sizeBytes"], 3);
}

// covers: R21
#[tokio::test]
async fn evicted_storage_stays_evicted_and_blocks_new_runs() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (session, run) = create_stored_session(&cluster, &tenant).await;
    storage(&cluster, Method::DELETE, &session).await.assert_failure(409, "conflict");
    cancel(&cluster, &run).await;
    let evicted = storage(&cluster, Method::DELETE, &session).await;
    assert_eq!(
        (evicted.status.as_u16(), &evicted.body["storageKind"]),
        (200, &json!("evicted")),
        "{}",
        evicted.text
    );
    let again = storage(&cluster, Method::DELETE, &session).await;
    assert_eq!((again.status.as_u16(), &again.body["evictedAt"]), (200, &evicted.body["evictedAt"]));
    create_next_run(&cluster, &tenant, &session).await.assert_failure(409, "session-store-evicted");
    let audit =
        cluster.first.get_as(&format!("/api/v1/tenants/{}/audit", tenant.id), &cluster.operator.token).await;
    assert_eq!(audit.text.matches("session.storage_evicted").count(), 1, "{}", audit.text);
}

// covers: R21
#[tokio::test]
async fn claim_with_evicted_storage_is_refused_and_fails_the_run() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "go on").await;
    // An open run protects its storage, so only manual SQL can evict it here. The claim must fail all the same.
    let mut sql = cluster.db.sql().await;
    sql.execute("UPDATE sessions SET storage_kind = 'evicted', storage_evicted_at = now()").await;
    let runner = cluster.first.register_runner(&tenant).await;
    cluster.first.try_claim(&tenant, &run, &runner).await.assert_failure(409, "session-store-evicted");
    assert_eq!(cluster.get_run(&run).await["failureKind"], "session-store-evicted");
    assert_eq!(cluster.get_result(&run, &command).await["failureKind"], "session-store-evicted");
    let next = json!({ "runnerId": runner, "wait": 0 });
    let waiting = cluster.first.post_as("/api/v1/runners/claim", &tenant.enrolment, next).await;
    assert_eq!(waiting.body["grant"], Value::Null, "the run is offered again: {}", waiting.text);
}

// covers: R21
#[tokio::test]
async fn expired_storage_is_deleted_except_open_runs_and_workspaces() {
    let (db, state) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = Setup::new(&db)
        .with("sessions.expire_after", "1s")
        .with("sessions.collect_every", "200ms")
        .with("sessions.runner_state", state.path().display());
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (ended, run) = create_stored_session(&cluster, &tenant).await;
    let (open, _) = create_stored_session(&cluster, &tenant).await;
    let path = |kind: &str, session: &str| state.path().join(kind).join(session);
    for folder in [path("sessions", &ended), path("sessions", &open), path("workspaces", &ended)] {
        fs::create_dir_all(folder.join("inner")).expect("a folder");
    }
    cancel(&cluster, &run).await;
    let began = Stopwatch::start();
    while storage(&cluster, Method::GET, &ended).await.body["phase"] != "removed" {
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "{}",
            storage(&cluster, Method::GET, &ended).await.text
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!path("sessions", &ended).exists() && path("workspaces", &ended).join("inner").exists());
    assert_eq!(
        storage(&cluster, Method::GET, &open).await.body["storageKind"],
        "directory",
        "the session has an open run"
    );
    assert!(path("sessions", &open).join("inner").exists());
}

#[tokio::test]
async fn session_lifetime_outside_its_limits_is_refused() {
    let cluster = Cluster::new().await;
    cluster.create_test_tenant("acme").await;
    let create = async |lifetime: u64| {
        let body = json!({
            "tenantId": "acme", "projectId": "acme/web", "backendProfile": "demo", "expiresInMs": lifetime,
        });
        cluster.second.post_as("/api/v1/sessions", &cluster.operator.token, body).await
    };
    for lifetime in [0, 31_536_000_001, 1 << 53, 1 << 62, u64::MAX] {
        create(lifetime).await.assert_failure(400, "schema-invalid");
    }
    for lifetime in [1, 31_536_000_000] {
        let created = create(lifetime).await;
        assert_eq!(created.status, 201, "{lifetime}: {}", created.text);
    }
}
