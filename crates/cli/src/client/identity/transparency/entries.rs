//! Verifies entries against heads.

use guildhall_domain::identity::{CertificateFingerprint, LoggedCertificate, LoggedManifest, TreeHash};
use guildhall_identity::pki::pem_to_der;
use guildhall_identity::transparency::{Frontier, certificate_leaf, manifest_leaf, verify_certificate};
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

/// Verifies that an entry says what its leaf contains. Returns the hash of the leaf.
fn verify_view(view: &LogEntryView, index: u64) -> Result<TreeHash, String> {
    if view.log_id != index {
        return Err(format!("the server lists it as entry {}", view.log_id));
    }
    let logged_at = Timestamp::from_millisecond(view.timestamp).map_err(text)?;
    let leaf = match view.entry_type.as_str() {
        LogEntryView::CERTIFICATE => {
            let logged = logged_certificate(view)?;
            verify_certificate(&logged).map_err(text)?;
            if logged.aid.issuer().as_str() != view.issuer {
                return Err("the issuer is not the one of the AID".to_owned());
            }
            certificate_leaf(logged_at, &logged.der)
        }
        LogEntryView::AGENT_MANIFEST => manifest_leaf(logged_at, &logged_manifest(view)?),
        // Without its leaf it could say anything.
        unknown => return Err(format!("unknown type {unknown:?}: use a newer guildhall")),
    };
    if leaf.to_string() != view.leaf_hash {
        return Err("leaf_hash is not the one of the entry and the time".to_owned());
    }
    Ok(leaf)
}

fn logged_certificate(view: &LogEntryView) -> Result<LoggedCertificate, String> {
    let fingerprint = required(view.cert_sha256.as_ref(), "cert_sha256")?.parse::<TreeHash>();
    let fingerprint = fingerprint.map_err(|_| "invalid cert_sha256")?;
    Ok(LoggedCertificate {
        serial: required(view.serial.as_ref(), "serial")?.parse().map_err(text)?,
        aid: required(view.aid.as_ref(), "aid")?.parse().map_err(text)?,
        der: pem_to_der(required(view.certificate.as_ref(), "certificate")?).map_err(text)?,
        fingerprint: CertificateFingerprint::new(*fingerprint.as_bytes()),
    })
}

fn logged_manifest(view: &LogEntryView) -> Result<LoggedManifest, String> {
    Ok(LoggedManifest {
        agent: required(view.agent_id.as_ref(), "agent_id")?.parse().map_err(text)?,
        version: *required(view.manifest_version.as_ref(), "manifest_version")?,
        hash: required(view.manifest_hash.as_ref(), "manifest_hash")?.parse().map_err(text)?,
    })
}

fn required<'a, T>(value: Option<&'a T>, name: &str) -> Result<&'a T, String> {
    value.ok_or_else(|| format!("{name} is missing"))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
