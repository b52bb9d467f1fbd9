//! Uploaded workspaces, on two replicas: in parts, encrypted, read by the runner only, erased when the run ends.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_testkit::{SqlConnection, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, run_request};
use crate::support::{Setup, TestResponse, TestServer};

const PART: usize = 1024 * 1024;

fn path(run: &str, number: usize) -> String {
    format!("/api/v1/runs/{run}/bundle/parts/{number}")
}

async fn put(server: &TestServer, run: &str, token: &str, number: usize, part: &[u8]) -> TestResponse {
    let body = json!({ "content": STANDARD.encode(part) });
    server.request_as(Method::PUT, &path(run, number), token, Some(body)).await
}

async fn create(cluster: &Cluster, tenant: &TestTenant, size_bytes: usize) -> TestResponse {
    let mut request = run_request(&tenant.id);
    request["workspaceRef"] = json!({ "kind": "bundle", "sizeBytes": size_bytes, "sha256": "0a".repeat(32) });
    cluster.first.post_as("/api/v1/runs", &cluster.operator.token, request).await
}

async fn create_run(cluster: &Cluster, tenant: &TestTenant, size_bytes: usize) -> String {
    let response = create(cluster, tenant, size_bytes).await;
    assert_eq!(response.status, 201, "{}", response.text);
    response.body["runId"].as_str().expect("a run").to_owned()
}

#[tokio::test]
async fn uploaded_parts_are_read_by_the_runner_of_the_run_only() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = create_run(&cluster, &tenant, PART + 3).await;
    let token = &cluster.operator.token;
    let first: Vec<u8> = (0..PART).map(|at| at.to_be_bytes()[7]).collect();
    let stored = put(&cluster.first, &run, token, 0, &first).await;
    assert_eq!(stored.body, json!({ "runId": run, "number": 0, "missingParts": 1 }), "{}", stored.text);
    cluster.send_command(&run, "turn", "go").await.assert_failure(409, "conflict");

    put(&cluster.second, &run, token, 1, b"1234").await.assert_failure(400, "schema-invalid");
    put(&cluster.second, &run, token, 1, b"").await.assert_failure(400, "schema-invalid");
    put(&cluster.second, &run, token, 2, b"123").await.assert_failure(404, "not-found");
    put(&cluster.second, &run, token, usize::MAX, b"123").await.assert_failure(404, "not-found");
    let (_, viewer) = cluster.create_key(&tenant.id, "viewer").await;
    put(&cluster.second, &run, &viewer, 1, b"123").await.assert_failure(403, "forbidden");
    let stranger = cluster.create_user("mallory").await;
    put(&cluster.second, &run, &stranger.token, 1, b"123").await.assert_failure(404, "not-found");
    let other = cluster.create_run(&tenant).await;
    put(&cluster.second, &other, token, 0, b"123").await.assert_failure(409, "conflict");
    for content in [b"321", b"123"] {
        let stored = put(&cluster.second, &run, token, 1, content).await;
        assert_eq!(stored.body, json!({ "runId": run, "number": 1, "missingParts": 0 }), "{}", stored.text);
    }

    cluster.send_turn(&run, "go").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    for (number, expected) in [(0, first.as_slice()), (1, b"123")] {
        let read = cluster.second.get_as(&path(&run, number), &claim.token).await;
        let content = Value::from(STANDARD.encode(expected));
        assert!(read.status == 200 && read.body["content"] == content, "part {number}: {}", read.status);
    }
    cluster.second.get_as(&path(&run, 2), &claim.token).await.assert_failure(404, "not-found");
    cluster.second.get_as(&path(&run, 0), token).await.assert_failure(401, "unauthenticated");
    let (other, _) = cluster.start_command(&tenant).await;
    cluster.second.get_as(&path(&run, 0), &other.token).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn uploaded_parts_are_encrypted_and_erased_when_the_run_ends() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = create_run(&cluster, &tenant, 11).await;
    let token = &cluster.operator.token;
    assert_eq!(put(&cluster.first, &run, token, 0, b"canary-7719").await.status, 200);
    let mut sql = SqlConnection::connect(&cluster.db.admin_url()).await;
    let parts = "SELECT count(*) FROM workspace_bundle_parts";
    let in_clear =
        "SELECT count(*) FROM workspace_bundle_parts WHERE position('canary'::bytea IN sealed_content) > 0";
    assert_eq!((sql.number(parts).await, sql.number(in_clear).await), (1, 0));
    let cancel = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(cluster.second.post_as(&cancel, token, json!({})).await.status, 200);
    let bundles = "SELECT count(*) FROM workspace_bundles";
    assert_eq!((sql.number(parts).await, sql.number(bundles).await), (0, 0));
    put(&cluster.first, &run, token, 0, b"canary-7719").await.assert_failure(409, "conflict");
    assert_eq!(sql.number(parts).await, 0);
}

#[tokio::test]
async fn bundles_of_a_tenant_are_limited_until_their_runs_end() {
    let db = TestDb::new().await;
    let setup =
        Setup::new(&db).with("runs.max_bundle_bytes", 1000).with("runs.max_bundle_bytes_per_tenant", 1500);
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let too_large = create(&cluster, &tenant, 1001).await;
    too_large.assert_failure(403, "tenant-policy-denied");
    assert!(too_large.text.contains("workspaceRef.sizeBytes: 1001 exceeds"), "{}", too_large.text);
    let run = create_run(&cluster, &tenant, 1000).await;
    create(&cluster, &tenant, 501).await.assert_failure(403, "tenant-policy-denied");
    create_run(&cluster, &tenant, 500).await;
    let other = cluster.create_test_tenant("other").await;
    create_run(&cluster, &other, 1000).await;
    let close = format!("/api/v1/runs/{run}/close");
    let closed = cluster.second.post_as(&close, &cluster.operator.token, json!({})).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    create_run(&cluster, &tenant, 1000).await;
}
