//! The baseline: plain inserts into the same table, without Guildhall.

use anyhow::Result;
use guildhall_domain::journal::Journal;
use sqlx::PgConnection;
use uuid::Uuid;

const INSERT: &str = "INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
    SELECT $1, $2, entry.seq, entry.id, $3, entry.body
    FROM unnest($4::bigint[], $5::uuid[], $6::text[]) AS entry (seq, id, body)";

/// Inserts rows with the sequence numbers after `after`, in one transaction.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    journal: Journal,
    owner: Uuid,
    after: i64,
    bodies: &[String],
) -> Result<()> {
    let seqs: Vec<i64> = (after + 1..).take(bodies.len()).collect();
    let ids: Vec<Uuid> = bodies.iter().map(|_| Uuid::now_v7()).collect();
    #[expect(clippy::disallowed_methods, reason = "the baseline uses plain SQL")]
    sqlx::query(INSERT)
        .bind(journal.number())
        .bind(owner)
        .bind("bench")
        .bind(&seqs)
        .bind(&ids)
        .bind(bodies)
        .execute(connection)
        .await?;
    Ok(())
}
