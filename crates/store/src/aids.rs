//! AIDs and the principals that own them.

use guildhall_domain::identity::{Aid, OwnedAid};
use guildhall_domain::ids::PrincipalId;
use jiff_sqlx::Timestamp;

use crate::aid_certificates::CertificateRow;
use crate::{Store, StoreError, Tx};

/// Inserts an AID. Returns false where the name is taken.
pub async fn insert(tx: &mut Tx, aid: &Aid, principal: PrincipalId) -> Result<bool, StoreError> {
    let done = sqlx::query_file!("queries/aids/insert.sql", aid.to_string(), principal.as_uuid())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The columns of an AID with its newest certificate.
struct AidRow {
    aid: String,
    principal: uuid::Uuid,
    created_at: Timestamp,
    serial: Vec<u8>,
    der: Vec<u8>,
    fingerprint: Vec<u8>,
    key_fingerprint: Vec<u8>,
    not_before: Timestamp,
    not_after: Timestamp,
    replaced: bool,
    revoked_at: Option<Timestamp>,
    revocation_reason: Option<String>,
}

impl AidRow {
    fn into_aid(self) -> Result<OwnedAid, StoreError> {
        let certificate = CertificateRow {
            serial: self.serial,
            aid: self.aid,
            der: self.der,
            fingerprint: self.fingerprint,
            key_fingerprint: self.key_fingerprint,
            not_before: self.not_before,
            not_after: self.not_after,
            replaced: self.replaced,
            revoked_at: self.revoked_at,
            revocation_reason: self.revocation_reason,
        };
        Ok(OwnedAid {
            owner: PrincipalId::from_uuid(self.principal),
            created_at: self.created_at.to_jiff(),
            certificate: certificate.into_certificate()?,
        })
    }
}

pub async fn find(store: &Store, aid: &Aid) -> Result<Option<OwnedAid>, StoreError> {
    let row = sqlx::query_file_as!(AidRow, "queries/aids/find.sql", aid.to_string())
        .fetch_optional(&store.pool)
        .await?;
    row.map(AidRow::into_aid).transpose()
}

/// Finds and locks an AID, so that its certificates change one after the other.
///
/// With two statements: one that waits for the lock would return the certificate from before the wait.
pub async fn lock(tx: &mut Tx, aid: &Aid) -> Result<Option<OwnedAid>, StoreError> {
    let aid = aid.to_string();
    sqlx::query_file!("queries/aids/lock.sql", aid).fetch_optional(tx.connection()).await?;
    let row =
        sqlx::query_file_as!(AidRow, "queries/aids/find.sql", aid).fetch_optional(tx.connection()).await?;
    row.map(AidRow::into_aid).transpose()
}

/// Lists AIDs by name, of one owner or of all, after a name.
pub async fn list(
    store: &Store,
    owner: Option<PrincipalId>,
    after: &str,
    limit: u32,
) -> Result<Vec<OwnedAid>, StoreError> {
    let rows = sqlx::query_file_as!(
        AidRow,
        "queries/aids/list.sql",
        owner.map(PrincipalId::as_uuid),
        after,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(AidRow::into_aid).collect()
}
