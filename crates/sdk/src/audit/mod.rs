//! Audit logs: pages and live streams.

mod entry;
mod events;
mod follow;

use guildhall_domain::ids::TenantId;
use serde::Deserialize;
use serde_json::value::RawValue;

pub use entry::AuditEntry;
pub use follow::{AuditFollower, AuditStreamItem};

use crate::{Client, ClientError};

/// A page of audit entries, in order.
#[derive(Debug, Clone)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// The `after_seq` of the next page.
    pub next_after_seq: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPage {
    entries: Vec<Box<RawValue>>,
    next_after_seq: i64,
}

impl Client {
    /// Reads a page of at most 500 entries after a sequence number; 0 is the beginning.
    pub async fn audit_page(
        &self,
        tenant: TenantId,
        after_seq: i64,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        let query = [("afterSeq", after_seq), ("limit", i64::from(limit))];
        self.audit_page_at(&["tenants", &tenant.to_string(), "audit"], query).await
    }

    /// Reads a page of at most 500 entries that starts `from_end` entries before the end; 0 returns the end position.
    pub async fn audit_page_from_end(
        &self,
        tenant: TenantId,
        from_end: u32,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        let query = [("fromEnd", i64::from(from_end)), ("limit", i64::from(limit))];
        self.audit_page_at(&["tenants", &tenant.to_string(), "audit"], query).await
    }

    /// Reads a page of the installation's audit log. Requires an operator.
    pub async fn installation_audit_page(
        &self,
        after_seq: i64,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        self.audit_page_at(&["audit"], [("afterSeq", after_seq), ("limit", i64::from(limit))]).await
    }

    /// Reads the end of the installation's audit log. Requires an operator.
    pub async fn installation_audit_page_from_end(
        &self,
        from_end: u32,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        self.audit_page_at(&["audit"], [("fromEnd", i64::from(from_end)), ("limit", i64::from(limit))]).await
    }

    async fn audit_page_at(
        &self,
        segments: &[&str],
        query: [(&str, i64); 2],
    ) -> Result<AuditPage, ClientError> {
        let page: RawPage = self.call(self.query(segments, &query)).await?;
        let entries = page.entries.into_iter().map(AuditEntry::parse).collect::<Result<_, _>>();
        let entries = entries.map_err(|error| self.parse_error(&error))?;
        Ok(AuditPage { entries, next_after_seq: page.next_after_seq })
    }

    /// Returns a stream of all entries after a sequence number, each once. It connects on first use.
    #[must_use]
    pub fn audit_follow(&self, tenant: TenantId, after_seq: i64) -> AuditFollower {
        AuditFollower::new(self.clone(), tenant, after_seq)
    }
}
