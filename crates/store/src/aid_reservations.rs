//! Names that one address may register for some minutes.

use std::net::{AddrParseError, IpAddr};

use guildhall_domain::identity::{AidName, Reservation};
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{StoreError, Tx};

/// Number of expired reservations that a new one deletes.
const EXPIRED_BATCH_SIZE: i64 = 100;

/// Reserves a name. A later reservation of the same name takes the place of an earlier one.
pub async fn put(tx: &mut Tx, reservation: &Reservation, now: jiff::Timestamp) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/aid_reservations/delete_expired.sql",
        now.to_sqlx() as Timestamp,
        EXPIRED_BATCH_SIZE
    )
    .execute(tx.connection())
    .await?;
    sqlx::query_file!(
        "queries/aid_reservations/put.sql",
        reservation.name.as_str(),
        reservation.address.to_canonical().to_string(),
        reservation.owner.map(PrincipalId::as_uuid),
        reservation.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Finds and locks the reservation of a name, expired or not.
pub async fn lock(tx: &mut Tx, name: &AidName) -> Result<Option<Reservation>, StoreError> {
    let row = sqlx::query_file!("queries/aid_reservations/lock.sql", name.as_str())
        .fetch_optional(tx.connection())
        .await?;
    row.map(|row| {
        let address: Result<IpAddr, _> = row.address.parse();
        let unreadable = |source: AddrParseError| StoreError::Unreadable {
            column: "aid_reservations.address",
            source: source.into(),
        };
        Ok(Reservation {
            name: name.clone(),
            address: address.map_err(unreadable)?,
            owner: row.owner.map(PrincipalId::from_uuid),
            expires_at: row.expires_at.to_jiff(),
        })
    })
    .transpose()
}

pub async fn delete(tx: &mut Tx, name: &AidName) -> Result<(), StoreError> {
    sqlx::query_file!("queries/aid_reservations/delete.sql", name.as_str()).execute(tx.connection()).await?;
    Ok(())
}
