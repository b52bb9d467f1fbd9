use std::time::Duration;

use guildhall_testkit::TestDb;

use crate::support::Setup;

/// Slow by its nature: "late" means two missed intervals, and never less than ten seconds.
#[tokio::test]
async fn late_housekeeping_degrades_readiness_and_says_why() {
    let db = TestDb::new().await;
    let setup = Setup::on(&db)
        .with("housekeeping.replicas_every", "500ms")
        .with("postgres.statement_timeout", "200ms");
    let server = setup.start().await;
    server.until("/health/readiness", Duration::from_secs(5), |a| a.body["status"] == "ready").await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE").await;
    let late = |answer: &crate::support::Answer| answer.body["status"] == "degraded";
    let (degraded, _) = server.until("/health/readiness", Duration::from_secs(20), late).await;
    assert_eq!(degraded.status, 200);
    assert_eq!(degraded.body["reasons"], serde_json::json!(["housekeeping `replicas` is late"]));
    let task = &degraded.body["housekeeping"][0];
    assert_eq!(
        (task["late"].as_bool(), task["lastError"].as_str()),
        (Some(true), Some("PostgreSQL does not answer"))
    );
    let metrics = server.get("/metrics").await.text;
    assert!(
        metrics.contains(r#"guildhall_reconcile_rounds_total{name="replicas",outcome="error"}"#),
        "{metrics}"
    );
    lock.execute("COMMIT").await;
    server.until("/health/readiness", Duration::from_secs(5), |a| a.body["status"] == "ready").await;
}

#[tokio::test]
async fn a_replica_that_died_is_forgotten_by_the_others() {
    let db = TestDb::new().await;
    db.sql()
        .await
        .execute("INSERT INTO replicas VALUES (gen_random_uuid(), '0.0.9', now() - interval '1 hour', now() - interval '5 minutes')")
        .await;
    let server = Setup::on(&db).start().await;
    let alone = |answer: &crate::support::Answer| answer.body["replicas"].as_array().map(Vec::len) == Some(1);
    let (answer, _) = server.until("/health", Duration::from_secs(5), alone).await;
    assert_eq!(answer.body["replicas"][0]["id"], server.server.replica().to_string());
}
