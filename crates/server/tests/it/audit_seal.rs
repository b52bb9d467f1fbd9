//! The hash chain over an audit log, as a reader of the API can check it.

use std::time::{Duration, Instant};

use guildhall_domain::access::audit_chain::{Digest, Link, body_hash};
use guildhall_domain::journal::Seq;
use guildhall_testkit::{Sql, TestDb};
use serde_json::Value;

use crate::support::people::{Person, World};
use crate::support::{Setup, TestServer};

const SOON: Duration = Duration::from_secs(10);

fn setup(db: &TestDb) -> Setup {
    Setup::on(db).with("housekeeping.audit_seal_every", "200ms")
}

/// Waits until a log has this many entries and all are sealed.
async fn sealed(server: &TestServer, reader: &Person, tenant: &str, count: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let entries = read(server, reader, tenant).await;
        let unsealed = entries.iter().find(|entry| !entry["hash"].is_string());
        if entries.len() == count && unsealed.is_none() {
            return entries;
        }
        assert!(began.elapsed() < SOON, "after {SOON:?} {} entries, not sealed: {unsealed:?}", entries.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads a whole log.
async fn read(server: &TestServer, reader: &Person, tenant: &str) -> Vec<Value> {
    let (mut entries, mut after) = (Vec::new(), Value::from(0));
    loop {
        let path = format!("/api/v1/tenants/{tenant}/audit?limit=500&afterSeq={after}");
        let page = server.get_as(&path, &reader.access).await;
        let more = page.body["entries"].as_array().expect("entries");
        if more.is_empty() {
            return entries;
        }
        entries.extend(more.iter().cloned());
        after = page.body["nextAfterSeq"].clone();
    }
}

/// Says what is wrong with a chain: numbers of entries whose body is not what was sealed, and of those whose hash
/// does not follow from what is shown.
fn faults(entries: &[Value]) -> (Vec<i64>, Vec<i64>) {
    let (mut bodies, mut hashes, mut previous) = (Vec::new(), Vec::new(), Digest::ZERO);
    for entry in entries {
        let text = |name: &str| entry[name].as_str().expect(name);
        let digest = |name: &str| text(name).parse::<Digest>().expect(name);
        let seq = entry["seq"].as_i64().expect("a number");
        let link = Link {
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

const NONE: (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());

async fn unsealed(sql: &mut Sql) -> i64 {
    sql.number(
        "SELECT (SELECT count(*) FROM journal_entries) - (SELECT count(*) FROM journal_seals INNER JOIN
         journal_entries USING (journal, owner, seq))",
    )
    .await
}

#[tokio::test]
async fn every_entry_is_sealed_once_by_two_replicas_and_a_third_goes_on_after_them() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let world = World::on(setup.clone(), db).await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    for _ in 0..20 {
        world.key(&acme, "viewer").await;
        world.key(&globex, "viewer").await;
    }
    let first = sealed(&world.one, &world.operator, &acme, 21).await;
    for (server, tenant) in [(&world.one, &acme), (&world.other, &acme), (&world.other, &globex)] {
        assert_eq!(faults(&sealed(server, &world.operator, tenant, 21).await), NONE);
    }
    let heads = sql.texts("SELECT DISTINCT encode(hash, 'hex') FROM journal_seal_heads").await;
    assert_eq!(heads.len(), 3, "the installation has a log too, and each has a chain of its own");
    let metrics = world.one.get("/metrics").await.text;
    let rounds =
        |outcome| format!(r#"guildhall_reconcile_rounds_total{{name="audit-seal",outcome="{outcome}"}}"#);
    assert!(metrics.contains(&rounds("ok")) && !metrics.contains(&rounds("error")), "{metrics}");

    let World { one, other, operator, .. } = world;
    assert!(one.server.shutdown().await && other.server.shutdown().await, "both end in good order");
    let third = setup.start().await;
    for _ in 0..3 {
        let body = serde_json::json!({ "name": "ci", "role": "viewer" });
        let made = third.post_as(&format!("/api/v1/tenants/{acme}/keys"), &operator.access, body).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let longer = sealed(&third, &operator, &acme, 24).await;
    assert_eq!((faults(&longer), &longer[..21]), (NONE, first.as_slice()));
    assert_eq!(unsealed(&mut sql).await, 0, "in no log");
}

#[tokio::test]
async fn arrears_of_more_than_a_batch_become_one_chain() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let world = World::on(setup, db).await;
    let tenant = world.tenant("acme").await;
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
    assert_eq!(faults(&sealed(&world.one, &world.operator, &tenant, 2501).await), NONE);
}

#[tokio::test]
async fn a_stream_shows_the_hashes_of_what_was_sealed_before() {
    let db = TestDb::new().await;
    let setup = setup(&db);
    let world = World::on(setup, db).await;
    let tenant = world.tenant("acme").await;
    for _ in 0..3 {
        world.key(&tenant, "viewer").await;
    }
    let paged = sealed(&world.one, &world.operator, &tenant, 4).await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = world.other.events(&path, &world.operator.access, None).await;
    for entry in paged {
        assert_eq!(stream.next().await.expect("an event").data, entry);
    }
    world.key(&tenant, "viewer").await;
    let live = stream.next().await.expect("an event").data;
    assert_eq!((&live["seq"], live.get("hash")), (&Value::from(5), Some(&Value::Null)), "not sealed yet");
}

#[tokio::test]
async fn what_is_changed_behind_the_servers_back_shows_and_what_is_erased_does_not() {
    let db = TestDb::new().await;
    let (mut sql, setup) = (db.sql().await, setup(&db));
    let world = World::on(setup, db).await;
    let (tenant, reader) = (world.tenant("acme").await, &world.operator);
    for _ in 0..5 {
        world.key(&tenant, "viewer").await;
    }
    assert_eq!(faults(&sealed(&world.one, reader, &tenant, 6).await), NONE);
    let owner = tenant.strip_prefix("ten_").expect("a tenant's id");
    let mut change = async |what: &str, seq: i64| {
        let sql = &mut sql;
        sql.execute(format!("UPDATE journal_entries SET {what} WHERE owner = '{owner}' AND seq = {seq}"))
            .await;
        faults(&sealed(&world.other, reader, &tenant, 6).await)
    };
    assert_eq!(change("body = NULL, erased_at = now()", 1).await, NONE, "erased");
    assert_eq!(change("body = replace(body, 'viewer', 'owner')", 2).await, (vec![2], vec![]));
    assert_eq!(change("recorded_at = recorded_at + interval '1 microsecond'", 4).await, (vec![2], vec![4]));
    assert_eq!(change("kind = 'key.revoked'", 5).await, (vec![2], vec![4, 5]));
}

#[tokio::test]
async fn a_log_with_a_missing_entry_is_sealed_no_further_and_keeps_no_other_from_it() {
    let db = TestDb::new().await;
    // Rare enough that the entry is gone before anyone has looked.
    let (mut sql, setup) = (db.sql().await, Setup::on(&db).with("housekeeping.audit_seal_every", "1h"));
    let world = World::on(setup.clone(), db).await;
    let (broken, whole) = (world.tenant("broken").await, world.tenant("whole").await);
    for tenant in [&broken, &whole] {
        world.key(tenant, "viewer").await;
    }
    let owner = broken.strip_prefix("ten_").expect("a tenant's id");
    sql.execute(format!("DELETE FROM journal_entries WHERE owner = '{owner}' AND seq = 1")).await;

    let third = setup.with("housekeeping.audit_seal_every", "200ms").start().await;
    assert_eq!(faults(&sealed(&third, &world.operator, &whole, 2).await), NONE);
    let says = |answer: &crate::support::Answer| {
        let tasks = answer.body["housekeeping"].as_array().expect("a list");
        tasks.iter().any(|task| task["lastError"] == "cannot seal 1 of the audit logs")
    };
    third.until("/health/readiness", SOON, says).await;
    assert_eq!(unsealed(&mut sql).await, 1, "what stands after the hole");
}
