//! The chain over an audit log: each entry's hash covers the entry and the hash before it, so that nothing that was
//! sealed can be changed, taken out or put in between without the hashes telling.
//!
//! What an entry says enters the chain through the hash of its body alone: the body may be erased later, and the
//! chain still fits.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::ids::EntryId;
use crate::journal::Seq;

/// A SHA-256, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Stands before the first entry.
    pub const ZERO: Self = Self([0; 32]);

    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn of(text: &str) -> Self {
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

/// A text that is no SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256: expected 64 lower-case hexadecimal digits")]
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

/// Returns the hash of what an entry says: of its compact JSON with sorted keys, however it was written.
#[must_use]
pub fn body_hash(body: &Value) -> Digest {
    Digest::of(&body.to_string())
}

/// What the chain covers of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    pub seq: Seq,
    pub id: EntryId,
    pub action: &'a str,
    /// As it is kept and shown. What was sent may have been finer.
    pub recorded_at: Timestamp,
    pub body_hash: Digest,
}

impl Link<'_> {
    /// Returns the hash of this entry after the one before it.
    #[must_use]
    pub fn hash(&self, previous: Digest) -> Digest {
        let entry = json!({
            "action": self.action,
            "bodyHash": self.body_hash.to_string(),
            "id": self.id.to_string(),
            "recordedAt": self.recorded_at.to_string(),
            "seq": self.seq.get(),
        });
        Digest::of(&format!("{previous}\n{entry}"))
    }
}

/// Where the chain of a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub seq: Seq,
    pub hash: Digest,
}

impl Tip {
    /// Before the first entry.
    pub const START: Self = Self { seq: Seq::ZERO, hash: Digest::ZERO };
}

/// The seal of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    pub seq: Seq,
    pub body_hash: Digest,
    pub hash: Digest,
}

/// An entry that waits for its seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsealed<'a> {
    pub seq: Seq,
    pub id: EntryId,
    pub action: &'a str,
    pub recorded_at: Timestamp,
    /// JSON; none when it was erased before it was sealed, which is sealed as `null`.
    pub body: Option<&'a str>,
}

/// Why a log cannot be sealed further: it is not what a server of ours has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("entry {0} is missing")]
    Missing(Seq),
    #[error("entry {0} is not JSON")]
    NotJson(Seq),
}

/// Seals the entries that follow on a tip, in order.
pub fn seal<'a>(tip: Tip, entries: impl IntoIterator<Item = Unsealed<'a>>) -> Result<Vec<Seal>, Unfit> {
    let mut tip = tip;
    let mut seals = Vec::new();
    for entry in entries {
        let Unsealed { seq, id, action, recorded_at, body } = entry;
        if seq != tip.seq.next() {
            return Err(Unfit::Missing(tip.seq.next()));
        }
        let body = body.map_or(Ok(Value::Null), serde_json::from_str).map_err(|_| Unfit::NotJson(seq))?;
        let body_hash = body_hash(&body);
        let hash = Link { seq, id, action, recorded_at, body_hash }.hash(tip.hash);
        seals.push(Seal { seq, body_hash, hash });
        tip = Tip { seq, hash };
    }
    Ok(seals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    /// An entry as it is kept.
    #[derive(Debug, Clone, PartialEq)]
    struct Kept {
        id: EntryId,
        action: String,
        recorded_at: Timestamp,
        body: Value,
    }

    fn kept(id: u128, action: &str, recorded_at: &str, body: Value) -> Kept {
        let (id, recorded_at) =
            (EntryId::from_uuid(Uuid::from_u128(id)), recorded_at.parse().expect("a time"));
        Kept { id, action: action.to_owned(), recorded_at, body }
    }

    fn seq(index: usize) -> Seq {
        Seq::new(i64::try_from(index).expect("small") + 1).expect("positive")
    }

    fn sealed(log: &[Kept]) -> Vec<Seal> {
        let bodies: Vec<String> = log.iter().map(|entry| entry.body.to_string()).collect();
        let unsealed = log.iter().zip(&bodies).enumerate().map(|(index, (entry, body))| Unsealed {
            seq: seq(index),
            id: entry.id,
            action: &entry.action,
            recorded_at: entry.recorded_at,
            body: Some(body),
        });
        seal(Tip::START, unsealed).expect("it fits")
    }

    fn link<'a>(entry: &'a Kept, seal: &Seal) -> Link<'a> {
        let Kept { id, action, recorded_at, body: _ } = entry;
        Link { seq: seal.seq, id: *id, action, recorded_at: *recorded_at, body_hash: seal.body_hash }
    }

    /// Hashes that another program computed from the same two entries: the rule is not ours alone.
    #[test]
    fn the_hashes_are_those_that_anyone_gets_who_knows_the_rule() {
        let body = json!({ "object": "ten_1", "detail": { "z": 1, "a": "é\n" }, "actor": null });
        let log = [
            kept(1, "tenant.created", "2026-01-02T03:04:05.678901Z", body),
            kept(2, "key.created", "2026-01-02T03:04:06Z", Value::Null),
        ];
        let hashes: Vec<(String, String)> =
            sealed(&log).iter().map(|seal| (seal.body_hash.to_string(), seal.hash.to_string())).collect();
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
    fn how_a_body_was_written_does_not_matter() {
        let entry = |body| Unsealed {
            seq: seq(0),
            id: EntryId::from_uuid(Uuid::nil()),
            action: "x",
            recorded_at: Timestamp::UNIX_EPOCH,
            body: Some(body),
        };
        let one = seal(Tip::START, [entry(r#"{ "b": [1, 2], "a": "\u00e9" }"#)]);
        assert_eq!(one, seal(Tip::START, [entry(r#"{"a":"é","b":[1,2]}"#)]));
    }

    #[test]
    fn a_log_with_a_hole_or_without_json_is_sealed_no_further() {
        let entry = |number, body| Unsealed {
            seq: seq(number),
            id: EntryId::from_uuid(Uuid::nil()),
            action: "x",
            recorded_at: Timestamp::UNIX_EPOCH,
            body: Some(body),
        };
        assert_eq!(seal(Tip::START, [entry(0, "1"), entry(2, "1")]), Err(Unfit::Missing(seq(1))));
        assert_eq!(seal(Tip::START, [entry(1, "1")]), Err(Unfit::Missing(seq(0))));
        assert_eq!(seal(Tip::START, [entry(0, "{")]), Err(Unfit::NotJson(seq(0))));
    }

    #[test]
    fn only_one_text_names_a_digest() {
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

    fn log() -> impl Strategy<Value = Vec<Kept>> {
        let micros = 0i64..4_000_000_000_000_000;
        let entry =
            (any::<u128>(), "\\PC{0,20}", micros, json_value()).prop_map(|(id, action, micros, body)| {
                let recorded_at = Timestamp::from_microsecond(micros).expect("in range");
                Kept { id: EntryId::from_uuid(Uuid::from_u128(id)), action, recorded_at, body }
            });
        proptest::collection::vec(entry, 1..8)
    }

    fn flipped(digest: Digest, bit: usize) -> Digest {
        let mut bytes = *digest.as_bytes();
        bytes[bit / 8 % 32] ^= 1 << (bit % 8);
        Digest::from_bytes(bytes)
    }

    /// Changes one character of a text, or adds one where there is none.
    fn flipped_text(text: &str, at: usize) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        let Some(place) = at.checked_rem(chars.len()) else { return "x".to_owned() };
        chars[place] = if chars[place] == 'x' { 'y' } else { 'x' };
        chars.into_iter().collect()
    }

    proptest! {
        #[test]
        fn whatever_is_changed_in_an_entry_changes_its_hash(log in log(), at in any::<usize>(), bit in 0usize..256) {
            let (seals, at) = (sealed(&log), at % log.len());
            let previous = at.checked_sub(1).map_or(Digest::ZERO, |before| seals[before].hash);
            let (entry, seal) = (&log[at], &seals[at]);
            let link = link(entry, seal);
            prop_assert_eq!(link.hash(previous), seal.hash);

            let action = flipped_text(&entry.action, bit);
            let id = EntryId::from_uuid(Uuid::from_u128(entry.id.as_uuid().as_u128() ^ (1 << (bit % 128))));
            let micros = entry.recorded_at.as_microsecond() ^ (1 << (bit % 50));
            let recorded_at = Timestamp::from_microsecond(micros).expect("in range");
            let seq = Seq::new(seal.seq.get() ^ (1 << (bit % 63))).expect("positive");
            let changed = [
                ("action", Link { action: &action, ..link }.hash(previous)),
                ("id", Link { id, ..link }.hash(previous)),
                ("recordedAt", Link { recorded_at, ..link }.hash(previous)),
                ("seq", Link { seq, ..link }.hash(previous)),
                ("bodyHash", Link { body_hash: flipped(seal.body_hash, bit), ..link }.hash(previous)),
                ("previous", link.hash(flipped(previous, bit))),
            ];
            for (field, hash) in changed {
                prop_assert_ne!(hash, seal.hash, "{}", field);
            }
        }

        #[test]
        fn whatever_is_changed_in_a_body_breaks_the_chain_from_there_on(log in log(), at in any::<usize>(), other in json_value()) {
            let (before, at) = (sealed(&log), at % log.len());
            prop_assume!(log[at].body != other);
            let mut changed = log;
            changed[at].body = other;
            let after = sealed(&changed);
            prop_assert_eq!(&before[..at], &after[..at]);
            prop_assert_ne!(before[at].body_hash, after[at].body_hash);
            for (before, after) in before[at..].iter().zip(&after[at..]) {
                prop_assert_ne!(before.hash, after.hash);
            }
        }

        #[test]
        fn a_chain_fits_without_the_bodies_and_however_it_was_cut_into_batches(log in log(), cut in any::<usize>()) {
            let seals = sealed(&log);
            let mut previous = Digest::ZERO;
            for (entry, seal) in log.iter().zip(&seals) {
                let erased = Kept { body: Value::Null, ..entry.clone() };
                previous = link(&erased, seal).hash(previous);
                prop_assert_eq!(previous, seal.hash);
            }
            let bodies: Vec<String> = log.iter().map(|entry| entry.body.to_string()).collect();
            let unsealed: Vec<_> = log.iter().zip(&bodies).enumerate().map(|(index, (entry, body))| Unsealed {
                seq: seq(index), id: entry.id, action: &entry.action, recorded_at: entry.recorded_at, body: Some(body),
            }).collect();
            let (first, second) = unsealed.split_at(cut % unsealed.len());
            let mut batches = seal(Tip::START, first.iter().copied()).expect("it fits");
            let tip = batches.last().map_or(Tip::START, |last| Tip { seq: last.seq, hash: last.hash });
            batches.extend(seal(tip, second.iter().copied()).expect("it fits"));
            prop_assert_eq!(batches, seals);
        }

        #[test]
        fn a_body_that_was_shown_has_the_hash_of_the_one_that_was_kept(body in json_value()) {
            let shown: Value = serde_json::from_str(&body.to_string()).expect("JSON");
            prop_assert_eq!(body_hash(&shown), body_hash(&body));
        }
    }
}
