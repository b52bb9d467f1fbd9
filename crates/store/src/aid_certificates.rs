//! Certificates of AIDs.

use guildhall_domain::identity::{
    Aid, CertificateFingerprint, FingerprintQuery, IssuedCertificate, RevocationReason, Serial,
};
use jiff_sqlx::{Timestamp, ToSqlx};

use crate::{Store, StoreError, Tx};

/// A revoked certificate in the revocation list.
pub type RevokedCertificate = (Serial, jiff::Timestamp, RevocationReason);

/// The columns of a certificate.
pub(crate) struct CertificateRow {
    pub(crate) serial: Vec<u8>,
    pub(crate) aid: String,
    pub(crate) der: Vec<u8>,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) key_fingerprint: Vec<u8>,
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
    pub(crate) replaced: bool,
    pub(crate) revoked_at: Option<Timestamp>,
    pub(crate) revocation_reason: Option<String>,
}

impl CertificateRow {
    pub(crate) fn into_certificate(self) -> Result<IssuedCertificate, StoreError> {
        let fingerprint = |bytes: Vec<u8>| {
            let bytes = bytes.try_into().map_err(|_| unreadable("a hash has another length"))?;
            Ok::<_, StoreError>(CertificateFingerprint::new(bytes))
        };
        let revoked = self.revoked_at.zip(self.revocation_reason);
        Ok(IssuedCertificate {
            serial: Serial::from_bytes(&self.serial).map_err(unreadable)?,
            aid: self.aid.parse::<Aid>().map_err(unreadable)?,
            der: self.der,
            fingerprint: fingerprint(self.fingerprint)?,
            key_fingerprint: fingerprint(self.key_fingerprint)?,
            not_before: self.not_before.to_jiff(),
            not_after: self.not_after.to_jiff(),
            revoked: revoked.map(|(at, reason)| (at.to_jiff(), revocation_reason(&reason))),
            replaced: self.replaced,
        })
    }
}

/// An unknown reason, written by a newer binary, still means that the certificate is revoked.
fn revocation_reason(name: &str) -> RevocationReason {
    RevocationReason::from_name(name).unwrap_or(RevocationReason::Unspecified)
}

/// Inserts the newest certificate of an AID. The one before it verifies from now on, and does not sign in.
pub async fn insert(tx: &mut Tx, new: &IssuedCertificate, now: jiff::Timestamp) -> Result<(), StoreError> {
    let aid = new.aid.to_string();
    sqlx::query_file!("queries/aid_certificates/replace.sql", aid, now.to_sqlx() as Timestamp)
        .execute(tx.connection())
        .await?;
    sqlx::query_file!(
        "queries/aid_certificates/insert.sql",
        new.serial.as_bytes(),
        aid,
        new.der,
        new.fingerprint.as_bytes().as_slice(),
        new.key_fingerprint.as_bytes().as_slice(),
        new.not_before.to_sqlx() as Timestamp,
        new.not_after.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Revokes the certificates of an AID that have a key. Returns how many were not revoked until now.
pub async fn revoke(
    tx: &mut Tx,
    aid: &Aid,
    key: CertificateFingerprint,
    at: jiff::Timestamp,
    reason: RevocationReason,
) -> Result<u64, StoreError> {
    let done = sqlx::query_file!(
        "queries/aid_certificates/revoke.sql",
        aid.to_string(),
        key.as_bytes().as_slice(),
        at.to_sqlx() as Timestamp,
        reason.as_str()
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Finds the newest certificate of an AID whose fingerprint, or whose key's fingerprint, starts with these bytes.
pub async fn find_by_fingerprint(
    store: &Store,
    aid: &Aid,
    query: &FingerprintQuery,
) -> Result<Option<IssuedCertificate>, StoreError> {
    let row = sqlx::query_file_as!(
        CertificateRow,
        "queries/aid_certificates/find_by_fingerprint.sql",
        aid.to_string(),
        query.as_bytes()
    )
    .fetch_optional(&store.pool)
    .await?;
    row.map(CertificateRow::into_certificate).transpose()
}

/// Returns whether a certificate of the AID has this key.
pub async fn had_key(tx: &mut Tx, aid: &Aid, key: CertificateFingerprint) -> Result<bool, StoreError> {
    let row =
        sqlx::query_file!("queries/aid_certificates/had_key.sql", aid.to_string(), key.as_bytes().as_slice())
            .fetch_one(tx.connection())
            .await?;
    Ok(row.exists)
}

pub async fn find_by_serial(store: &Store, serial: &Serial) -> Result<Option<IssuedCertificate>, StoreError> {
    let row = sqlx::query_file_as!(
        CertificateRow,
        "queries/aid_certificates/find_by_serial.sql",
        serial.as_bytes()
    )
    .fetch_optional(&store.pool)
    .await?;
    row.map(CertificateRow::into_certificate).transpose()
}

/// Lists the revoked certificates that have not expired, at most `limit`.
pub async fn list_revoked(
    store: &Store,
    now: jiff::Timestamp,
    limit: i64,
) -> Result<Vec<RevokedCertificate>, StoreError> {
    let rows =
        sqlx::query_file!("queries/aid_certificates/list_revoked.sql", now.to_sqlx() as Timestamp, limit)
            .fetch_all(&store.pool)
            .await?;
    let revoked = rows.into_iter().map(|row| {
        let serial = Serial::from_bytes(&row.serial).map_err(unreadable)?;
        Ok((serial, row.revoked_at.to_jiff(), revocation_reason(&row.revocation_reason)))
    });
    revoked.collect()
}

fn unreadable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unreadable { column: "aid_certificates", source: source.into() }
}
