//! Audit entries.

use guildhall_protocol::rest::access::audit::AuditEntryView;
use serde_json::value::RawValue;

/// An audit entry, parsed and as raw text. Hash or forward the text: parsing drops fields that this client does not
/// know.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub view: AuditEntryView,
    raw: Box<RawValue>,
}

impl AuditEntry {
    /// Returns the entry exactly as the server sent it, on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    pub(super) fn parse(raw: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { view: serde_json::from_str(raw.get())?, raw })
    }
}
