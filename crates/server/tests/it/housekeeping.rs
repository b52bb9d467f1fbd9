use std::time::Duration;

use guildhall_testkit::TestDb;

use crate::support::Setup;

/// This test is slow: a task is late after two missed intervals, and not before ten seconds.
#[tokio::test]
async fn late_housekeeping_degrades_readiness_with_a_reason() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db)
        .with("housekeeping.replicas_every", "500ms")
        .with("postgres.statement_timeout", "200ms");
    let server = setup.start().await;
    server.wait_until("/health/readiness", Duration::from_secs(5), |a| a.body["status"] == "ready").await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE").await;
    let is_degraded = |response: &crate::support::TestResponse| response.body["status"] == "degraded";
    let (degraded, _) = server.wait_until("/health/readiness", Duration::from_secs(20), is_degraded).await;
    assert_eq!(degraded.status, 200);
    assert_eq!(degraded.body["reasons"], serde_json::json!(["housekeeping `replicas` is late"]));
    let task = &degraded.body["housekeeping"][0];
    assert_eq!(
        (task["late"].as_bool(), task["lastError"].as_str()),
        (Some(true), Some("PostgreSQL does not respond"))
    );
    let metrics = server.get("/metrics").await.text;
    assert!(
        metrics.contains(r#"guildhall_reconcile_rounds_total{name="replicas",outcome="error"}"#),
        "{metrics}"
    );
    lock.execute("COMMIT").await;
    server.wait_until("/health/readiness", Duration::from_secs(5), |a| a.body["status"] == "ready").await;
}

#[tokio::test]
async fn dead_replica_is_removed_from_the_list() {
    let db = TestDb::new().await;
    db.sql()
        .await
        .execute("INSERT INTO replicas VALUES (gen_random_uuid(), '0.0.9', now() - interval '1 hour', now() - interval '5 minutes')")
        .await;
    let server = Setup::new(&db).start().await;
    let is_alone = |response: &crate::support::TestResponse| {
        response.body["replicas"].as_array().map(Vec::len) == Some(1)
    };
    let (response, _) = server.wait_until("/health", Duration::from_secs(5), is_alone).await;
    assert_eq!(response.body["replicas"][0]["id"], server.server.replica().to_string());
}
