//! Retention: what is erased, what stays, and who decides. Time passes by asking for a later time.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::join;
use guildhall_service::retention::erase::EraseExpired;
use guildhall_store::{Store, StoreOptions, deferred_indexes};
use guildhall_testkit::SqlConnection;
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::TestResponse;
use crate::support::cluster::{Cluster, wait_for_lock};
use crate::support::runs::{RunClaim, TestTenant, assistant_message, command_question, text};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn open_store(cluster: &Cluster) -> Store {
    let timeout = Duration::from_secs(10);
    let (acquire_timeout, statement_timeout) = (timeout, timeout);
    let url = cluster.db.url();
    Store::new(&StoreOptions { url, max_connections: 2, acquire_timeout, statement_timeout })
        .expect("a store")
}

/// Erases what is no longer kept after some days.
async fn erase_after(cluster: &Cluster, days: i32) {
    let technical_after = Duration::from_secs(7 * 24 * 3600);
    let store = open_store(cluster);
    let now = guildhall_store::retention::now(&store).await.expect("a time");
    let erase = EraseExpired { store, technical_after, stop: CancellationToken::new() };
    erase.erase_at(now + DAY * days).await.expect("erased");
}

async fn set_retention(cluster: &Cluster, tenant: &str, body: Value) -> TestResponse {
    let path = format!("/api/v1/tenants/{tenant}/retention");
    cluster.second.request_as(Method::PUT, &path, &cluster.operator.token, Some(body)).await
}

async fn keep_for(cluster: &Cluster, tenant: &TestTenant, days: u32) {
    let set = set_retention(cluster, &tenant.id, json!({ "historyDays": days })).await;
    assert_eq!(set.status, 200, "{}", set.text);
}

/// Ends a run, and returns its session.
async fn close(cluster: &Cluster, claim: &RunClaim, command: &str) -> String {
    let finished = cluster.first.finish(claim, command, json!({ "status": "completed" })).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
    let path = format!("/api/v1/runs/{}/close", claim.run);
    let closed = cluster.first.post_as(&path, &cluster.operator.token, json!({})).await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    text(&cluster.get_run(&claim.run).await, "sessionId")
}

/// Creates a session that has rows in every table of history. Returns the ids of its objects.
async fn create_history(cluster: &Cluster, tenant: &TestTenant) -> Vec<String> {
    let (claim, command) = cluster.start_command(tenant).await;
    let appended =
        cluster.first.append_events(&claim, json!([assistant_message("1-1", &command, "done")])).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    let rule = cluster.create_approval_rule(&claim, &command).await;
    let diff = json!({ "commandId": command, "diff": STANDARD.encode("+ line") });
    let path = format!("/api/v1/runs/{}/diff", claim.run);
    let stored = cluster.first.request_as(Method::PUT, &path, &claim.token, Some(diff)).await;
    assert!(stored.status.is_success(), "{}", stored.text);
    let session = close(cluster, &claim, &command).await;
    let read = json!({ "readerId": "laptop" });
    let path = format!("/api/v1/sessions/{session}/read");
    assert_eq!(cluster.first.post_as(&path, &cluster.operator.token, read).await.status, 200);
    vec![claim.run, command, rule, session]
}

/// Returns the columns of ids that have one of these ids.
async fn find_columns(sql: &mut SqlConnection, ids: &[String]) -> BTreeSet<String> {
    let uuids: Vec<String> = ids
        .iter()
        .map(|id| format!("'{}'::uuid", id.split_once('_').expect("an id with a prefix").1))
        .collect();
    let columns =
        "SELECT format('%s.%s.%s', table_name, column_name, data_type) FROM information_schema.columns
         WHERE table_schema = current_schema() AND udt_name IN ('uuid', '_uuid')
             AND table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition)";
    let mut found = BTreeSet::new();
    for column in sql.texts(columns).await {
        let [table, name, kind]: [&str; 3] =
            column.split('.').collect::<Vec<_>>().try_into().expect("three parts");
        let condition = match kind {
            "ARRAY" => format!("{name} && ARRAY[{}]", uuids.join(", ")),
            _ => format!("{name} IN ({})", uuids.join(", ")),
        };
        if sql.number(format!("SELECT count(*) FROM {table} WHERE {condition}")).await > 0 {
            found.insert(format!("{table}.{name}"));
        }
    }
    found
}

#[tokio::test]
async fn expired_session_leaves_no_row_and_others_keep_all() {
    let cluster = Cluster::new().await;
    let (acme, other) = (cluster.create_test_tenant("acme").await, cluster.create_test_tenant("other").await);
    let mut sql = cluster.db.sql().await;
    let (expired, kept) = (create_history(&cluster, &acme).await, create_history(&cluster, &other).await);
    let before = find_columns(&mut sql, &kept).await;
    for table in ["runs.id", "commands.id", "sessions.id", "approvals.run", "approval_rules.id"] {
        assert!(before.contains(table), "{before:?}");
    }
    for table in ["run_folds.run", "workspace_diffs.run", "session_reads.session", "journal_entries.owner"] {
        assert!(before.contains(table), "{before:?}");
    }

    keep_for(&cluster, &acme, 30).await;
    erase_after(&cluster, 29).await;
    assert_eq!(find_columns(&mut sql, &expired).await, before, "it is kept for 30 days");
    erase_after(&cluster, 31).await;
    assert_eq!(find_columns(&mut sql, &expired).await, BTreeSet::new());
    assert_eq!(find_columns(&mut sql, &kept).await, before);
    let trimmed =
        format!("SELECT count(*) FROM journal_entries WHERE journal = 4 AND owner = '{}'", &acme.id[4..]);
    assert_eq!(sql.number(trimmed).await, 0);

    let [run, _, _, session] = &expired[..] else { panic!("four ids") };
    for path in [format!("/api/v1/runs/{run}"), format!("/api/v1/sessions/{session}")] {
        cluster.second.get_as(&path, &cluster.operator.token).await.assert_failure(404, "not-found");
    }
    assert!(!cluster.list_events(&kept[0]).await.is_empty());
    let log =
        cluster.first.get_as(&format!("/api/v1/tenants/{}/audit", acme.id), &cluster.operator.token).await;
    let erased = log.body["entries"].as_array().expect("entries").iter();
    let erased: Vec<&Value> = erased.filter(|entry| entry["action"] == "history.erased").collect();
    assert_eq!(erased.len(), 1, "{}", log.text);
    let detail = &erased[0]["body"]["detail"];
    assert_eq!((&detail["sessions"], &detail["runs"]), (&json!(1), &json!(1)));
    // The tenant goes on, with new sessions and questions.
    create_history(&cluster, &acme).await;
}

#[tokio::test]
async fn partition_is_dropped_when_its_runs_are_gone() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let mut sql = cluster.db.sql().await;
    let ids = create_history(&cluster, &tenant).await;
    let partition = "SELECT tableoid::regclass::text FROM journal_entries WHERE journal = 2 LIMIT 1";
    let name = sql.texts(partition).await.remove(0);
    let exists = format!("SELECT count(*) FROM pg_class WHERE relname = '{name}'");
    keep_for(&cluster, &tenant, 5).await;

    // Its week is over in 8 days at the latest, and all its runs are erased.
    erase_after(&cluster, 9).await;
    assert_eq!(sql.number(exists.as_str()).await, 0, "{name}");
    assert_eq!(find_columns(&mut sql, &ids).await, BTreeSet::new());
    // A server that was killed between the two steps leaves a table.
    sql.execute(format!("CREATE TABLE {name} (LIKE journal_entries)")).await;
    erase_after(&cluster, 9).await;
    assert_eq!(sql.number(exists).await, 0, "{name}");
}

/// Each session has one reason to stay; none of them is its active run.
#[tokio::test]
async fn session_with_open_work_is_not_erased() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    keep_for(&cluster, &tenant, 1).await;
    let mut sql = cluster.db.sql().await;

    let (open_run, _) = cluster.start_command(&tenant).await;
    let (asked, command) = cluster.start_command(&tenant).await;
    cluster.first.ask(&asked, &command, "open", command_question("rm")).await;
    let asked = &asked.run[4..];
    sql.execute(format!(
        "DELETE FROM leases WHERE run = '{asked}';
         UPDATE runs SET state = 'ended', terminal_status = 'blocked', ended_at = now() WHERE id = '{asked}';
         UPDATE sessions SET active_run = NULL"
    ))
    .await;
    let mut closed = Vec::new();
    for _ in 0..3 {
        let (claim, command) = cluster.start_command(&tenant).await;
        let rule = cluster.create_approval_rule(&claim, &command).await;
        closed.push((close(&cluster, &claim, &command).await, rule, claim.run));
    }
    let [(remembered, rule, _), (stored, ..), (_, _, started)] = &closed[..] else {
        panic!("three sessions")
    };
    sql.execute(format!(
        "UPDATE approval_rules SET scope = 'agent-and-project', expires_at = now() + interval '1 year' WHERE id = '{}';
         UPDATE sessions SET storage_kind = 'directory' WHERE id = '{}';
         INSERT INTO runner_jobs (id, attempt, kind, profile, run, launcher)
         VALUES (gen_random_uuid(), gen_random_uuid(), 'asked', 'demo', '{}', 'local')",
        &rule[4..],
        &stored[4..],
        &started[4..]
    ))
    .await;
    let sessions = "SELECT count(*) FROM sessions";
    erase_after(&cluster, 3).await;
    assert_eq!(sql.number(sessions).await, 5);

    // When the work is over and the files are gone, they go too.
    sql.execute(
        "UPDATE approval_rules SET revoked_at = now();
         UPDATE runner_jobs SET phase = 'lost', ended_at = now() WHERE ended_at IS NULL;
         UPDATE sessions SET storage_kind = 'evicted', storage_evicted_at = now(), storage_removed_at = now()
         WHERE storage_kind = 'directory'",
    )
    .await;
    erase_after(&cluster, 3).await;
    assert_eq!(find_columns(&mut sql, &[remembered.clone(), stored.clone()]).await, BTreeSet::new());
    assert_eq!(sql.number(sessions).await, 2);
    assert_eq!(cluster.get_run(&open_run.run).await["status"], "running");
}

/// A session that should be gone and waits for something keeps its partition, but not the events of others.
#[tokio::test]
async fn events_of_erased_runs_do_not_wait_for_a_session_that_stays() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let mut sql = cluster.db.sql().await;
    let (erased, kept) = (create_history(&cluster, &tenant).await, create_history(&cluster, &tenant).await);
    sql.execute(format!("UPDATE sessions SET storage_kind = 'directory' WHERE id = '{}'", &kept[3][4..]))
        .await;
    keep_for(&cluster, &tenant, 5).await;
    erase_after(&cluster, 20).await;
    assert_eq!(find_columns(&mut sql, &erased).await, BTreeSet::new());
    assert!(!cluster.list_events(&kept[0]).await.is_empty());
}

/// The limit is read again for each batch: one that was cleared erases nothing more.
#[tokio::test]
async fn cleared_limit_stops_a_round_that_has_begun() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    create_history(&cluster, &tenant).await;
    keep_for(&cluster, &tenant, 1).await;
    let mut sql = cluster.db.sql().await;
    sql.execute("BEGIN; DELETE FROM retention_policies").await;
    let clear = async {
        let mut watch = cluster.db.sql().await;
        wait_for_lock(&mut watch).await;
        sql.execute("COMMIT").await;
    };
    join(erase_after(&cluster, 3), clear).await;
    assert_eq!(cluster.db.sql().await.number("SELECT count(*) FROM sessions").await, 1);
}

#[tokio::test]
async fn technical_rows_are_deleted_a_week_after_their_end() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (held, _) = cluster.start_command(&tenant).await;
    cluster.first.register_runner(&tenant).await;
    let ended = cluster.create_user("ada").await;
    let signed_out = cluster.first.post_as("/api/v1/auth/logout", &ended.token, json!({})).await;
    assert!(signed_out.status.is_success(), "{}", signed_out.text);
    let mut sql = cluster.db.sql().await;
    let run = &held.run[4..];
    sql.execute(format!(
        "INSERT INTO runner_jobs (id, attempt, kind, profile, run, launcher, phase, ended_at)
         VALUES (journal_run_bound(now()), gen_random_uuid(), 'asked', 'demo', '{run}', 'local', 'succeeded', now());
         INSERT INTO enrolments (id, tenant, principal, name, run, hash, expires_at)
         SELECT journal_run_bound(now()), tenant, '00000000-0000-8000-8000-000000000001', 'launched', id,
             decode(repeat('00', 32), 'hex'), now() FROM runs WHERE id = '{run}';
         INSERT INTO runners (id, tenant, enrolment, name, placement, backend_profiles)
         SELECT journal_run_bound(now()), tenant, id, 'started', '{{}}', '{{demo}}' FROM enrolments WHERE run = '{run}'"
    ))
    .await;
    let counts = async |sql: &mut SqlConnection| {
        let mut counts = Vec::new();
        for table in ["runner_jobs", "enrolments", "runners", "logins"] {
            counts.push(sql.number(format!("SELECT count(*) FROM {table}")).await);
        }
        counts
    };
    let before = counts(&mut sql).await;
    erase_after(&cluster, 6).await;
    assert_eq!(counts(&mut sql).await, before);
    let planned = cluster.first.get_as("/api/v1/retention/plan", &cluster.operator.token).await;
    assert_eq!(planned.body["technical"], json!({ "jobs": 0, "enrolments": 0, "runners": 0, "logins": 0 }));

    erase_after(&cluster, 8).await;
    let expected = before.iter().map(|count| count - 1).collect::<Vec<_>>();
    assert_eq!(counts(&mut sql).await, expected, "one of each; runners of people may come back");
    assert_eq!(cluster.second.poll(&held, 1, 0).await.status, 200, "the holder works on");
}

#[tokio::test]
async fn only_operators_change_and_plan_retention() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let owner = cluster.create_user("ada").await;
    cluster.set_role(&tenant.id, &owner, "owner").await;
    let path = format!("/api/v1/tenants/{}/retention", tenant.id);
    for (method, path, body) in [
        (Method::GET, path.as_str(), None),
        (Method::PUT, &path, Some(json!({ "historyDays": 1 }))),
        (Method::DELETE, &path, None),
        (Method::GET, "/api/v1/retention/plan", None),
    ] {
        let refused = cluster.first.request_as(method, path, &owner.token, body).await;
        refused.assert_failure(404, "not-found");
    }
    for days in [0, 3651] {
        let refused = set_retention(&cluster, "acme", json!({ "historyDays": days })).await;
        refused.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn change_of_retention_is_audited() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (operator, path) = (&cluster.operator.token, format!("/api/v1/tenants/{}/retention", tenant.id));
    let view = |days: Value| json!({ "tenantId": tenant.id, "historyDays": days });
    assert_eq!(cluster.first.get_as(&path, operator).await.body, view(Value::Null));
    assert_eq!(set_retention(&cluster, "acme", json!({ "historyDays": 30 })).await.body, view(json!(30)));
    assert_eq!(cluster.first.get_as(&path, operator).await.body, view(json!(30)));
    for _ in 0..2 {
        let cleared = cluster.first.request_as(Method::DELETE, &path, operator, None).await;
        assert_eq!(cleared.body, view(Value::Null), "{}", cleared.text);
    }
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{}/audit", tenant.id), operator).await;
    let entries = log.body["entries"].as_array().expect("entries").iter();
    let changes: Vec<Value> = entries
        .filter(|entry| entry["action"].as_str().is_some_and(|action| action.starts_with("retention.")))
        .map(|entry| json!([entry["action"], entry["body"]["detail"]]))
        .collect();
    let expected =
        [json!(["retention.set", { "from": null, "to": 30 }]), json!(["retention.cleared", { "from": 30 }])];
    assert_eq!(changes, expected);
}

#[tokio::test]
async fn plan_counts_what_a_limit_would_erase() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let ids = create_history(&cluster, &tenant).await;
    let events = cluster.list_events(&ids[0]).await.len();
    // The session is older than its events.
    let mut sql = cluster.db.sql().await;
    sql.execute(
        "ALTER TABLE runs DROP CONSTRAINT runs_session_fkey;
         ALTER TABLE approvals DROP CONSTRAINT approvals_session_fkey;
         ALTER TABLE approval_rules DROP CONSTRAINT approval_rules_session_fkey;
         ALTER TABLE session_reads DROP CONSTRAINT session_reads_session_fkey;
         UPDATE sessions SET id = journal_run_bound(now() - interval '10 days'), updated_at = now() - interval '9 days';
         UPDATE runs SET session = (SELECT id FROM sessions)",
    )
    .await;
    let operator = &cluster.operator.token;
    let plan = async |query: &str| {
        let plan = cluster.second.get_as(&format!("/api/v1/retention/plan{query}"), operator).await;
        assert_eq!(plan.status, 200, "{}", plan.text);
        plan.body["tenants"].clone()
    };
    let row = |days: Value, sessions: u32, events: usize| json!([{ "tenantId": tenant.id, "historyDays": days, "sessions": sessions, "runs": sessions, "events": events }]);
    assert_eq!(plan("").await, json!([]), "nobody has a limit");
    assert_eq!(plan("?tenant=acme").await, row(Value::Null, 0, 0));
    assert_eq!(plan("?tenant=acme&historyDays=8").await, row(json!(8), 1, events));
    assert_eq!(plan("?tenant=acme&historyDays=10").await, row(json!(10), 0, 0));
    keep_for(&cluster, &tenant, 8).await;
    assert_eq!(plan("").await, row(json!(8), 1, events));
    assert_eq!(plan("?tenant=acme").await, row(json!(8), 1, events));
    let unnamed = cluster.second.get_as("/api/v1/retention/plan?historyDays=8", operator).await;
    unnamed.assert_failure(400, "schema-invalid");
}

#[tokio::test]
async fn missing_indexes_are_built_after_the_start() {
    let cluster = Cluster::new().await;
    let mut sql = cluster.db.sql().await;
    sql.execute("DROP INDEX leases_of_runner, runner_jobs_of_command").await;
    // What an interrupted build leaves.
    sql.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'enrolments_of_run'::regclass")
        .await;
    let store = open_store(&cluster);
    assert!(!deferred_indexes::are_built(&store).await.expect("read"));
    deferred_indexes::build(&store).await.expect("built");
    assert!(deferred_indexes::are_built(&store).await.expect("read"));
}

/// Rows of principals and tenants are never deleted.
#[tokio::test]
async fn every_foreign_key_to_deletable_rows_has_an_index() {
    let cluster = Cluster::new().await;
    let missing = "SELECT key.conrelid::regclass::text || ' ' || key.conname
         FROM pg_constraint AS key
         WHERE key.contype = 'f'
             AND key.confrelid NOT IN ('principals'::regclass, 'tenants'::regclass)
             AND NOT EXISTS (
                 SELECT FROM pg_index AS index
                 WHERE index.indrelid = key.conrelid AND index.indkey[0] = key.conkey[1]
                     AND (
                         index.indpred IS NULL
                         OR pg_get_expr(index.indpred, index.indrelid) = format('(%s IS NOT NULL)', (
                             SELECT attname FROM pg_attribute
                             WHERE attrelid = key.conrelid AND attnum = key.conkey[1]
                         ))
                     )
             )
         ORDER BY 1";
    assert_eq!(cluster.db.sql().await.texts(missing).await, Vec::<String>::new());
}

/// Nothing grows for ever without somebody who said so.
#[tokio::test]
async fn guide_says_for_every_table_how_its_rows_go() {
    let cluster = Cluster::new().await;
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/retention.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let tables = "SELECT relname::text FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
             AND relname <> '_sqlx_migrations'";
    let tables = cluster.db.sql().await.texts(tables).await;
    let missing: Vec<&String> =
        tables.iter().filter(|table| !guide.contains(&format!("`{table}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new());
}
