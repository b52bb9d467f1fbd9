//! Rate limit windows: how many permits of a caller were handed out.

use std::time::{Duration, Instant};

use guildhall_domain::ops::rate::{PermitBlock, Rate, RateKey, Tier};

use crate::{Store, StoreError};

/// Borrows at most `requested` permits of the current window. The database clock decides which window is current.
pub async fn borrow(
    store: &Store,
    tier: Tier,
    key: RateKey,
    rate: Rate,
    requested: u32,
) -> Result<PermitBlock, StoreError> {
    let mut connection = store.pool.acquire().await?;
    // PostgreSQL reads its clock between these two readings of ours.
    let requested_at = Instant::now();
    let (limit, seconds) =
        (number(rate.permits()), i64::try_from(rate.window().as_secs()).unwrap_or(i64::MAX));
    let row = sqlx::query_file!(
        "queries/rate_windows/borrow.sql",
        tier.number(),
        key.to_string(),
        seconds,
        limit,
        number(requested)
    )
    .fetch_one(&mut *connection)
    .await?;
    let (answered_at, ends_in) =
        (Instant::now(), Duration::try_from_secs_f64(row.ends_in_secs).unwrap_or_default());
    let count = |count: Option<i32>| count.and_then(|count| u32::try_from(count).ok());
    Ok(PermitBlock {
        permits: count(row.block).unwrap_or(0),
        handed_out: count(row.handed_out).unwrap_or(rate.permits()),
        valid_until: requested_at + ends_in,
        expired_at: answered_at + ends_in,
    })
}

/// Deletes at most `limit` windows that have ended. Returns how many were deleted.
pub async fn delete_ended(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/rate_windows/delete_ended.sql", i64::from(limit))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
