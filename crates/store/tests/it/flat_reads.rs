//! Statements that run every few seconds, or in every request: they read the same number of blocks however many rows there are.

use guildhall_testkit::{SqlConnection, TestDb};

/// Blocks that a statement may read: some levels of some indexes.
const MAX_BLOCKS: u64 = 40;

/// Runs a statement with these parameters and returns the blocks that it read.
pub(crate) async fn blocks(sql: &mut SqlConnection, statement: &str, parameters: &[&str]) -> u64 {
    buffers(sql, &with_parameters(statement, parameters)).await
}

/// Returns a statement with values in place of its parameters.
fn with_parameters(statement: &str, values: &[&str]) -> String {
    let mut statement = statement.to_owned();
    for (number, value) in values.iter().enumerate().rev() {
        statement = statement.replace(&format!("${}", number + 1), value);
    }
    statement
}

/// Runs a statement and returns its plan.
async fn explain(sql: &mut SqlConnection, statement: &str) -> Vec<String> {
    sql.texts(format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) {statement}")).await
}

/// Runs a statement and returns the blocks that it read.
pub(crate) async fn buffers(sql: &mut SqlConnection, statement: &str) -> u64 {
    let plan = explain(sql, statement).await;
    // The first line that names buffers is that of the whole statement.
    let buffers = plan.iter().find(|line| line.contains("Buffers:")).cloned().unwrap_or_default();
    let numbers = buffers.split([' ', ',']).filter_map(|part| part.split_once('='));
    numbers
        .filter(|(kind, _)| ["hit", "read"].contains(kind))
        .filter_map(|(_, count)| count.parse::<u64>().ok())
        .sum()
}

#[tokio::test]
async fn search_for_unsealed_logs_reads_no_sealed_ones() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    sql.execute(
        "CREATE TEMPORARY TABLE logs AS SELECT gen_random_uuid() AS id FROM generate_series(1, 20000);
         INSERT INTO journal_heads (journal, owner, last_seq) SELECT 1, id, 1 FROM logs;
         INSERT INTO journal_seal_heads (journal, owner, sealed_seq, signed_seq) SELECT 1, id, 1, 1 FROM logs;
         DELETE FROM unsealed_logs WHERE owner NOT IN (SELECT id FROM logs LIMIT 2)",
    )
    .await;
    sql.execute("VACUUM ANALYZE unsealed_logs, journal_heads, journal_seal_heads").await;
    let statement = include_str!("../../queries/journal_seals/find_unsealed.sql");
    let first = "'00000000-0000-0000-0000-000000000000'::uuid";
    let read = blocks(&mut sql, statement, &["1", first, "100", "true"]).await;
    assert!(read > 0 && read <= MAX_BLOCKS, "{read} blocks");
}

#[tokio::test]
async fn check_of_a_profile_reads_no_ended_enrolments() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let tenant = "'00000000-0000-7000-8000-000000000001'";
    sql.execute(format!(
        "INSERT INTO tenants (id, slug, name) VALUES ({tenant}, 'acme', 'acme');
         INSERT INTO principals (id, kind, name) VALUES ({tenant}, 'service', 'runners');
         INSERT INTO enrolments (id, tenant, principal, name, profile, hash, expires_at, revoked_at)
         SELECT gen_random_uuid(), {tenant}, {tenant}, 'ended', 'codex', sha256(number::text::bytea),
             CASE WHEN number % 2 = 0 THEN now() + interval '1 day' ELSE now() - interval '1 day' END,
             CASE WHEN number % 2 = 0 THEN now() END
         FROM generate_series(1, 20000) AS number"
    ))
    .await;
    sql.execute("VACUUM ANALYZE enrolments").await;
    let statement = include_str!("../../queries/enrolments/profile_availability.sql");
    let read = blocks(&mut sql, statement, &[&format!("{tenant}::uuid"), "'codex'"]).await;
    assert!(read > 0 && read <= MAX_BLOCKS, "{read} blocks");
}

/// Streams look every 400 ms. Planned for all callers together, and without statistics yet, each was compared with each row.
#[tokio::test]
async fn authority_of_each_of_many_callers_is_read_by_its_key() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let tenant = "'00000000-0000-7000-8000-000000000001'";
    sql.execute(format!(
        "INSERT INTO tenants (id, slug, name) VALUES ({tenant}, 'acme', 'acme');
         INSERT INTO principals (id, kind, name)
         SELECT gen_random_uuid(), 'service', number::text FROM generate_series(1, 500) AS number;
         INSERT INTO memberships (tenant, principal, role) SELECT {tenant}, id, 'viewer' FROM principals;
         INSERT INTO external_subjects (tenant, subject, principal) SELECT {tenant}, name, id FROM principals;
         INSERT INTO logins (id, principal, current_hash, last_rotated_at, expires_at)
         SELECT gen_random_uuid(), id, sha256(name::bytea), now(), now() + interval '1 day' FROM principals;
         INSERT INTO service_keys (id, tenant, principal, name, hash)
         SELECT gen_random_uuid(), {tenant}, id, name, sha256(name::bytea) FROM principals"
    ))
    .await;
    let callers = "SELECT array_agg(COLUMN ORDER BY login.id)::text FROM logins AS login \
                   INNER JOIN service_keys AS key ON key.principal = login.principal";
    let mut parameters = Vec::new();
    for column in ["key.principal", "login.id", "key.id", "key.tenant"] {
        let ids = sql.texts(callers.replace("COLUMN", column)).await.concat();
        parameters.push(format!("'{ids}'"));
    }
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let statement = include_str!("../../queries/principals/list_authorities.sql");
    let plan = explain(&mut sql, &with_parameters(statement, &parameters)).await;
    let count = sql.number("SELECT count(*) FROM service_keys").await;
    assert!(count >= 500 && plan[0].contains(&format!("rows={count} ")), "{plan:#?}");
    assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{plan:#?}");
}
