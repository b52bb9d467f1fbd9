//! Verification of an exported audit log against its hash chain.
//!
//! [`guildhall_domain::access::audit_chain`] defines the hashes. This module accepts exactly one text form for each
//! entry, so that a change of any byte in the file is detected.

use guildhall_domain::access::audit_chain::{ChainLink, ChainTip, Digest, body_hash};
use guildhall_domain::access::audit_checkpoint::{
    AuditKeyId, AuditLog, Checkpoint, CheckpointSignature, CheckpointStatement,
};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Seq;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Sequence number of the first entry of a log.
const FIRST_SEQ: Seq = Seq::ZERO.next();

/// The body of an entry whose body was erased; only its hash is left.
const ERASED: &str = "null";

/// Version of the entry format.
const FORMAT_VERSION: u32 = 1;

/// One entry in the file. Unknown fields are rejected: no hash covers them, but a reader could believe so.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EntryLine<'a> {
    v: u32,
    // Parsed to reject other values. Exports of older servers do not have it.
    #[expect(dead_code, reason = "only parsed, to reject other values")]
    #[serde(default, rename = "type")]
    kind: Option<EntryKind>,
    seq: i64,
    id: String,
    action: String,
    #[serde(borrow)]
    body: &'a RawValue,
    recorded_at: String,
    body_hash: Option<String>,
    hash: Option<String>,
    checkpoint: Option<CheckpointFields>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CheckpointFields {
    log: String,
    signed_at: String,
    key_id: String,
    signature: String,
}

/// A line that fits the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerifiedEntry {
    pub(super) seq: Seq,
    /// None if it is not sealed yet.
    pub(super) hash: Option<Digest>,
    /// The signature is not verified.
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) is_erased: bool,
}

/// The only allowed value of `type`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    Entry,
}

/// Result of the verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VerificationReport {
    /// Entries with a valid hash.
    pub(super) proved: u64,
    /// Entries at the end that have no hash yet.
    pub(super) unsealed: u64,
    /// Entries whose body was erased.
    pub(super) erased: u64,
    /// Whether the file starts after the first entry of the log. Then its first hash cannot be checked.
    pub(super) begins_within: bool,
    /// The last valid hash.
    pub(super) head: Option<String>,
}

/// Verifies the lines of a file, one after the other.
#[derive(Debug, Default)]
pub(super) struct ChainVerifier {
    report: VerificationReport,
    last_seq: Option<Seq>,
    head: Option<Digest>,
}

impl ChainVerifier {
    /// Verifies the next line, given without its line feed. The error says what is wrong with it.
    pub(super) fn verify_line(&mut self, line: &[u8]) -> Result<VerifiedEntry, String> {
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        if text.trim() != text {
            return Err("leading or trailing spaces".to_owned());
        }
        let entry: EntryLine<'_> =
            serde_json::from_str(text).map_err(|error| format!("not an audit entry: {error}"))?;
        if entry.v != FORMAT_VERSION {
            return Err(format!("format version {} is not supported; expected {FORMAT_VERSION}", entry.v));
        }
        let seq = self.check_seq(entry.seq)?;
        let body_hash = entry.body_hash.as_deref().map(|hash| parse_digest("bodyHash", hash)).transpose()?;
        if let Some(body_hash) = body_hash {
            check_body(entry.body.get(), body_hash)?;
        }
        let hash = entry.hash.as_deref().map(|hash| parse_digest("hash", hash)).transpose()?;
        match (body_hash, hash) {
            (Some(body_hash), Some(hash)) => self.check_chain(parse_link(&entry, seq, body_hash)?, hash)?,
            (None, Some(_)) => return Err("it has a hash but no bodyHash".to_owned()),
            (Some(_) | None, None) => self.report.unsealed += 1,
        }
        let is_erased = entry.body.get() == ERASED;
        self.report.erased += u64::from(is_erased);
        let checkpoint = entry.checkpoint.map(|fields| parse_checkpoint(&fields, seq, hash)).transpose()?;
        self.last_seq = Some(seq);
        Ok(VerifiedEntry { seq, hash, checkpoint, is_erased })
    }

    pub(super) fn finish(self) -> VerificationReport {
        VerificationReport { head: self.head.map(|head| head.to_string()), ..self.report }
    }

    fn check_seq(&self, number: i64) -> Result<Seq, String> {
        let seq = Seq::new(number).filter(|seq| *seq >= FIRST_SEQ);
        let seq = seq
            .ok_or_else(|| format!("sequence number {number} is not valid; the first one is {FIRST_SEQ}"))?;
        match self.last_seq {
            Some(last) if last.next() != seq => {
                Err(format!("sequence number is {seq}, expected {}", last.next()))
            }
            Some(_) | None => Ok(seq),
        }
    }

    fn check_chain(&mut self, link: ChainLink<'_>, hash: Digest) -> Result<(), String> {
        if self.report.unsealed > 0 {
            return Err("it has a hash, but an earlier entry has none".to_owned());
        }
        let previous = match (self.head, self.last_seq) {
            (Some(head), _) => head,
            (None, None) if link.seq == FIRST_SEQ => Digest::ZERO,
            (None, _) => {
                if hash == (ChainLink { seq: FIRST_SEQ, ..link }).hash(Digest::ZERO) {
                    return Err(format!(
                        "sequence number is {}, but its hash is that of number {FIRST_SEQ}",
                        link.seq
                    ));
                }
                self.report.begins_within = true;
                self.head = Some(hash);
                return Ok(());
            }
        };
        if hash != link.hash(previous) {
            return Err("hash mismatch: it or an earlier line was changed".to_owned());
        }
        self.report.proved += 1;
        self.head = Some(hash);
        Ok(())
    }
}

/// Parses the fields that the hash covers. Id and time must have the canonical form in which the server hashes them;
/// another form of the same value would have the same hash.
fn parse_link<'a>(entry: &'a EntryLine<'_>, seq: Seq, body_hash: Digest) -> Result<ChainLink<'a>, String> {
    let id: Option<EntryId> = entry.id.parse().ok();
    let id = id.filter(|id| id.to_string() == entry.id).ok_or("invalid id")?;
    let recorded_at: Option<Timestamp> = entry.recorded_at.parse().ok();
    let recorded_at = recorded_at.filter(|at| at.to_string() == entry.recorded_at);
    let recorded_at = recorded_at.ok_or("recordedAt is not in canonical form")?;
    Ok(ChainLink { seq, id, action: &entry.action, recorded_at, body_hash })
}

fn parse_checkpoint(fields: &CheckpointFields, seq: Seq, hash: Option<Digest>) -> Result<Checkpoint, String> {
    let hash = hash.ok_or("it has a checkpoint but no hash")?;
    let signed_at: Option<Timestamp> = fields.signed_at.parse().ok();
    let signed_at = signed_at.filter(|at| at.to_string() == fields.signed_at);
    let signed_at = signed_at.ok_or("signedAt is not in canonical form")?;
    let log = fields.log.parse::<AuditLog>().map_err(|error| error.to_string())?;
    let key = fields.key_id.parse::<AuditKeyId>().map_err(|error| format!("keyId: {error}"))?;
    let signature = fields.signature.parse::<CheckpointSignature>();
    let signature = signature.map_err(|error| format!("signature: {error}"))?;
    let statement = CheckpointStatement { log, tip: ChainTip { seq, hash }, signed_at };
    Ok(Checkpoint { statement, key, signature })
}

fn parse_digest(field: &str, text: &str) -> Result<Digest, String> {
    text.parse().map_err(|_| format!("{field} is not 64 hexadecimal digits"))
}

fn check_body(body: &str, expected: Digest) -> Result<(), String> {
    if body == ERASED {
        return Ok(());
    }
    let value: Value = serde_json::from_str(body).map_err(|_| "the body is not JSON".to_owned())?;
    if body_hash(&value) != expected {
        return Err("bodyHash mismatch: the body was changed".to_owned());
    }
    let canonical = value.to_string();
    if canonical != body {
        return Err("the body is not in canonical form: it was formatted again; verify the original export"
            .to_owned());
    }
    Ok(())
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
