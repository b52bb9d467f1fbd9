//! Checkpoints: signed statements that an audit log had a certain hash at a certain entry.
//!
//! A checkpoint covers all entries before it, because the hashes form a chain. A copy of a checkpoint outside the
//! database is an anchor: it also shows that entries are missing at the end.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::audit_chain::{ChainTip, Digest};
use crate::ids::TenantId;
use crate::journal::{Journal, Seq, Stream};

/// Version of the anchor format.
const FORMAT_VERSION: u32 = 1;

/// First line of the signed text. It separates these signatures from all others of the same key.
const PURPOSE: &str = "guildhall audit checkpoint v1";

const INSTALLATION: &str = "installation";

/// Which audit log. Text form: the id of a tenant, or `installation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditLog {
    /// Events of no tenant: sign-ins, users, new tenants.
    Installation,
    Tenant(TenantId),
}

impl AuditLog {
    /// Returns the journal stream of the log.
    #[must_use]
    pub fn stream(self) -> Stream {
        let owner = match self {
            Self::Installation => Uuid::nil(),
            Self::Tenant(tenant) => tenant.as_uuid(),
        };
        Stream { journal: Journal::Audit, owner }
    }

    /// Returns the log of an owner in the audit journal.
    #[must_use]
    pub fn of_owner(owner: Uuid) -> Self {
        if owner.is_nil() { Self::Installation } else { Self::Tenant(TenantId::from_uuid(owner)) }
    }
}

impl From<TenantId> for AuditLog {
    fn from(tenant: TenantId) -> Self {
        Self::Tenant(tenant)
    }
}

impl fmt::Display for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installation => f.write_str(INSTALLATION),
            Self::Tenant(tenant) => fmt::Display::fmt(tenant, f),
        }
    }
}

/// The text names no audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid audit log: expected the id of a tenant, or `installation`")]
pub struct InvalidAuditLog;

impl FromStr for AuditLog {
    type Err = InvalidAuditLog;

    fn from_str(text: &str) -> Result<Self, InvalidAuditLog> {
        let log = match text {
            INSTALLATION => Self::Installation,
            id => Self::Tenant(id.parse().map_err(|_| InvalidAuditLog)?),
        };
        // The nil id is the installation.
        if log.to_string() == text && log == Self::of_owner(log.stream().owner) {
            Ok(log)
        } else {
            Err(InvalidAuditLog)
        }
    }
}

/// The parts of a checkpoint that are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointStatement {
    pub log: AuditLog,
    pub tip: ChainTip,
    /// In microseconds, as PostgreSQL stores it.
    pub signed_at: Timestamp,
}

impl CheckpointStatement {
    /// Returns the text that is signed: purpose, log, sequence number, hash and time, one per line.
    #[must_use]
    pub fn signed_text(&self) -> String {
        let Self { log, tip: ChainTip { seq, hash }, signed_at } = self;
        format!("{PURPOSE}\n{log}\n{seq}\n{hash}\n{signed_at}\n")
    }
}

/// Identifies a signing key: the first 8 bytes of the SHA-256 hash of its public key. Text form: 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuditKeyId([u8; 8]);

impl AuditKeyId {
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

/// An Ed25519 signature. Text form: 128 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CheckpointSignature([u8; 64]);

impl CheckpointSignature {
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// Not the hexadecimal digits that were expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0} lower-case hexadecimal digits")]
pub struct InvalidHex(usize);

macro_rules! hex_text {
    ($name:ident, $bytes:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidHex;

            fn from_str(text: &str) -> Result<Self, InvalidHex> {
                let invalid = InvalidHex($bytes * 2);
                let mut bytes = [0; $bytes];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| invalid)?;
                let parsed = Self(bytes);
                if parsed.to_string() == text { Ok(parsed) } else { Err(invalid) }
            }
        }
    };
}

hex_text!(AuditKeyId, 8);
hex_text!(CheckpointSignature, 64);

/// A signed statement about an audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    pub statement: CheckpointStatement,
    pub key: AuditKeyId,
    pub signature: CheckpointSignature,
}

/// Why a line is not an anchor.
#[derive(Debug, thiserror::Error)]
pub enum InvalidAnchor {
    /// The end is missing, as after a crash during the write.
    #[error("the line is incomplete")]
    Incomplete,
    #[error("not an anchor: {0}")]
    Malformed(String),
}

/// The JSON form of an anchor.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnchorLine {
    v: u32,
    log: String,
    seq: i64,
    hash: String,
    signed_at: Timestamp,
    key_id: String,
    signature: String,
}

impl Checkpoint {
    /// Returns the line of an anchor file, without a line feed.
    #[must_use]
    pub fn to_anchor_line(&self) -> String {
        let CheckpointStatement { log, tip, signed_at } = self.statement;
        let line = AnchorLine {
            v: FORMAT_VERSION,
            log: log.to_string(),
            seq: tip.seq.get(),
            hash: tip.hash.to_string(),
            signed_at,
            key_id: self.key.to_string(),
            signature: self.signature.to_string(),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Parses a line of an anchor file.
    pub fn from_anchor_line(text: &str) -> Result<Self, InvalidAnchor> {
        let line: AnchorLine = serde_json::from_str(text)
            .map_err(|error| if error.is_eof() { InvalidAnchor::Incomplete } else { malformed(&error) })?;
        if line.v != FORMAT_VERSION {
            let message = format!("version {} is not supported; expected {FORMAT_VERSION}", line.v);
            return Err(InvalidAnchor::Malformed(message));
        }
        let seq = Seq::new(line.seq).filter(|seq| *seq > Seq::ZERO);
        let seq = seq.ok_or_else(|| malformed(&"seq must be at least 1"))?;
        let hash = line.hash.parse::<Digest>().map_err(|error| malformed(&error))?;
        let log = line.log.parse::<AuditLog>().map_err(|error| malformed(&error))?;
        let statement = CheckpointStatement { log, tip: ChainTip { seq, hash }, signed_at: line.signed_at };
        let key = line.key_id.parse::<AuditKeyId>().map_err(|error| malformed(&error))?;
        let signature = line.signature.parse::<CheckpointSignature>().map_err(|error| malformed(&error))?;
        Ok(Self { statement, key, signature })
    }
}

fn malformed(reason: &dyn fmt::Display) -> InvalidAnchor {
    InvalidAnchor::Malformed(reason.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checkpoint(owner: u128, seq: i64, byte: u8) -> Checkpoint {
        let tip = ChainTip { seq: Seq::new(seq).expect("positive"), hash: Digest::from_bytes([byte; 32]) };
        let log = AuditLog::of_owner(Uuid::from_u128(owner));
        let signed_at = "2026-01-02T03:04:05.678901Z".parse().expect("a time");
        Checkpoint {
            statement: CheckpointStatement { log, tip, signed_at },
            key: AuditKeyId([byte; 8]),
            signature: CheckpointSignature([byte; 64]),
        }
    }

    #[test]
    fn signed_text_and_anchor_line_have_the_documented_form() {
        let checkpoint = checkpoint(0, 7, 0xab);
        let (hash, signature) = ("ab".repeat(32), "ab".repeat(64));
        assert_eq!(
            checkpoint.statement.signed_text(),
            format!("guildhall audit checkpoint v1\ninstallation\n7\n{hash}\n2026-01-02T03:04:05.678901Z\n")
        );
        let line = format!(
            r#"{{"v":1,"log":"installation","seq":7,"hash":"{hash}","signedAt":"2026-01-02T03:04:05.678901Z","keyId":"abababababababab","signature":"{signature}"}}"#
        );
        assert_eq!(checkpoint.to_anchor_line(), line);
    }

    #[test]
    fn incomplete_line_is_told_from_a_malformed_one() {
        let line = checkpoint(1, 7, 1).to_anchor_line();
        for length in 1..line.len() {
            let parsed = Checkpoint::from_anchor_line(&line[..length]);
            assert!(matches!(parsed, Err(InvalidAnchor::Incomplete)), "{parsed:?}");
        }
        for malformed in [
            line.replace("\"v\":1", "\"v\":2"),
            line.replace("\"seq\":7", "\"seq\":0"),
            line.replace("ten_", "run_"),
            line.replace("\"log\"", "\"extra\":1,\"log\""),
            line.replacen("01", "0", 1),
        ] {
            let parsed = Checkpoint::from_anchor_line(&malformed);
            assert!(matches!(parsed, Err(InvalidAnchor::Malformed(_))), "{malformed}");
        }
    }

    #[test]
    fn nil_tenant_is_not_a_log() {
        let nil = TenantId::from_uuid(Uuid::nil()).to_string();
        assert_eq!(nil.parse::<AuditLog>(), Err(InvalidAuditLog));
    }

    proptest! {
        #[test]
        fn anchor_line_round_trips(owner in any::<u128>(), seq in 1i64.., byte in any::<u8>()) {
            let checkpoint = checkpoint(owner, seq, byte);
            let parsed = Checkpoint::from_anchor_line(&checkpoint.to_anchor_line());
            prop_assert_eq!(parsed.ok(), Some(checkpoint));
        }

        #[test]
        fn signed_text_differs_for_different_statements(
            one in (any::<u128>(), 1i64.., any::<u8>()),
            two in (any::<u128>(), 1i64.., any::<u8>()),
        ) {
            let [one, two] = [one, two].map(|(owner, seq, byte)| checkpoint(owner, seq, byte).statement);
            prop_assert_eq!(one == two, one.signed_text() == two.signed_text());
        }
    }
}
