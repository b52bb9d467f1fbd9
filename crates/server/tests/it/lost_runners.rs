//! Many runners are lost at once: replicas share the work, and no run is handled twice.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use guildhall_testkit::TestDb;
use secrecy::{ExposeSecret, SecretString};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::runs::text;

const RUNS: usize = 150;

/// Records which replica takes a run from a lost runner, and gives the other time to take part.
const RECORD_RECOVERIES: &str = "
    CREATE TABLE recoveries (run uuid NOT NULL, replica text NOT NULL);
    GRANT ALL ON recoveries TO PUBLIC;
    CREATE FUNCTION record_recovery() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO recoveries VALUES (NEW.id, coalesce(current_setting('test.replica', true), 'unknown'));
        PERFORM pg_sleep(0.01);
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER recovery AFTER UPDATE OF lost_runner ON runs
    FOR EACH ROW WHEN (NEW.lost_runner IS NOT NULL) EXECUTE FUNCTION record_recovery();
";

/// Sets a name in every session of a replica.
fn named(url: &SecretString, replica: &str) -> String {
    let url = url.expose_secret();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options=-c%20test.replica%3D{replica}")
}

#[tokio::test]
async fn replicas_share_the_runs_of_lost_runners_and_take_each_once() {
    let db = TestDb::new().await;
    let setup =
        |replica| Setup::new(&db).with_postgres(named(&db.url(), replica)).with("runs.tend_every", "100ms");
    let cluster = Cluster::with_setups(setup("first"), setup("second"), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let runs: Vec<String> = stream::iter(0..RUNS)
        .map(|_| async {
            let run = cluster.create_run(&tenant).await;
            cluster.first.claim(&tenant, &run).await;
            run
        })
        .buffer_unordered(8)
        .collect()
        .await;
    let mut sql = cluster.db.sql().await;
    sql.execute(RECORD_RECOVERIES).await;
    sql.execute("UPDATE leases SET expires_at = now() - interval '1 hour'").await;

    let deadline = Instant::now() + Duration::from_secs(60);
    while sql.number("SELECT count(*) FROM leases").await > 0 {
        assert!(Instant::now() < deadline, "runs are still held by lost runners");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(sql.number("SELECT count(*) FROM recoveries").await, i64::try_from(RUNS).expect("small"));
    for replica in ["first", "second"] {
        let taken = format!("SELECT count(*) FROM recoveries WHERE replica = '{replica}'");
        assert!(sql.number(&taken).await > 0, "the {replica} replica takes no part");
    }
    for run in &runs {
        let events = cluster.list_events(run).await;
        let losses = events.iter().filter(|event| event["payload"]["reason"] == "runner-lost");
        assert_eq!(losses.count(), 1, "{run}: {events:?}");
        assert_eq!(text(&cluster.get_run(run).await, "status"), "pending");
    }
}
