//! The changes of workspaces, on two replicas: reported by the runner, read by members, stored encrypted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_testkit::SqlConnection;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::RunClaim;
use crate::support::{TestResponse, TestServer};

const DIFF: &[u8] = b"--- a/src/lib.rs\n+++ b/src/lib.rs\n+the fix \xff\n";

fn path(run: &str) -> String {
    format!("/api/v1/runs/{run}/diff")
}

async fn put(server: &TestServer, run: &str, token: &str, command: &str, diff: &[u8]) -> TestResponse {
    let body = json!({ "commandId": command, "diff": STANDARD.encode(diff) });
    server.request_as(Method::PUT, &path(run), token, Some(body)).await
}

#[tokio::test]
async fn reported_changes_are_read_byte_for_byte_and_replaced_by_the_next() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let read = async || cluster.second.get_as(&path(&claim.run), &cluster.operator.token).await;
    let none = read().await;
    none.assert_failure(404, "not-found");
    let missing = guildhall_domain::ids::RunId::generate().to_string();
    let missing = cluster.second.get_as(&path(&missing), &cluster.operator.token).await;
    missing.assert_failure(404, "not-found");
    assert!(none.body["message"].as_str().is_some_and(|it| it.contains("has no changes")), "{}", none.text);
    assert!(!missing.text.contains("has no changes"), "{}", missing.text);
    for diff in [DIFF, b""] {
        let stored = put(&cluster.first, &claim.run, &claim.token, &command, diff).await;
        assert_eq!(stored.body, json!({ "runId": claim.run, "bytes": diff.len() }), "{}", stored.text);
        let found = read().await.body;
        assert_eq!(
            found,
            json!({
                "runId": claim.run, "commandId": command, "bytes": diff.len(), "diff": STANDARD.encode(diff),
                "createdAt": found["createdAt"],
            })
        );
    }
}

#[tokio::test]
async fn changes_of_an_earlier_turn_are_refused_once_a_later_one_starts() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let read = async || cluster.second.get_as(&path(&claim.run), &cluster.operator.token).await;
    let finish = async |command: &str| {
        let ended = cluster.first.finish(&claim, command, json!({ "status": "completed" })).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
    };
    assert_eq!(put(&cluster.first, &claim.run, &claim.token, &command, DIFF).await.status, 200);
    finish(&command).await;
    let later = cluster.send_turn(&claim.run, "more").await;
    assert_eq!(read().await.status, 200, "the workspace is unchanged until the turn starts");
    assert_eq!(cluster.first.ack(&claim, &later).await.status, 200);
    read().await.assert_failure(409, "conflict");
    finish(&later).await;
    let stale = read().await;
    stale.assert_failure(409, "conflict");
    assert!(stale.text.contains("larger than 1 MiB"), "{}", stale.text);
    let next = cluster.send_turn(&claim.run, "less").await;
    assert_eq!(cluster.first.ack(&claim, &next).await.status, 200);
    assert_eq!(put(&cluster.first, &claim.run, &claim.token, &next, b"").await.status, 200);
    assert_eq!(read().await.body["commandId"], json!(next));
}

#[tokio::test]
async fn deleted_changes_are_gone_on_every_replica() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    put(&cluster.first, &claim.run, &claim.token, &command, DIFF).await;
    let delete =
        async |token: &str| cluster.second.request_as(Method::DELETE, &path(&claim.run), token, None).await;
    let (_, viewer) = cluster.create_key(&tenant.id, "viewer").await;
    delete(&viewer).await.assert_failure(403, "forbidden");
    let stranger = cluster.create_user("mallory").await;
    delete(&stranger.token).await.assert_failure(404, "not-found");
    for _ in 0..2 {
        let deleted = delete(&cluster.operator.token).await;
        assert_eq!(deleted.body, json!({ "runId": claim.run, "deleted": true }), "{}", deleted.text);
    }
    let read = cluster.first.get_as(&path(&claim.run), &cluster.operator.token).await;
    read.assert_failure(404, "not-found");
}

#[tokio::test]
async fn changes_are_written_by_the_holder_of_the_run_and_read_by_its_tenant() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let (other, other_command): (RunClaim, String) = cluster.start_command(&tenant).await;
    let put = async |token: &str, command: &str, diff: &[u8]| {
        put(&cluster.second, &claim.run, token, command, diff).await
    };
    put(&other.token, &command, DIFF).await.assert_failure(404, "not-found");
    put(&claim.token, &other_command, DIFF).await.assert_failure(404, "not-found");
    put(&cluster.operator.token, &command, DIFF).await.assert_failure(401, "unauthenticated");
    let too_large = vec![b'x'; 1024 * 1024 + 1];
    put(&claim.token, &command, &too_large).await.assert_failure(400, "schema-invalid");
    let body = json!({ "commandId": command, "diff": "not base64 hunter2!" });
    let invalid = cluster.first.request_as(Method::PUT, &path(&claim.run), &claim.token, Some(body)).await;
    invalid.assert_failure(400, "schema-invalid");
    assert!(!invalid.text.contains("hunter2"), "{}", invalid.text);
    assert_eq!(put(&claim.token, &command, &too_large[1..]).await.status, 200);

    let stranger = cluster.create_user("mallory").await;
    let read = async |token: &str| cluster.first.get_as(&path(&claim.run), token).await;
    read(&stranger.token).await.assert_failure(404, "not-found");
    let ended = cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    let cancel = format!("/api/v1/runs/{}/cancel", claim.run);
    assert_eq!(cluster.first.post_as(&cancel, &cluster.operator.token, json!({})).await.status, 200);
    let late = put(&claim.token, &command, DIFF).await;
    assert_eq!(late.body["failureKind"], Value::from("runner-lease-conflict"), "{}", late.text);
    assert_eq!(read(&cluster.operator.token).await.body["bytes"], json!(1024 * 1024), "kept after the end");
}

#[tokio::test]
async fn stored_changes_are_encrypted() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    assert_eq!(put(&cluster.first, &claim.run, &claim.token, &command, DIFF).await.status, 200);
    let mut sql = SqlConnection::connect(&cluster.db.admin_url()).await;
    let in_clear =
        "SELECT count(*) FROM workspace_diffs WHERE position('the fix'::bytea IN sealed_content) > 0";
    let found = (sql.number("SELECT count(*) FROM workspace_diffs").await, sql.number(in_clear).await);
    assert_eq!(found, (1, 0));
}
