//! Images that applications upload for messages. Their content is in the object storage.

use std::time::Duration;

use guildhall_domain::front::attachment::{Attachment, AttachmentLimits, AttachmentOwner, ImageType};
use guildhall_domain::ids::{AttachmentId, PrincipalId, RunId, SessionId, TenantId};
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

struct Row {
    id: Uuid,
    tenant: Uuid,
    owner: Uuid,
    mime_type: String,
    size_bytes: i64,
}

impl Row {
    fn into_attachment(self) -> Result<Attachment, StoreError> {
        let image_type = ImageType::from_name(&self.mime_type).map_err(|error| StoreError::Unreadable {
            column: "attachments.mime_type",
            source: error.into(),
        })?;
        let owner = AttachmentOwner {
            tenant: TenantId::from_uuid(self.tenant),
            principal: PrincipalId::from_uuid(self.owner),
        };
        let size_bytes = u64::try_from(self.size_bytes).unwrap_or_default();
        Ok(Attachment { id: AttachmentId::from_uuid(self.id), owner, image_type, size_bytes })
    }
}

/// How long rows stay before their objects are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalAges {
    /// For attachments that no session has used.
    pub unreferenced: Duration,
    /// For uploads that did not end.
    pub unfinished_upload: Duration,
    /// For a removal that did not end.
    pub unfinished_removal: Duration,
}

/// Returns the bytes of all attachments of an owner that no session uses, as the quota counts them. Others who ask for the same owner wait until
/// the transaction ends.
pub async fn lock_unreferenced_bytes(tx: &mut Tx, owner: AttachmentOwner) -> Result<u64, StoreError> {
    let AttachmentOwner { tenant, principal } = owner;
    sqlx::query_file!("queries/attachments/lock_owner.sql", format!("{tenant} {principal}"))
        .fetch_one(tx.connection())
        .await?;
    let least = i64::try_from(AttachmentLimits::MIN_COUNTED_BYTES).unwrap_or_default();
    let (principal, tenant) = (principal.as_uuid(), tenant.as_uuid());
    let row = sqlx::query_file!("queries/attachments/sum_without_session.sql", principal, tenant, least)
        .fetch_one(tx.connection())
        .await?;
    Ok(u64::try_from(row.bytes).unwrap_or_default())
}

/// Inserts an attachment whose object does not exist yet.
pub async fn insert(tx: &mut Tx, new: &Attachment) -> Result<(), StoreError> {
    let (tenant, owner) = (new.owner.tenant.as_uuid(), new.owner.principal.as_uuid());
    let size_bytes = i64::try_from(new.size_bytes).unwrap_or(i64::MAX);
    let (id, mime_type) = (new.id.as_uuid(), new.image_type.as_str());
    sqlx::query_file!("queries/attachments/insert.sql", id, tenant, owner, mime_type, size_bytes)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Records that the object is complete. Returns `false` if the row is being removed.
pub async fn mark_stored(store: &Store, id: AttachmentId) -> Result<bool, StoreError> {
    let done =
        sqlx::query_file!("queries/attachments/mark_stored.sql", id.as_uuid()).execute(&store.pool).await?;
    Ok(done.rows_affected() == 1)
}

/// Returns an attachment whose object is complete.
pub async fn find(store: &Store, id: AttachmentId) -> Result<Option<Attachment>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/attachments/find.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_attachment).transpose()
}

/// Returns an attachment that the session of a run uses.
pub async fn find_of_run(
    store: &Store,
    run: RunId,
    id: AttachmentId,
) -> Result<Option<Attachment>, StoreError> {
    let (id, run) = (id.as_uuid(), run.as_uuid());
    let row = sqlx::query_file_as!(Row, "queries/attachments/find_of_run.sql", id, run)
        .fetch_optional(&store.pool)
        .await?;
    row.map(Row::into_attachment).transpose()
}

/// Records that a session uses an attachment. Repeating it changes nothing. Returns `false` if it is gone.
pub async fn add_session(tx: &mut Tx, id: AttachmentId, session: SessionId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/attachments/add_session.sql", id.as_uuid(), session.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.is_some())
}

/// Claims attachments that are to be removed. Nobody finds them any more.
pub async fn begin_removal(
    store: &Store,
    ages: RemovalAges,
    at_most: u32,
) -> Result<Vec<(TenantId, AttachmentId)>, StoreError> {
    let rows = sqlx::query_file!(
        "queries/attachments/begin_removal.sql",
        ages.unreferenced.as_secs_f64(),
        ages.unfinished_upload.as_secs_f64(),
        ages.unfinished_removal.as_secs_f64(),
        i64::from(at_most)
    )
    .fetch_all(&store.pool)
    .await?;
    let claimed = rows.into_iter();
    Ok(claimed.map(|row| (TenantId::from_uuid(row.tenant), AttachmentId::from_uuid(row.id))).collect())
}

/// Deletes rows whose objects are gone.
pub async fn delete(store: &Store, ids: &[AttachmentId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    sqlx::query_file!("queries/attachments/delete.sql", &ids).execute(&store.pool).await?;
    Ok(())
}
