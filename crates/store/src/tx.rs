//! A transaction: what a use case writes, it writes whole.

use sqlx::{PgConnection, Postgres, Transaction};

use crate::{Store, StoreError};

/// An open transaction. Dropping it undoes everything, a moment later; [`Tx::rollback`] waits for it.
#[derive(Debug)]
pub struct Tx(Transaction<'static, Postgres>);

impl Store {
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(Tx(self.pool.begin().await?))
    }
}

impl Tx {
    /// Makes everything durable. After an error the outcome is unknown: look before doing it again.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }

    /// Undoes everything, and lets go of what was locked before it returns.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.0.rollback().await?)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
