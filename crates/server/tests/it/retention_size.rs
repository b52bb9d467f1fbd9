//! Thirty days of runs with a retention of three days: the database stops growing. CI makes 200 runs a day, `cargo xtask
//! long retention` 100,000. Days pass by asking for a later time; rows are made by SQL.

use std::fmt::Write;
use std::time::{Duration, Instant};

use futures::future::join;
use guildhall_service::retention::erase::EraseExpired;
use guildhall_store::{Store, StoreOptions, journal, retention};
use guildhall_testkit::{Rounds, SqlConnection};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::cluster::Cluster;

const DAYS: i32 = 30;
const TENANTS: u32 = 10;
const HISTORY_DAYS: u32 = 3;
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The longest time that a statement may wait for a lock while a partition is dropped.
const LONGEST_LOCK: &str = "50ms";

/// Statements before the drop begins, and after it has ended.
const STATEMENTS_AROUND: u32 = 100;

/// Makes ids that begin with a time, as those of the server do.
const ID_FUNCTION: &str =
    "CREATE FUNCTION sim_id(at timestamptz, kind integer, number integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT (substr(replace(journal_run_bound(at)::text, '-', ''), 1, 12) || '7'
        || lpad(to_hex(kind), 3, '0') || '8' || lpad(to_hex(number), 15, '0'))::uuid $$";

/// The rows that a demo run leaves: a session, a run, two commands, twelve events, folds, a job, an enrolment, a runner.
const ROWS_OF_A_DAY: &str = "
    CREATE TEMPORARY TABLE made AS
    SELECT number, tenants.id AS tenant, $AT$::timestamptz + number * interval '86400 seconds' / $RUNS$ AS at
    FROM generate_series(1, $RUNS$) AS number
    INNER JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM tenants WHERE slug LIKE 'sim-%') AS tenants
        ON tenants.place = number % $TENANTS$ + 1;
    INSERT INTO sessions (id, tenant, project, backend_profile, created_by, created_at, runs, updated_at)
    SELECT sim_id(at, 1, number), tenant, 'acme/web', 'demo', '$BY$', at, 1, at FROM made;
    INSERT INTO runs (id, tenant, session, ordinal, project, provider, backend_profile, workspace_ref, execution_policy,
        created_by, created_at, state, terminal_status, ended_at, commands, waiting_since)
    SELECT sim_id(at, 2, number), tenant, sim_id(at, 1, number), 1, 'acme/web', 'local', 'demo', '{}', '{}', '$BY$', at,
        'ended', 'completed', at, 2, at FROM made;
    INSERT INTO commands (id, run, ordinal, kind, payload, state, created_by, created_at, ended_at)
    SELECT sim_id(at, 3 + ordinal, number), sim_id(at, 2, number), ordinal, 'turn', repeat('p', 200), 'completed', '$BY$', at, at
    FROM made, generate_series(1, 2) AS ordinal;
    INSERT INTO journal_heads (journal, owner, last_seq) SELECT 2, sim_id(at, 2, number), 12 FROM made;
    INSERT INTO journal_entries (journal, owner, seq, id, kind, body, recorded_at)
    SELECT 2, sim_id(at, 2, number), seq, sim_id(at, 100 + seq, number), 'assistant_message', repeat('e', 200), at
    FROM made, generate_series(1, 12) AS seq;
    INSERT INTO run_folds (run, scope, fold)
    SELECT sim_id(at, 2, number), sim_id(at, 3 + scope, number), repeat('f', 300) FROM made, generate_series(1, 2) AS scope;
    INSERT INTO enrolments (id, tenant, principal, name, run, hash, expires_at)
    SELECT sim_id(at, 7, number), tenant, '00000000-0000-8000-8000-000000000001', 'launched', sim_id(at, 2, number),
        decode(repeat('00', 32), 'hex'), at FROM made;
    INSERT INTO runners (id, tenant, enrolment, name, placement, backend_profiles, registered_at, seen_at)
    SELECT sim_id(at, 8, number), tenant, sim_id(at, 7, number), 'started', '{}', '{demo}', at, at FROM made;
    INSERT INTO runner_jobs (id, attempt, kind, profile, run, launcher, phase, enrolment, created_at, ended_at)
    SELECT sim_id(at, 9, number), gen_random_uuid(), 'cold', 'demo', sim_id(at, 2, number), 'local', 'succeeded',
        sim_id(at, 7, number), at, at FROM made;
    DROP TABLE made";

/// In a real day autovacuum does it.
const VACUUM: &str = "VACUUM sessions, runs, commands, run_folds, journal_heads, enrolments, runners, runner_jobs, erased_runs";

struct RetentionSimulation {
    cluster: Cluster,
    sql: SqlConnection,
    store: Store,
    runs_per_day: u32,
    start: Timestamp,
}

impl RetentionSimulation {
    async fn start(runs_per_day: u32) -> Self {
        let cluster = Cluster::new().await;
        for tenant in 0..TENANTS {
            let tenant = cluster.create_tenant(&format!("sim-{tenant}")).await;
            let (path, body) =
                (format!("/api/v1/tenants/{tenant}/retention"), json!({ "historyDays": HISTORY_DAYS }));
            let set = cluster
                .first
                .request_as(reqwest::Method::PUT, &path, &cluster.operator.token, Some(body))
                .await;
            assert_eq!(set.status, 200, "{}", set.text);
        }
        let (acquire_timeout, statement_timeout) = (Duration::from_secs(60), Duration::from_secs(600));
        let url = cluster.db.url();
        let options = StoreOptions { url, max_connections: 2, acquire_timeout, statement_timeout };
        let store = Store::new(&options).expect("a store");
        let mut sql = cluster.db.sql().await;
        sql.execute(ID_FUNCTION).await;
        let start = retention::now(&store).await.expect("a time");
        Self { cluster, sql, store, runs_per_day, start }
    }

    /// Makes the runs of a day, and erases what is over at its end. Returns the size of the database and the time it took.
    async fn pass(&mut self, day: i32) -> (i64, Duration) {
        let rows = ROWS_OF_A_DAY
            .replace("$AT$", &format!("'{}'", self.start + DAY * day))
            .replace("$RUNS$", &self.runs_per_day.to_string())
            .replace("$TENANTS$", &TENANTS.to_string())
            .replace("$BY$", &self.cluster.operator.principal.replace("prn_", ""));
        self.sql.execute(rows).await;
        let began = Instant::now();
        let technical_after = Duration::from_secs(7 * 24 * 3600);
        let store = self.store.clone();
        let erase = EraseExpired { store, technical_after, stop: CancellationToken::new() };
        erase.erase_at(self.start + DAY * (day + 1)).await.expect("erased");
        let took = began.elapsed();
        self.sql.execute(VACUUM).await;
        let size = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
             WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
        (self.sql.number(size).await, took)
    }

    /// Drops a full partition while others read and write events. Returns how many of their statements succeeded.
    async fn drop_partition(&mut self) -> (Duration, u32) {
        let events = format!(
            "INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
             SELECT 2, sim_id(now() + interval '42 days', 2, number), seq, gen_random_uuid(), 'assistant_message', repeat('e', 200)
             FROM generate_series(1, {}) AS number, generate_series(1, 12) AS seq",
            self.runs_per_day
        );
        self.sql.execute(events).await;
        let all = journal::list_run_partitions(&self.store, self.start + DAY * 60).await.expect("listed");
        let last = "SELECT tableoid::regclass::text FROM journal_entries WHERE journal = 2 ORDER BY owner DESC LIMIT 1";
        let name = self.sql.texts(last).await.remove(0);
        let partition = all.iter().find(|partition| partition.name == name).expect("the partition");
        let (busy, stop) = (CancellationToken::new(), CancellationToken::new());
        let traffic = self.cluster.db.sql().await;
        let drop = async {
            busy.cancelled().await;
            let began = Instant::now();
            assert!(journal::drop_run_partition(&self.store, partition).await.expect("dropped"));
            stop.cancel();
            began.elapsed()
        };
        let (took, statements) = join(drop, use_events(traffic, &busy, &stop)).await;
        let exists = format!("SELECT count(*) FROM pg_class WHERE relname = '{name}'");
        assert_eq!(self.sql.number(exists).await, 0);
        (took, statements)
    }
}

/// Reads and writes events until some time after the partition is dropped; a statement that waits longer for a lock fails. Returns how
/// many succeeded.
async fn use_events(mut sql: SqlConnection, busy: &CancellationToken, stop: &CancellationToken) -> u32 {
    sql.execute(format!("SET lock_timeout = '{LONGEST_LOCK}'")).await;
    let (mut statements, mut stopped_at) = (0, None);
    while stopped_at.is_none_or(|stopped| statements < stopped + STATEMENTS_AROUND) {
        let insert = format!(
            "INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
             SELECT 2, sim_id(now() + interval '49 days', 2, {statements}), 1, gen_random_uuid(), 'status', '{{}}'"
        );
        sql.execute(insert).await;
        sql.execute("SELECT count(*) FROM (SELECT FROM journal_entries WHERE journal = 2 ORDER BY owner LIMIT 10) AS page").await;
        statements += 2;
        if statements >= STATEMENTS_AROUND {
            busy.cancel();
        }
        if stop.is_cancelled() {
            stopped_at = stopped_at.or(Some(statements));
        }
    }
    statements
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_stops_growing_with_retention() {
    let rounds = Rounds::from_env(200);
    let mut simulation = RetentionSimulation::start(rounds.size()).await;
    let mut days = Vec::new();
    let mut text = String::from("| day | runs so far | tables | erasing |\n|---|---|---|---|\n");
    for day in 0..DAYS {
        let (bytes, took) = simulation.pass(day).await;
        let made = (day + 1) * i32::try_from(rounds.size()).expect("a small number");
        writeln!(text, "| {} | {made} | {} MB | {:.1} s |", day + 1, bytes / 1_000_000, took.as_secs_f64())
            .expect("text");
        days.push(bytes);
    }
    let largest = |days: &[i64]| days.iter().copied().max().unwrap_or_default();
    let (second, third) = (largest(&days[10..20]), largest(&days[20..]));
    assert!(third * 100 < second * 125, "{second} bytes, then {third}: {days:?}");
    let (took, statements) = simulation.drop_partition().await;
    let kept = simulation.sql.number("SELECT count(*) FROM runs").await;
    let expected = i64::from(HISTORY_DAYS) * i64::from(rounds.size());
    assert!((expected - 1..=expected + 1).contains(&kept), "{kept} runs are kept, not {expected}");
    writeln!(
        text,
        "\n{} runs a day of {TENANTS} tenants for {DAYS} days, history of {HISTORY_DAYS} days, technical rows of 7 days, events by the week. \
         The largest size of the last ten days was {:.2} times that of the ten before. Dropping a partition of {} events took {took:.1?}; beside it {statements} \
         statements on events succeeded, none of which waited {LONGEST_LOCK} for a lock.",
        rounds.size(),
        third as f64 / second as f64,
        u64::from(rounds.size()) * 12,
    )
    .expect("text");
    rounds.report(&text);
}
