//! The hash chain of an audit log, verified with the data of the API.

use std::time::Duration;

use guildhall_domain::access::audit_chain::{ChainLink, Digest, body_hash};
use guildhall_domain::journal::Seq;
use guildhall_testkit::{SqlConnection, Stopwatch, TestDb};
use serde_json::Value;

use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::{Setup, TestResponse, TestServer};

const TIMEOUT: Duration = Duration::from_secs(10);

fn setup(db: &TestDb) -> Setup {
    Setup::new(db).with("housekeeping.audit_seal_every", "200ms")
}

/// Waits until a log has this many entries and all of them are sealed.
async fn wait_until_sealed(
    server: &TestServer,
    reader: &SignedInUser,
    tenant: &str,
    count: usize,
) -> Vec<Value> {
    let began = Stopwatch::start();
    loop {
        let entries = read_log(server, reader, tenant).await;
        let unsealed = entries.iter().find(|entry| !entry["hash"].is_string());
        if entries.len() == count && unsealed.is_none() {
            return entries;
        }
        assert!(
            began.elapsed() < TIMEOUT,
            "after {TIMEOUT:?} {} entries, unsealed: {unsealed:?}",
            entries.len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns whether a replica has ended its first round of sealing.
fn has_sealed(readiness: &TestResponse) -> bool {
    let tasks = readiness.body["housekeeping"].as_array().expect("a list");
    tasks.iter().any(|task| task["name"] == "audit-seal" && task["lastSuccessAt"].is_string())
}

/// Reads a whole log.
async fn read_log(server: &TestServer, reader: &SignedInUser, tenant: &str) -> Vec<Value> {
    let (mut entries, mut after) = (Vec::new(), Value::from(0));
    loop {
        let path = format!("/api/v1/tenants/{tenant}/audit?limit=500&afterSeq={after}");
        let page = server.get_as(&path, &reader.token).await;
        let more = page.body["entries"].as_array().expect("entries");
        if more.is_empty() {
            return entries;
        }
        entries.extend(more.iter().cloned());
        after = page.body["nextAfterSeq"].clone();
    }
}

/// Verifies a chain. Returns the numbers of entries whose body does not match its hash, and of entries whose hash does
/// not match the entry and its predecessor.
fn chain_faults(entries: &[Value]) -> (Vec<i64>, Vec<i64>) {
    let (mut bodies, mut hashes, mut previous) = (Vec::new(), Vec::new(), Digest::ZERO);
    for entry in entries {
        let text = |name: &str| entry[name].as_str().expect(name);
        let digest = |name: &str| text(name).parse::<Digest>().expect(name);
        let seq = entry["seq"].as_i64().expect("a number");
        let link = ChainLink {
            seq: Seq::new(seq).expect("positive"),
            id: text("id").parse().expect("an id"),
            action: text("action"),
            recorded_at: text("recordedAt").parse().expect("a time"),
            body_hash: digest("bodyHash"),
        };
        if !entry["body"].is_null() && body_hash(&entry["body"]) != link.body_hash {
            bodies.push(seq);
        }
        if link.hash(previous) != digest("hash") {
            hashes.push(seq);
        }
        previous = digest("hash");
    }
    (bodies, hashes)
}

const NO_FAULTS: (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());

async fn count_unsealed(sql: &mut SqlConnection) -> i64 {
    sql.number(
        "SELECT (SELECT count(*) FROM journal_entries) - (SELECT count(*) FROM journal_seals INNER JOIN
         journal_entries USING (journal, owner, seq))",
    )
    .await
}

#[tokio::test]
async fn entries_are_sealed_once_and_a_third_replica_extends_the_chain() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let cluster = Cluster::with_setup(setup.clone(), db).await;
    let (acme, globex) = (cluster.create_tenant("acme").await, cluster.create_tenant("globex").await);
    for _ in 0..20 {
        cluster.create_key(&acme, "viewer").await;
        cluster.create_key(&globex, "viewer").await;
    }
    let first = wait_until_sealed(&cluster.first, &cluster.operator, &acme, 21).await;
    for (server, tenant) in [(&cluster.first, &acme), (&cluster.second, &acme), (&cluster.second, &globex)] {
        assert_eq!(chain_faults(&wait_until_sealed(server, &cluster.operator, tenant, 21).await), NO_FAULTS);
    }
    let heads = sql.texts("SELECT DISTINCT encode(hash, 'hex') FROM journal_seal_heads").await;
    assert_eq!(heads.len(), 3, "two tenants and the installation have one chain each");
    let metrics = cluster.first.get("/metrics").await.text;
    let rounds =
        |outcome| format!(r#"guildhall_reconcile_rounds_total{{name="audit-seal",outcome="{outcome}"}}"#);
    assert!(metrics.contains(&rounds("ok")) && !metrics.contains(&rounds("error")), "{metrics}");

    let Cluster { first: one, second: other, operator, .. } = cluster;
    assert!(one.server.shutdown().await && other.server.shutdown().await, "both shut down gracefully");
    let third = setup.start().await;
    for _ in 0..3 {
        let body = serde_json::json!({ "name": "ci", "role": "viewer" });
        let created = third.post_as(&format!("/api/v1/tenants/{acme}/keys"), &operator.token, body).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    let longer = wait_until_sealed(&third, &operator, &acme, 24).await;
    assert_eq!((chain_faults(&longer), &longer[..21]), (NO_FAULTS, first.as_slice()));
    assert_eq!(count_unsealed(&mut sql).await, 0, "all logs are sealed");
}

#[tokio::test]
async fn backlog_larger_than_a_batch_is_sealed_into_one_chain() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_tenant("acme").await;
    let owner = tenant.strip_prefix("ten_").expect("a tenant's id");
    sql.execute(format!(
        "BEGIN;
         UPDATE journal_heads SET last_seq = last_seq + 2500 WHERE owner = '{owner}';
         INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
         SELECT 1, '{owner}', seq, gen_random_uuid(), 'test.filled', json_build_object('z', seq, 'a', 'é')::text
         FROM generate_series(2, 2501) AS seq;
         COMMIT"
    ))
    .await;
    assert_eq!(
        chain_faults(&wait_until_sealed(&cluster.first, &cluster.operator, &tenant, 2501).await),
        NO_FAULTS
    );
}

#[tokio::test]
async fn audit_stream_shows_hashes_of_sealed_entries() {
    let db = TestDb::new().await;
    let setup = setup(&db);
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_tenant("acme").await;
    for _ in 0..3 {
        cluster.create_key(&tenant, "viewer").await;
    }
    let paged = wait_until_sealed(&cluster.first, &cluster.operator, &tenant, 4).await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = cluster.second.open_stream(&path, &cluster.operator.token, None).await;
    for entry in paged {
        assert_eq!(stream.next().await.expect("an event").data, entry);
    }
    cluster.create_key(&tenant, "viewer").await;
    let live = stream.next().await.expect("an event").data;
    assert_eq!((&live["seq"], live.get("hash")), (&Value::from(5), Some(&Value::Null)), "not sealed yet");
}

#[tokio::test]
async fn chain_detects_changed_entries_and_accepts_erased_ones() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let cluster = Cluster::with_setup(setup, db).await;
    let (tenant, reader) = (cluster.create_tenant("acme").await, &cluster.operator);
    for _ in 0..5 {
        cluster.create_key(&tenant, "viewer").await;
    }
    assert_eq!(chain_faults(&wait_until_sealed(&cluster.first, reader, &tenant, 6).await), NO_FAULTS);
    let owner = tenant.strip_prefix("ten_").expect("a tenant's id");
    let mut update_entry = async |assignment: &str, seq: i64| {
        let sql = &mut sql;
        sql.execute(format!(
            "UPDATE journal_entries SET {assignment} WHERE owner = '{owner}' AND seq = {seq}"
        ))
        .await;
        chain_faults(&wait_until_sealed(&cluster.second, reader, &tenant, 6).await)
    };
    assert_eq!(update_entry("body = NULL, erased_at = now()", 1).await, NO_FAULTS, "erased");
    assert_eq!(update_entry("body = replace(body, 'viewer', 'owner')", 2).await, (vec![2], vec![]));
    assert_eq!(
        update_entry("recorded_at = recorded_at + interval '1 microsecond'", 4).await,
        (vec![2], vec![4])
    );
    assert_eq!(update_entry("kind = 'key.revoked'", 5).await, (vec![2], vec![4, 5]));
}

#[tokio::test]
async fn log_with_a_missing_entry_stops_sealing_and_blocks_no_other_log() {
    let db = TestDb::new().await;
    // The replicas seal once when they start, and then not before the test has ended.
    let (mut sql, setup) = (db.sql().await, Setup::new(&db).with("housekeeping.audit_seal_every", "1h"));
    let cluster = Cluster::with_setup(setup.clone(), db).await;
    for replica in [&cluster.first, &cluster.second] {
        replica.wait_until("/health/readiness", TIMEOUT, has_sealed).await;
    }
    let (broken, intact) = (cluster.create_tenant("broken").await, cluster.create_tenant("intact").await);
    for tenant in [&broken, &intact] {
        cluster.create_key(tenant, "viewer").await;
    }
    let owner = broken.strip_prefix("ten_").expect("a tenant's id");
    sql.execute(format!("DELETE FROM journal_entries WHERE owner = '{owner}' AND seq = 1")).await;

    let third = setup.with("housekeeping.audit_seal_every", "200ms").start().await;
    assert_eq!(chain_faults(&wait_until_sealed(&third, &cluster.operator, &intact, 2).await), NO_FAULTS);
    let reports_error = |response: &TestResponse| {
        let tasks = response.body["housekeeping"].as_array().expect("a list");
        tasks.iter().any(|task| task["lastError"] == "cannot seal 1 of the audit logs")
    };
    third.wait_until("/health/readiness", TIMEOUT, reports_error).await;
    assert_eq!(count_unsealed(&mut sql).await, 1, "the entry after the missing one");
}
