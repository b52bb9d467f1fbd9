//! Verifies entries against heads.

use guildhall_domain::identity::{LogEntry, TreeHash};
use guildhall_identity::pki::pem_to_der;
use guildhall_identity::transparency::{Frontier, entry_hash, verify_entry};
use guildhall_protocol::rest::identity::LogEntryView;
use jiff::Timestamp;

use super::head::{LogFault, VerifiedHead};

/// Computes the root hash from entries, and compares it with heads on the way.
pub(super) struct EntryVerifier<'a> {
    frontier: Frontier,
    saved: Option<&'a VerifiedHead>,
    current: &'a VerifiedHead,
}

impl<'a> EntryVerifier<'a> {
    pub(super) fn new(saved: Option<&'a VerifiedHead>, current: &'a VerifiedHead) -> Self {
        Self { frontier: Frontier::empty(), saved, current }
    }

    /// Returns the index of the next entry. None: all entries of the head were read.
    pub(super) fn next_index(&self) -> Option<u64> {
        (self.frontier.size() < self.current.size()).then_some(self.frontier.size())
    }

    /// Adds the next entries. Those after the head are ignored.
    pub(super) fn add(&mut self, page: &[LogEntryView]) -> Result<(), LogFault> {
        for view in page {
            let Some(index) = self.next_index() else { return Ok(()) };
            let hash = verify_view(view, index).map_err(|reason| LogFault::Entry { index, reason })?;
            self.frontier.append(hash, |_, _| {});
            if let Some(saved) = self.saved.filter(|saved| saved.size() == self.frontier.size()) {
                self.compare(saved, "saved")?;
            }
        }
        if page.is_empty() {
            let (expected, found) = (self.current.size(), self.frontier.size());
            return Err(LogFault::MissingEntries { expected, found });
        }
        Ok(())
    }

    /// Compares the root of all entries with the current head.
    pub(super) fn finish(self) -> Result<(), LogFault> {
        self.compare(self.current, "current")
    }

    fn compare(&self, head: &VerifiedHead, which: &'static str) -> Result<(), LogFault> {
        if self.frontier.root() == head.signed.head.root {
            Ok(())
        } else {
            Err(LogFault::OtherEntries { size: head.size(), which })
        }
    }
}

/// Verifies that an entry fits its certificate. Returns the hash of its leaf.
fn verify_view(view: &LogEntryView, index: u64) -> Result<TreeHash, String> {
    if view.log_id != index {
        return Err(format!("the server lists it as entry {}", view.log_id));
    }
    let text = |error: &dyn std::error::Error| error.to_string();
    let entry = LogEntry {
        index,
        logged_at: Timestamp::from_millisecond(view.timestamp).map_err(|error| text(&error))?,
        serial: view.serial.parse().map_err(|error| text(&error))?,
        aid: view.aid.parse().map_err(|error| text(&error))?,
        der: pem_to_der(&view.certificate).map_err(|error| text(&error))?,
        fingerprint: guildhall_domain::identity::CertificateFingerprint::new(
            *view.cert_sha256.parse::<TreeHash>().map_err(|_| "invalid cert_sha256")?.as_bytes(),
        ),
    };
    verify_entry(&entry).map_err(|error| text(&error))?;
    let hash = entry_hash(entry.logged_at, &entry.der);
    if hash.to_string() != view.leaf_hash {
        return Err("leaf_hash is not the one of the certificate and the time".to_owned());
    }
    if entry.aid.issuer().as_str() != view.issuer {
        return Err("the issuer is not the one of the AID".to_owned());
    }
    Ok(hash)
}
