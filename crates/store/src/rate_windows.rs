//! How many permits of each caller's rate were handed out.

use std::time::{Duration, Instant};

use guildhall_domain::ops::rate::{Key, Lent, Rate, Tier};

use crate::{Store, StoreError};

/// Borrows at most `wanted` permits of the window that is open now. The store's clock says which one that is.
pub async fn borrow(
    store: &Store,
    tier: Tier,
    key: Key,
    rate: Rate,
    wanted: u32,
) -> Result<Lent, StoreError> {
    let mut connection = store.pool.acquire().await?;
    // The store looked at its clock between these two looks at ours.
    let asked_at = Instant::now();
    let (limit, seconds) =
        (number(rate.permits()), i64::try_from(rate.window().as_secs()).unwrap_or(i64::MAX));
    let row = sqlx::query_file!(
        "queries/rate_windows/borrow.sql",
        tier.number(),
        key.to_string(),
        seconds,
        limit,
        number(wanted)
    )
    .fetch_one(&mut *connection)
    .await?;
    let (answered_at, ends_in) =
        (Instant::now(), Duration::try_from_secs_f64(row.ends_in_secs).unwrap_or_default());
    let count = |count: Option<i32>| count.and_then(|count| u32::try_from(count).ok());
    Ok(Lent {
        permits: count(row.block).unwrap_or(0),
        handed_out: count(row.handed_out).unwrap_or(rate.permits()),
        ends_at: asked_at + ends_in,
        over_at: answered_at + ends_in,
    })
}

/// Forgets at most `limit` windows that have ended. Returns how many there were.
pub async fn forget_ended(store: &Store, limit: u32) -> Result<u64, StoreError> {
    let done = sqlx::query_file!("queries/rate_windows/forget_ended.sql", i64::from(limit))
        .execute(&store.pool)
        .await?;
    Ok(done.rows_affected())
}

fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
