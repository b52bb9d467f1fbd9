//! The hashes that seal an audit log, and the rule by which a file is held against them.
//!
//! An entry's `bodyHash` is the SHA-256 of its body as compact JSON with sorted keys. Its `hash` is the SHA-256 of the
//! hash before it (64 zeros before the first), a line feed, and the compact JSON of action, bodyHash, id, recordedAt and
//! seq. An erased body is null: its hash still stands, and the chain with it.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The number of a log's first entry.
const FIRST: i64 = 1;

/// The form of entries that this rule is for.
const FORM: u32 = 1;

/// An entry as a file has it. Nothing else may stand in it: what no hash covers proves nothing, and a reader could take
/// it for sealed.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'a> {
    v: u32,
    seq: i64,
    id: String,
    action: String,
    #[serde(borrow)]
    body: &'a RawValue,
    recorded_at: String,
    body_hash: Option<String>,
    hash: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) proved: u64,
    /// Entries at the end whose hash is still to come.
    pub(super) unsealed: u64,
    /// Whether the file begins within a log: its first hash is then taken on trust.
    pub(super) begins_within: bool,
    /// The last hash that is proved.
    pub(super) head: Option<String>,
}

/// Checks lines in their order.
#[derive(Debug, Default)]
pub(super) struct Checker {
    verdict: Verdict,
    last_seq: Option<i64>,
}

impl Checker {
    /// Takes the next line, without its end. Returns what is wrong with it.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
        if text.trim() != text {
            return Err("spaces surround the entry".to_owned());
        }
        let entry: Line<'_> =
            serde_json::from_str(text).map_err(|error| format!("not an audit entry: {error}"))?;
        if entry.v != FORM {
            return Err(format!("its form is {}, and this version knows only form {FORM}", entry.v));
        }
        self.check_number(entry.seq)?;
        match (&entry.body_hash, &entry.hash) {
            (Some(body_hash), Some(hash)) => {
                check_body(entry.body.get(), body_hash)?;
                self.check_chain(&entry, body_hash, hash)?;
            }
            (None, Some(_)) => return Err("its hash is there, but not its bodyHash".to_owned()),
            (body_hash, None) => {
                if let Some(body_hash) = body_hash {
                    check_body(entry.body.get(), body_hash)?;
                }
                self.verdict.unsealed += 1;
            }
        }
        self.last_seq = Some(entry.seq);
        Ok(())
    }

    pub(super) fn end(self) -> Verdict {
        self.verdict
    }

    fn check_number(&mut self, seq: i64) -> Result<(), String> {
        match self.last_seq {
            Some(last) if last.checked_add(1) != Some(seq) => Err(format!(
                "its number is {seq}, but {} would follow the line before",
                last.saturating_add(1)
            )),
            None if seq < FIRST => Err(format!("its number is {seq}; numbers begin with {FIRST}")),
            Some(_) | None => Ok(()),
        }
    }

    fn check_chain(&mut self, entry: &Line<'_>, body_hash: &str, hash: &str) -> Result<(), String> {
        if self.verdict.unsealed > 0 {
            return Err("it is sealed, but an entry before it is not".to_owned());
        }
        let before_the_first = "0".repeat(64);
        let previous = match (&self.verdict.head, self.last_seq) {
            (Some(head), _) => head.clone(),
            (None, None) if entry.seq == FIRST => before_the_first,
            (None, _) => {
                check_hex(hash)?;
                if hash == entry_hash(&before_the_first, &Line { seq: FIRST, ..entry.clone() }, body_hash) {
                    return Err(format!("its number is {}, but it was sealed as number {FIRST}", entry.seq));
                }
                self.verdict.begins_within = true;
                self.verdict.head = Some(hash.to_owned());
                return Ok(());
            }
        };
        if hash != entry_hash(&previous, entry, body_hash) {
            return Err("its hash does not fit it and the line before".to_owned());
        }
        self.verdict.proved += 1;
        self.verdict.head = Some(hash.to_owned());
        Ok(())
    }
}

fn check_hex(hash: &str) -> Result<(), String> {
    let good = hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if good { Ok(()) } else { Err("its hash is not 64 hexadecimal digits".to_owned()) }
}

fn check_body(body: &str, body_hash: &str) -> Result<(), String> {
    // An erased entry: that it once had a body of this hash is all that is left.
    if body == "null" {
        return check_hex(body_hash);
    }
    if sha256(body) == body_hash {
        return Ok(());
    }
    let sorted = serde_json::from_str::<serde_json::Value>(body).map(|value| value.to_string());
    if sorted.is_ok_and(|sorted| sha256(&sorted) == body_hash) {
        return Err(
            "its body says the same but is written otherwise; verify the file as it was exported".to_owned()
        );
    }
    Err("its body does not fit its bodyHash".to_owned())
}

fn entry_hash(previous: &str, entry: &Line<'_>, body_hash: &str) -> String {
    // The keys of a JSON value are sorted.
    let sealed = json!({
        "action": entry.action,
        "bodyHash": body_hash,
        "id": entry.id,
        "recordedAt": entry.recorded_at,
        "seq": entry.seq,
    });
    sha256(&format!("{previous}\n{sealed}"))
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
