//! Audit logs: pages and live streams.

mod entry;
mod events;
mod follow;

use guildhall_domain::access::audit_checkpoint::AuditLog;
use guildhall_protocol::rest::access::audit::AuditPublicKeyView;
use reqwest::Method;
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
    /// Reads a page of at most 500 entries after a sequence number; 0 is the beginning. The log of the installation
    /// requires an operator.
    pub async fn audit_page(
        &self,
        log: impl Into<AuditLog>,
        after_seq: i64,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        self.audit_page_at(log.into(), [("afterSeq", after_seq), ("limit", i64::from(limit))]).await
    }

    /// Reads a page of at most 500 entries that starts `from_end` entries before the end; 0 returns the end position.
    pub async fn audit_page_from_end(
        &self,
        log: impl Into<AuditLog>,
        from_end: u32,
        limit: u32,
    ) -> Result<AuditPage, ClientError> {
        let query = [("fromEnd", i64::from(from_end)), ("limit", i64::from(limit))];
        self.audit_page_at(log.into(), query).await
    }

    async fn audit_page_at(&self, log: AuditLog, query: [(&str, i64); 2]) -> Result<AuditPage, ClientError> {
        let segments = log_segments(log);
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let page: RawPage = self.call(self.query(&segments, &query)).await?;
        let entries = page.entries.into_iter().map(AuditEntry::parse).collect::<Result<_, _>>();
        let entries = entries.map_err(|error| self.parse_error(&error))?;
        Ok(AuditPage { entries, next_after_seq: page.next_after_seq })
    }

    /// Returns a stream of all entries after a sequence number, each once. It connects on first use.
    #[must_use]
    pub fn audit_follow(&self, log: impl Into<AuditLog>, after_seq: i64) -> AuditFollower {
        AuditFollower::new(self.clone(), log.into(), after_seq)
    }

    /// Returns the key that verifies the checkpoints of audit logs.
    pub async fn audit_public_key(&self) -> Result<AuditPublicKeyView, ClientError> {
        self.call(self.request(Method::GET, &["audit", "public-key"])).await
    }
}

/// Returns the path of a log, below the prefix of the API.
fn log_segments(log: AuditLog) -> Vec<String> {
    match log {
        AuditLog::Installation => vec!["audit".to_owned()],
        AuditLog::Tenant(tenant) => vec!["tenants".to_owned(), tenant.to_string(), "audit".to_owned()],
    }
}
