//! Failed sign-ins with names that do not exist. They are locked like existing ones, so that a lock does not reveal
//! which names exist.

use guildhall_domain::access::lockout::{LOCK_DURATION, SignInAttempts};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{StoreError, Tx};

/// Number of expired rows that are deleted after an attempt.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// A row for a part of all names, chosen by the keyed tag of a name: the table has at most 2^20 rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameSlot(i32);

impl NameSlot {
    /// Returns the slot of a name's tag.
    #[must_use]
    pub fn from_tag(tag: u64) -> Self {
        Self(i32::try_from(tag >> 44).unwrap_or_default())
    }
}

/// Locks a slot, so that concurrent attempts on it are serialised. Returns its failed attempts.
pub async fn lock(tx: &mut Tx, slot: NameSlot) -> Result<SignInAttempts, StoreError> {
    let row = sqlx::query_file!("queries/unknown_names/lock.sql", slot.0).fetch_one(tx.connection()).await?;
    Ok(SignInAttempts::from_failures(row.failures.into_iter().map(Timestamp::to_jiff)))
}

/// Reads a slot. An attempt with an existing name does so, to take as many statements as one with an unknown name.
pub async fn read(tx: &mut Tx, slot: NameSlot) -> Result<(), StoreError> {
    sqlx::query_file!("queries/unknown_names/read.sql", slot.0).fetch_optional(tx.connection()).await?;
    Ok(())
}

pub async fn set_attempts(tx: &mut Tx, slot: NameSlot, attempts: &SignInAttempts) -> Result<(), StoreError> {
    let failures: Vec<Timestamp> = attempts.failures().iter().map(|at| at.to_sqlx()).collect();
    sqlx::query_file!(
        "queries/unknown_names/set_failures.sql",
        slot.0,
        &failures as &[Timestamp],
        LOCK_DURATION.as_secs_f64()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Deletes some slots whose attempts no longer count, and writes the slot of a refused attempt again. The commit takes
/// about as long as that of an audit entry, which a refused attempt with an existing name writes.
pub async fn delete_expired(tx: &mut Tx, refused: NameSlot) -> Result<(), StoreError> {
    sqlx::query_file!("queries/unknown_names/delete_expired.sql", EXPIRED_BATCH_SIZE)
        .execute(tx.connection())
        .await?;
    sqlx::query_file!("queries/unknown_names/touch.sql", refused.0).execute(tx.connection()).await?;
    Ok(())
}
