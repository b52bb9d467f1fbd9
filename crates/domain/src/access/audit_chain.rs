//! Hash chain of the audit log: the hash of each entry covers the entry and the previous hash, so that a sealed entry
//! cannot be changed, removed or inserted undetected.
//!
//! The chain covers the hash of an entry's body, not the body itself. A body can be erased and the chain stays valid.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::ids::EntryId;
use crate::journal::Seq;

/// A SHA-256 hash. Text form: 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The hash before the first entry.
    pub const ZERO: Self = Self([0; 32]);

    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn hash(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A malformed SHA-256 hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid SHA-256 hash: expected 64 lower-case hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidDigest)?;
        let digest = Self(bytes);
        if digest.to_string() == text { Ok(digest) } else { Err(InvalidDigest) }
    }
}

/// Returns the hash of a body: of its compact JSON with sorted keys, regardless of its stored formatting.
#[must_use]
pub fn body_hash(body: &Value) -> Digest {
    Digest::hash(&body.to_string())
}

/// The parts of an entry that the chain covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLink<'a> {
    pub seq: Seq,
    pub id: EntryId,
    pub action: &'a str,
    /// The stored time. PostgreSQL rounds it to microseconds.
    pub recorded_at: Timestamp,
    pub body_hash: Digest,
}

impl ChainLink<'_> {
    /// Returns the chain hash of this entry.
    #[must_use]
    pub fn hash(&self, previous: Digest) -> Digest {
        let entry = json!({
            "action": self.action,
            "bodyHash": self.body_hash.to_string(),
            "id": self.id.to_string(),
            "recordedAt": self.recorded_at.to_string(),
            "seq": self.seq.get(),
        });
        Digest::hash(&format!("{previous}\n{entry}"))
    }
}

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainTip {
    pub seq: Seq,
    pub hash: Digest,
}

impl ChainTip {
    /// The start of every chain.
    pub const START: Self = Self { seq: Seq::ZERO, hash: Digest::ZERO };
}

/// The hashes of a sealed entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntrySeal {
    pub seq: Seq,
    pub body_hash: Digest,
    pub hash: Digest,
}

/// An entry that is not sealed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsealedEntry<'a> {
    pub seq: Seq,
    pub id: EntryId,
    pub action: &'a str,
    pub recorded_at: Timestamp,
    /// JSON. `None` if it was erased before sealing; it is then sealed as `null`.
    pub body: Option<&'a str>,
}

/// Why a log cannot be sealed: the stored log is not intact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditSealError {
    #[error("entry {0} is missing")]
    Missing(Seq),
    #[error("entry {0} is not JSON")]
    NotJson(Seq),
    #[error(
        "the log does not match its anchor at entry {0}: it was changed, or the database was restored from an older backup"
    )]
    AnchorMismatch(Seq),
}

/// Seals the entries after a tip, in order.
pub fn seal<'a>(
    tip: ChainTip,
    entries: impl IntoIterator<Item = UnsealedEntry<'a>>,
) -> Result<Vec<EntrySeal>, AuditSealError> {
    let mut tip = tip;
    let mut seals = Vec::new();
    for entry in entries {
        let UnsealedEntry { seq, id, action, recorded_at, body } = entry;
        if seq != tip.seq.next() {
            return Err(AuditSealError::Missing(tip.seq.next()));
        }
        let body =
            body.map_or(Ok(Value::Null), serde_json::from_str).map_err(|_| AuditSealError::NotJson(seq))?;
        let body_hash = body_hash(&body);
        let hash = ChainLink { seq, id, action, recorded_at, body_hash }.hash(tip.hash);
        seals.push(EntrySeal { seq, body_hash, hash });
        tip = ChainTip { seq, hash };
    }
    Ok(seals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct StoredEntry {
        id: EntryId,
        action: String,
        recorded_at: Timestamp,
        body: Value,
    }

    fn stored_entry(id: u128, action: &str, recorded_at: &str, body: Value) -> StoredEntry {
        let (id, recorded_at) =
            (EntryId::from_uuid(Uuid::from_u128(id)), recorded_at.parse().expect("a time"));
        StoredEntry { id, action: action.to_owned(), recorded_at, body }
    }

    fn seq(index: usize) -> Seq {
        Seq::new(i64::try_from(index).expect("small") + 1).expect("positive")
    }

    fn seal_log(log: &[StoredEntry]) -> Vec<EntrySeal> {
        let bodies: Vec<String> = log.iter().map(|entry| entry.body.to_string()).collect();
        let unsealed = log.iter().zip(&bodies).enumerate().map(|(index, (entry, body))| UnsealedEntry {
            seq: seq(index),
            id: entry.id,
            action: &entry.action,
            recorded_at: entry.recorded_at,
            body: Some(body),
        });
        seal(ChainTip::START, unsealed).expect("a valid log")
    }

    fn link<'a>(entry: &'a StoredEntry, seal: &EntrySeal) -> ChainLink<'a> {
        let StoredEntry { id, action, recorded_at, body: _ } = entry;
        ChainLink { seq: seal.seq, id: *id, action, recorded_at: *recorded_at, body_hash: seal.body_hash }
    }

    /// The expected hashes were computed by an independent program.
    #[test]
    fn hashes_match_an_independent_implementation() {
        let body = json!({ "object": "ten_1", "detail": { "z": 1, "a": "é\n" }, "actor": null });
        let log = [
            stored_entry(1, "tenant.created", "2026-01-02T03:04:05.678901Z", body),
            stored_entry(2, "key.created", "2026-01-02T03:04:06Z", Value::Null),
        ];
        let hashes: Vec<(String, String)> =
            seal_log(&log).iter().map(|seal| (seal.body_hash.to_string(), seal.hash.to_string())).collect();
        let expected = [
            (
                "f9f19fe06d387add1e5f83c1d40d114629e1bb1eab35d764f623b4d5c55929da",
                "db8f8aef41746162982617fcf2361f03162c520a5a3d470917f29b4f4f5b4364",
            ),
            (
                "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
                "80f2ee1da69c6d2f92c7d050d2174f1a6e4ad2e5b29cb5a9f97f53bf78fb3bc0",
            ),
        ]
        .map(|(body, hash)| (body.to_owned(), hash.to_owned()));
        assert_eq!(hashes, expected);
    }

    #[test]
    fn body_formatting_does_not_change_the_seal() {
        let entry = |body| UnsealedEntry {
            seq: seq(0),
            id: EntryId::from_uuid(Uuid::nil()),
            action: "x",
            recorded_at: Timestamp::UNIX_EPOCH,
            body: Some(body),
        };
        let one = seal(ChainTip::START, [entry(r#"{ "b": [1, 2], "a": "\u00e9" }"#)]);
        assert_eq!(one, seal(ChainTip::START, [entry(r#"{"a":"é","b":[1,2]}"#)]));
    }

    #[test]
    fn missing_entry_or_invalid_json_stops_sealing() {
        let entry = |number, body| UnsealedEntry {
            seq: seq(number),
            id: EntryId::from_uuid(Uuid::nil()),
            action: "x",
            recorded_at: Timestamp::UNIX_EPOCH,
            body: Some(body),
        };
        assert_eq!(
            seal(ChainTip::START, [entry(0, "1"), entry(2, "1")]),
            Err(AuditSealError::Missing(seq(1)))
        );
        assert_eq!(seal(ChainTip::START, [entry(1, "1")]), Err(AuditSealError::Missing(seq(0))));
        assert_eq!(seal(ChainTip::START, [entry(0, "{")]), Err(AuditSealError::NotJson(seq(0))));
    }

    #[test]
    fn digest_has_one_canonical_text() {
        let text = "0a".repeat(32);
        assert_eq!(text.parse::<Digest>().map(|digest| digest.to_string()), Ok(text.clone()));
        for wrong in [text.to_uppercase(), text[2..].to_owned(), format!("{text}00"), "zz".repeat(32)] {
            assert_eq!(wrong.parse::<Digest>(), Err(InvalidDigest), "{wrong}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn log() -> impl Strategy<Value = Vec<StoredEntry>> {
        let micros = 0i64..4_000_000_000_000_000;
        let entry =
            (any::<u128>(), "\\PC{0,20}", micros, json_value()).prop_map(|(id, action, micros, body)| {
                let recorded_at = Timestamp::from_microsecond(micros).expect("in range");
                StoredEntry { id: EntryId::from_uuid(Uuid::from_u128(id)), action, recorded_at, body }
            });
        proptest::collection::vec(entry, 1..8)
    }

    fn flip_bit(digest: Digest, bit: usize) -> Digest {
        let mut bytes = *digest.as_bytes();
        bytes[bit / 8 % 32] ^= 1 << (bit % 8);
        Digest::from_bytes(bytes)
    }

    /// Changes one character of a text, or returns a new text if it is empty.
    fn change_text(text: &str, at: usize) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        let Some(place) = at.checked_rem(chars.len()) else { return "x".to_owned() };
        chars[place] = if chars[place] == 'x' { 'y' } else { 'x' };
        chars.into_iter().collect()
    }

    proptest! {
        #[test]
        fn any_changed_field_changes_the_hash(log in log(), at in any::<usize>(), bit in 0usize..256) {
            let (seals, at) = (seal_log(&log), at % log.len());
            let previous = at.checked_sub(1).map_or(Digest::ZERO, |before| seals[before].hash);
            let (entry, seal) = (&log[at], &seals[at]);
            let link = link(entry, seal);
            prop_assert_eq!(link.hash(previous), seal.hash);

            let action = change_text(&entry.action, bit);
            let id = EntryId::from_uuid(Uuid::from_u128(entry.id.as_uuid().as_u128() ^ (1 << (bit % 128))));
            let micros = entry.recorded_at.as_microsecond() ^ (1 << (bit % 50));
            let recorded_at = Timestamp::from_microsecond(micros).expect("in range");
            let seq = Seq::new(seal.seq.get() ^ (1 << (bit % 63))).expect("positive");
            let changed = [
                ("action", ChainLink { action: &action, ..link }.hash(previous)),
                ("id", ChainLink { id, ..link }.hash(previous)),
                ("recordedAt", ChainLink { recorded_at, ..link }.hash(previous)),
                ("seq", ChainLink { seq, ..link }.hash(previous)),
                ("bodyHash", ChainLink { body_hash: flip_bit(seal.body_hash, bit), ..link }.hash(previous)),
                ("previous", link.hash(flip_bit(previous, bit))),
            ];
            for (field, hash) in changed {
                prop_assert_ne!(hash, seal.hash, "{}", field);
            }
        }

        #[test]
        fn changed_body_breaks_the_chain_from_there_on(log in log(), at in any::<usize>(), other in json_value()) {
            let (before, at) = (seal_log(&log), at % log.len());
            prop_assume!(log[at].body != other);
            let mut changed = log;
            changed[at].body = other;
            let after = seal_log(&changed);
            prop_assert_eq!(&before[..at], &after[..at]);
            prop_assert_ne!(before[at].body_hash, after[at].body_hash);
            for (before, after) in before[at..].iter().zip(&after[at..]) {
                prop_assert_ne!(before.hash, after.hash);
            }
        }

        #[test]
        fn chain_is_independent_of_erased_bodies_and_batch_sizes(log in log(), cut in any::<usize>()) {
            let seals = seal_log(&log);
            let mut previous = Digest::ZERO;
            for (entry, seal) in log.iter().zip(&seals) {
                let erased = StoredEntry { body: Value::Null, ..entry.clone() };
                previous = link(&erased, seal).hash(previous);
                prop_assert_eq!(previous, seal.hash);
            }
            let bodies: Vec<String> = log.iter().map(|entry| entry.body.to_string()).collect();
            let unsealed: Vec<_> = log.iter().zip(&bodies).enumerate().map(|(index, (entry, body))| UnsealedEntry {
                seq: seq(index), id: entry.id, action: &entry.action, recorded_at: entry.recorded_at, body: Some(body),
            }).collect();
            let (first, second) = unsealed.split_at(cut % unsealed.len());
            let mut batches = seal(ChainTip::START, first.iter().copied()).expect("a valid log");
            let tip = batches.last().map_or(ChainTip::START, |last| ChainTip { seq: last.seq, hash: last.hash });
            batches.extend(seal(tip, second.iter().copied()).expect("a valid log"));
            prop_assert_eq!(batches, seals);
        }

        #[test]
        fn body_hash_survives_a_json_round_trip(body in json_value()) {
            let parsed: Value = serde_json::from_str(&body.to_string()).expect("JSON");
            prop_assert_eq!(body_hash(&parsed), body_hash(&body));
        }
    }
}
