//! Lists approvals for readers.

use guildhall_domain::approvals::filter::{ApprovalFilter, ApprovalScope};
use guildhall_domain::ids::{ApprovalId, TenantId};
use jiff_sqlx::Timestamp;

use super::row::{ApprovalRow, StoredApproval};
use crate::{Store, StoreError};

/// Lists approvals of a tenant, newest first.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    filter: ApprovalFilter,
    before: Option<ApprovalId>,
    limit: u32,
) -> Result<Vec<StoredApproval>, StoreError> {
    let ApprovalFilter { scope, only_pending } = filter;
    let (tenant, before, limit) = (tenant.as_uuid(), before.map(ApprovalId::as_uuid), i64::from(limit));
    let rows = match scope {
        ApprovalScope::Tenant if only_pending => {
            sqlx::query_file_as!(ApprovalRow, "queries/approvals/list_pending.sql", tenant, before, limit)
                .fetch_all(&store.pool)
                .await?
        }
        ApprovalScope::Tenant => {
            sqlx::query_file_as!(ApprovalRow, "queries/approvals/list.sql", tenant, before, limit)
                .fetch_all(&store.pool)
                .await?
        }
        ApprovalScope::Session(session) => {
            let session = session.as_uuid();
            sqlx::query_file_as!(
                ApprovalRow,
                "queries/approvals/list_of_session.sql",
                tenant,
                session,
                only_pending,
                before,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
        ApprovalScope::Run(run) => {
            let run = run.as_uuid();
            sqlx::query_file_as!(
                ApprovalRow,
                "queries/approvals/list_of_run.sql",
                tenant,
                run,
                only_pending,
                before,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
    };
    rows.into_iter().map(ApprovalRow::into_approval).collect()
}
