//! Inserts of rows of the same size over plain connections.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use guildhall_domain::journal::Journal;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::TEXT_BYTES;
use crate::baseline::insert;

const CONNECTIONS: usize = 64;
const ROUND: Duration = Duration::from_secs(4);

/// The rows of a transaction where there are many.
pub(super) const BATCH: usize = 50;

/// A connection that inserts under an owner of its own.
struct Inserter {
    sql: PgConnection,
    owner: Uuid,
    last: i64,
}

pub(super) struct Inserts(Vec<Inserter>);

impl Inserts {
    pub(super) async fn connect(postgres: &SecretString) -> Result<Self> {
        let connecting = (0..CONNECTIONS).map(async |_| {
            let sql = PgConnection::connect(postgres.expose_secret()).await?;
            anyhow::Ok(Inserter { sql, owner: Uuid::now_v7(), last: 0 })
        });
        Ok(Self(try_join_all(connecting).await?))
    }

    /// Inserts for some time, so many rows in each transaction. Returns the rows of a second.
    pub(super) async fn round(&mut self, batch: usize) -> Result<f64> {
        let (began, bodies) = (Instant::now(), vec!["x".repeat(TEXT_BYTES); batch]);
        let inserting = self.0.iter_mut().map(async |Inserter { sql, owner, last }| {
            let first = *last;
            while began.elapsed() < ROUND {
                insert(sql, Journal::Audit, *owner, *last, &bodies).await?;
                *last += i64::try_from(bodies.len())?;
            }
            anyhow::Ok(*last - first)
        });
        let rows: i64 = try_join_all(inserting).await?.into_iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        Ok(rows as f64 / began.elapsed().as_secs_f64())
    }
}
