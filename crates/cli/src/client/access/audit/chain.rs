//! A file held against the hashes that seal an audit log.
//!
//! What is hashed, and how, is the rule of [`guildhall_domain::access::audit_chain`]. Here is what a file may look like: one text
//! for each entry and no other, so that no byte of it can be changed without a hash telling.

use guildhall_domain::access::audit_chain::{Digest, Link, body_hash};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Seq;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The number of a log's first entry.
const FIRST: Seq = Seq::ZERO.next();

/// The form of entries that this rule is for.
const FORM: u32 = 1;

/// An entry as a file has it. Nothing else may stand in it: what no hash covers proves nothing, and a reader could take
/// it for sealed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'a> {
    v: u32,
    // Read to be refused where it is another word; exports of older servers have none.
    #[expect(dead_code, reason = "that it can be read is all that is asked of it")]
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
}

/// The one kind of line that a log has.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    Entry,
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
    last_seq: Option<Seq>,
    head: Option<Digest>,
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
        let seq = self.number(entry.seq)?;
        let body_hash = entry.body_hash.as_deref().map(|hash| digest("bodyHash", hash)).transpose()?;
        if let Some(body_hash) = body_hash {
            check_body(entry.body.get(), body_hash)?;
        }
        match (body_hash, &entry.hash) {
            (Some(body_hash), Some(hash)) => {
                self.check_chain(link(&entry, seq, body_hash)?, digest("hash", hash)?)?;
            }
            (None, Some(_)) => return Err("its hash is there, but not its bodyHash".to_owned()),
            (Some(_) | None, None) => self.verdict.unsealed += 1,
        }
        self.last_seq = Some(seq);
        Ok(())
    }

    pub(super) fn end(self) -> Verdict {
        Verdict { head: self.head.map(|head| head.to_string()), ..self.verdict }
    }

    fn number(&self, number: i64) -> Result<Seq, String> {
        let seq = Seq::new(number).filter(|seq| *seq >= FIRST);
        let seq = seq.ok_or_else(|| format!("its number is {number}; numbers begin with {FIRST}"))?;
        match self.last_seq {
            Some(last) if last.next() != seq => {
                Err(format!("its number is {seq}, but {} would follow the line before", last.next()))
            }
            Some(_) | None => Ok(seq),
        }
    }

    fn check_chain(&mut self, link: Link<'_>, hash: Digest) -> Result<(), String> {
        if self.verdict.unsealed > 0 {
            return Err("it is sealed, but an entry before it is not".to_owned());
        }
        let previous = match (self.head, self.last_seq) {
            (Some(head), _) => head,
            (None, None) if link.seq == FIRST => Digest::ZERO,
            (None, _) => {
                if hash == (Link { seq: FIRST, ..link }).hash(Digest::ZERO) {
                    return Err(format!("its number is {}, but it was sealed as number {FIRST}", link.seq));
                }
                self.verdict.begins_within = true;
                self.head = Some(hash);
                return Ok(());
            }
        };
        if hash != link.hash(previous) {
            return Err("its hash does not fit it and the line before".to_owned());
        }
        self.verdict.proved += 1;
        self.head = Some(hash);
        Ok(())
    }
}

/// Reads what the chain covers. The rule hashes an id and a time as a server writes them: one that is written in another
/// way would be hashed as if it were not, so it is refused.
fn link<'a>(entry: &'a Line<'_>, seq: Seq, body_hash: Digest) -> Result<Link<'a>, String> {
    let id: Option<EntryId> = entry.id.parse().ok();
    let id = id.filter(|id| id.to_string() == entry.id).ok_or("its id is not an entry's")?;
    let recorded_at: Option<Timestamp> = entry.recorded_at.parse().ok();
    let recorded_at = recorded_at.filter(|at| at.to_string() == entry.recorded_at);
    let recorded_at = recorded_at.ok_or("its recordedAt is not written as a server writes it")?;
    Ok(Link { seq, id, action: &entry.action, recorded_at, body_hash })
}

fn digest(field: &str, text: &str) -> Result<Digest, String> {
    text.parse().map_err(|_| format!("its {field} is not 64 hexadecimal digits"))
}

fn check_body(body: &str, expected: Digest) -> Result<(), String> {
    // An erased entry: that it once had a body of this hash is all that is left.
    if body == "null" {
        return Ok(());
    }
    let value: Value = serde_json::from_str(body).map_err(|_| "its body is not JSON".to_owned())?;
    if body_hash(&value) != expected {
        return Err("its body does not fit its bodyHash".to_owned());
    }
    let as_sealed = value.to_string();
    if as_sealed != body {
        return Err(
            "its body says the same but is written otherwise; verify the file as it was exported".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
