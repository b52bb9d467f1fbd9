//! Looks for work that servers repeat every second: they read the same number of blocks with 6,000 waiting and 6,000 ended runs.

use guildhall_testkit::{SqlConnection, TestDb};

use crate::flat_reads::blocks;

/// Some levels of some indexes, for each of the rows that a look returns.
const MAX_BLOCKS: u64 = 400;

const TENANT: &str = "00000000-0000-7000-8000-000000000001";

/// Runs of one tenant and profile: every other one has ended, the others wait for a runner since a second ago.
async fn insert_runs(sql: &mut SqlConnection) {
    sql.execute(format!(
        "INSERT INTO tenants (id, slug, name) VALUES ('{TENANT}', 'acme', 'acme');
         INSERT INTO principals (id, kind, name) VALUES ('{TENANT}', 'service', 'client');
         CREATE TEMPORARY TABLE new AS SELECT gen_random_uuid() AS id, number % 2 = 0 AS ended FROM generate_series(1, 12000) AS number;
         INSERT INTO sessions (id, tenant, project, backend_profile, created_by, runs)
         SELECT id, '{TENANT}', 'acme/web', 'codex', '{TENANT}', 1 FROM new;
         INSERT INTO runs (id, tenant, session, ordinal, project, provider, backend_profile, workspace_ref, execution_policy,
             created_by, state, terminal_status, ended_at, commands, waiting_since)
         SELECT id, '{TENANT}', id, 1, 'acme/web', 'local', 'codex', '{{}}', '{{}}', '{TENANT}',
             CASE WHEN ended THEN 'ended' ELSE 'open' END, CASE WHEN ended THEN 'completed' END,
             CASE WHEN ended THEN now() END, 1, now() - interval '1 second' FROM new;
         INSERT INTO commands (id, run, ordinal, kind, payload, state, created_by, created_at, ended_at)
         SELECT id, id, 1, 'turn', '{{}}', CASE WHEN ended THEN 'completed' ELSE 'pending' END, '{TENANT}',
             now() - interval '1 second', CASE WHEN ended THEN now() END FROM new;
         INSERT INTO journal_heads (journal, owner, last_seq) SELECT 2, id, 1 FROM new"
    ))
    .await;
    sql.execute("VACUUM ANALYZE sessions, runs, commands, waiting_runs, journal_heads").await;
}

#[tokio::test]
async fn looks_for_work_read_no_backlog() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    insert_runs(&mut sql).await;
    assert_eq!(sql.number("SELECT count(*) FROM waiting_runs").await, 6_000);
    let tenant = format!("'{TENANT}'::uuid");
    let tenants = format!("ARRAY[{tenant}]");
    let (profile, profiles) = ("NULL::text", "ARRAY['codex']");
    let looks: [(&str, &str, &[&str]); 7] = [
        (
            "list_waiting",
            include_str!("../../queries/runs/list_waiting.sql"),
            &[&tenant, profile, profiles, "10"],
        ),
        (
            "list_waiting_in_all_tenants",
            include_str!("../../queries/runs/list_waiting_in_all_tenants.sql"),
            &[profile, profiles, "10"],
        ),
        (
            "list_waiting_profiles",
            include_str!("../../queries/runs/list_waiting_profiles.sql"),
            &["0.1", "10"],
        ),
        (
            "list_launch_candidates",
            include_str!("../../queries/runner_jobs/list_launch_candidates.sql"),
            &[&tenants, profiles, "0.1", "5", "10"],
        ),
        ("list_overdue", include_str!("../../queries/runs/list_overdue.sql"), &["600", "3600", "100"]),
        ("count_waiting", include_str!("../../queries/runs/count_waiting.sql"), &["100"]),
        ("list_stale", include_str!("../../queries/runner_jobs/list_stale.sql"), &["60", "100"]),
    ];
    let mut excessive = Vec::new();
    for (name, statement, parameters) in looks {
        let read = blocks(&mut sql, statement, parameters).await;
        if read > MAX_BLOCKS {
            excessive.push(format!("{name}: {read} blocks"));
        }
    }
    assert!(excessive.is_empty(), "{excessive:?}");
}
