//! Verification of an export against what is outside the database: the public key and the anchors.

use std::collections::{BTreeMap, HashMap};

use guildhall_domain::access::audit_chain::Digest;
use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint, InvalidAnchor};
use guildhall_domain::journal::Seq;
use guildhall_identity::audit_key::AuditPublicKey;

use super::chain::VerifiedEntry;

/// What an export is compared with.
#[derive(Debug, Clone, Default)]
pub(super) struct TrustSources {
    /// Keys of which one signed each checkpoint. Empty: signatures are not verified.
    pub(super) keys: Vec<AuditPublicKey>,
    /// `None`: the export is not compared with anchors.
    pub(super) anchors: Option<AnchorIndex>,
}

/// The anchors of all logs in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct AnchorIndex {
    by_log: HashMap<AuditLog, Vec<Checkpoint>>,
    /// Lines that a crash cut off. A later anchor covers the same entries.
    pub(super) incomplete_lines: u64,
}

impl AnchorIndex {
    /// Parses an anchor file. The error names the line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut anchors = Self::default();
        for (line, number) in text.lines().zip(1u64..).filter(|(line, _)| !line.is_empty()) {
            match Checkpoint::from_anchor_line(line) {
                Ok(checkpoint) => {
                    anchors.by_log.entry(checkpoint.statement.log).or_default().push(checkpoint)
                }
                Err(InvalidAnchor::Incomplete) => anchors.incomplete_lines += 1,
                Err(error @ InvalidAnchor::Malformed(_)) => {
                    return Err(format!("line {number} of the anchor file: {error}"));
                }
            }
        }
        Ok(anchors)
    }
}

/// What was verified, beyond the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TrustReport {
    pub(super) log: Option<AuditLog>,
    /// The last entry that a valid signature covers.
    pub(super) signed_to: Option<Seq>,
    /// The last entry that an anchor covers.
    pub(super) anchored_to: Option<Seq>,
}

/// Compares the entries of an export, one after the other.
#[derive(Debug)]
pub(super) struct TrustVerifier {
    sources: TrustSources,
    log: Option<AuditLog>,
    first_seq: Option<Seq>,
    last_seq: Option<Seq>,
    sealed_to: Option<Seq>,
    signed_to: Option<Seq>,
    /// The hashes at the numbers that any log has an anchor for: the log is known only at its first checkpoint.
    anchored_hashes: BTreeMap<Seq, Option<Digest>>,
}

impl TrustVerifier {
    pub(super) fn new(sources: TrustSources) -> Self {
        let anchors = sources.anchors.iter().flat_map(|anchors| anchors.by_log.values().flatten());
        let anchored_hashes = anchors.map(|anchor| (anchor.statement.tip.seq, None)).collect();
        Self {
            sources,
            log: None,
            first_seq: None,
            last_seq: None,
            sealed_to: None,
            signed_to: None,
            anchored_hashes,
        }
    }

    /// Adds the next entry. The error says what is wrong with it.
    pub(super) fn add(&mut self, entry: &VerifiedEntry) -> Result<(), String> {
        self.first_seq = self.first_seq.or(Some(entry.seq));
        self.last_seq = Some(entry.seq);
        if entry.hash.is_some() {
            self.sealed_to = Some(entry.seq);
        }
        if let Some(hash) = self.anchored_hashes.get_mut(&entry.seq) {
            *hash = entry.hash;
        }
        entry.checkpoint.as_ref().map_or(Ok(()), |checkpoint| self.add_checkpoint(checkpoint))
    }

    fn add_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let log = checkpoint.statement.log;
        if *self.log.get_or_insert(log) != log {
            return Err(format!("its checkpoint is of the log {log}, but an earlier one is of another log"));
        }
        if !self.sources.keys.is_empty() {
            self.sources.verify_signature(checkpoint)?;
            self.signed_to = Some(checkpoint.statement.tip.seq);
        }
        Ok(())
    }

    /// Checks that the end of the log is signed, and that every anchor matches.
    pub(super) fn finish(self) -> Result<TrustReport, String> {
        if !self.sources.keys.is_empty() && self.signed_to != self.sealed_to {
            return Err(match (self.signed_to, self.sealed_to) {
                (Some(signed), Some(sealed)) => format!(
                    "entries {} to {sealed} are not signed: they were changed, or their checkpoint was removed",
                    signed.next()
                ),
                (None, Some(_)) | (_, None) => "no entry is signed".to_owned(),
            });
        }
        let anchored_to = match &self.sources.anchors {
            Some(anchors) => Some(self.compare_anchors(anchors)?),
            None => None,
        };
        Ok(TrustReport { log: self.log, signed_to: self.signed_to, anchored_to })
    }

    /// Returns the last anchored entry.
    fn compare_anchors(&self, anchors: &AnchorIndex) -> Result<Seq, String> {
        let log = self.log.ok_or("no entry has a checkpoint: the file does not say which log it is")?;
        let (first, last) = (self.first_seq.unwrap_or_default(), self.last_seq.unwrap_or_default());
        let mut anchored_to = None;
        for anchor in anchors.by_log.get(&log).into_iter().flatten() {
            let tip = anchor.statement.tip;
            if !self.sources.keys.is_empty() {
                let verified = self.sources.verify_signature(anchor);
                verified.map_err(|error| format!("the anchor at entry {}: {error}", tip.seq))?;
            }
            if tip.seq > last {
                return Err(format!(
                    "the log ends at entry {last}, but was anchored at {}: entries are missing at the end",
                    tip.seq
                ));
            }
            // Before the start of a partial export.
            if tip.seq < first {
                continue;
            }
            if self.anchored_hashes.get(&tip.seq).copied().flatten() != Some(tip.hash) {
                return Err(format!(
                    "entry {} does not match its anchor: it or an earlier entry was changed",
                    tip.seq
                ));
            }
            anchored_to = anchored_to.max(Some(tip.seq));
        }
        anchored_to.ok_or_else(|| format!("the anchor file has no anchor of the log {log} in this range"))
    }
}

impl TrustSources {
    fn verify_signature(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        let key = self.keys.iter().find(|key| key.id() == checkpoint.key);
        let key = key.ok_or_else(|| {
            format!("it is signed with the key {}, which was not given with --public-key", checkpoint.key)
        })?;
        if key.verifies(checkpoint) { Ok(()) } else { Err("its signature is not valid".to_owned()) }
    }
}
