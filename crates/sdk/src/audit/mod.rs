//! Audit logs: page by page, or as they grow.

mod events;
mod follow;

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::access::audit::AuditEntryView;
use serde::Deserialize;
use serde_json::value::RawValue;

pub use follow::{AuditFollow, Followed};

use crate::{Client, ClientError};

/// An entry, read and as it was sent. What is hashed or handed on is the text: reading it may lose what this client
/// does not know.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub view: AuditEntryView,
    raw: Box<RawValue>,
}

impl AuditEntry {
    /// Returns the entry as the server wrote it, on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    fn read(raw: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { view: serde_json::from_str(raw.get())?, raw })
    }
}

/// Some entries, in order.
#[derive(Debug, Clone)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// The number to go on after.
    pub next_after_seq: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPage {
    entries: Vec<Box<RawValue>>,
    next_after_seq: i64,
}

impl Client {
    /// Reads entries after a number; 0 is the beginning, and 500 is the most that a page holds.
    pub async fn audit_page(
        &self,
        tenant: TenantId,
        after_seq: i64,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        let query = [("afterSeq", after_seq), ("limit", i64::from(limit))];
        self.page_of(&["tenants", &tenant.to_string(), "audit"], query).await
    }

    /// Reads entries from so many before the end on; 500 is the most that a page holds, and 0 tells where the end is.
    pub async fn audit_page_from_end(
        &self,
        tenant: TenantId,
        from_end: u32,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        let query = [("fromEnd", i64::from(from_end)), ("limit", i64::from(limit))];
        self.page_of(&["tenants", &tenant.to_string(), "audit"], query).await
    }

    /// Reads a page of the installation's own log, for those who operate it.
    pub async fn installation_audit_page(
        &self,
        after_seq: i64,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        self.page_of(&["audit"], [("afterSeq", after_seq), ("limit", i64::from(limit))]).await
    }

    /// Reads the end of the installation's own log, for those who operate it.
    pub async fn installation_audit_page_from_end(
        &self,
        from_end: u32,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        self.page_of(&["audit"], [("fromEnd", i64::from(from_end)), ("limit", i64::from(limit))]).await
    }

    async fn page_of(&self, segments: &[&str], query: [(&str, i64); 2]) -> Result<AuditPage, ClientError> {
        let page: RawPage = self.call(self.query(segments, &query)).await?;
        let entries = page.entries.into_iter().map(AuditEntry::read).collect::<Result<_, _>>();
        let entries = entries.map_err(|error| self.not_understood(&error))?;
        Ok(AuditPage { entries, next_after_seq: page.next_after_seq })
    }

    /// Follows a log: yields every entry after a number, once, and waits for more. Opens nothing yet.
    #[must_use]
    pub fn audit_follow(&self, tenant: TenantId, after_seq: i64) -> AuditFollow {
        AuditFollow::new(self.clone(), tenant, after_seq)
    }
}
