//! Database transactions.

use sqlx::{PgConnection, Postgres, Transaction};

use crate::{Store, StoreError};

/// An open transaction. Dropping it rolls back in the background; [`Tx::rollback`] waits until that is done.
#[derive(Debug)]
pub struct Tx(Transaction<'static, Postgres>);

impl Store {
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(Tx(self.pool.begin().await?))
    }
}

impl Tx {
    /// Commits. After an error the outcome is unknown: read the state before retrying.
    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.0.commit().await?)
    }

    /// Rolls back. All locks are released when this returns.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.0.rollback().await?)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
