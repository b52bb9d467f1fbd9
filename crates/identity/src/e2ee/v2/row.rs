//! Rows of recipients.

use super::super::NONCE_BYTES;
use super::super::bounds::MAX_RECIPIENTS;
use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::{Members, array, base64, bounded_text, encode};
use super::wrap_protocol::WrapProtocol;

/// The key of a message and its tag.
pub const WRAPPED_KEY_BYTES: usize = 48;

const NAMES: [&str; 8] =
    ["aid", "device_id", "role", "key_source", "fp", "spk_id", "wrap_nonce", "wrapped_key"];

/// Why somebody gets the key of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A reader that the issuer of the sender named. Guildhall names none, and its clients refuse them.
    Audit,
    /// A device of the recipient.
    Peer,
    /// Another device of the sender.
    SelfSync,
}

/// Which key of the recipient the row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The identity key alone (1DH).
    AidMaster,
    /// The identity key and the SPK of a device (3DH).
    PeerDevicePrekey,
}

/// The key of a message, encrypted for one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientRow {
    pub aid: String,
    /// Empty where the row is for every device of the AID.
    pub device_id: String,
    pub role: Role,
    pub key_source: KeySource,
    /// The short fingerprint of the recipient's identity key.
    pub fingerprint: String,
    /// Empty for 1DH.
    pub spk_id: String,
    pub wrap_nonce: [u8; NONCE_BYTES],
    pub wrapped_key: [u8; WRAPPED_KEY_BYTES],
}

impl Role {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Peer => "peer",
            Self::SelfSync => "self_sync",
        }
    }

    fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let found = [Self::Audit, Self::Peer, Self::SelfSync].into_iter().find(|role| role.as_str() == text);
        found.ok_or(EnvelopeError::Unsupported("recipients.role"))
    }
}

impl KeySource {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AidMaster => "aid_master",
            Self::PeerDevicePrekey => "peer_device_prekey",
        }
    }

    fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let found = [Self::AidMaster, Self::PeerDevicePrekey].into_iter().find(|from| from.as_str() == text);
        found.ok_or(EnvelopeError::Unsupported("recipients.key_source"))
    }
}

impl RecipientRow {
    /// Returns how the key was encrypted.
    #[must_use]
    pub fn protocol(&self) -> WrapProtocol {
        match self.key_source {
            KeySource::AidMaster => WrapProtocol::OneDh,
            KeySource::PeerDevicePrekey => WrapProtocol::ThreeDh,
        }
    }

    /// Rows are sorted by this, and no two rows of a message have the same.
    #[must_use]
    pub fn sort_key(&self) -> (&str, &str, &str) {
        (&self.aid, &self.device_id, self.role.as_str())
    }

    /// Reads the array form, which a complete envelope has.
    pub(super) fn from_array(json: ExactJson) -> Result<Self, EnvelopeError> {
        let items = array(json).ok_or(EnvelopeError::Member("recipients"))?;
        let items: [ExactJson; 8] = items.try_into().map_err(|_| EnvelopeError::Member("recipients"))?;
        let members = NAMES.iter().map(|name| (*name).to_owned()).zip(items).collect();
        Self::from_members(Members::of(ExactJson::Object(members), "recipients")?)
    }

    /// Reads the object form, which the envelope for one device has.
    pub(super) fn from_object(json: ExactJson) -> Result<Self, EnvelopeError> {
        Self::from_members(Members::of(json, "recipient")?)
    }

    fn from_members(mut members: Members) -> Result<Self, EnvelopeError> {
        let mut text = |name: &'static str| {
            members.take(name).ok().and_then(bounded_text).ok_or(EnvelopeError::Member("recipients"))
        };
        let (aid, device_id, role) = (text("aid")?, text("device_id")?, Role::parse(&text("role")?)?);
        let (key_source, fingerprint) = (KeySource::parse(&text("key_source")?)?, text("fp")?);
        let spk_id = text("spk_id")?;
        // A row of 1DH with an SPK would be opened with it.
        if spk_id.is_empty() != (key_source == KeySource::AidMaster) {
            return Err(EnvelopeError::Member("recipients"));
        }
        let mut bytes = |name: &'static str| members.take(name).ok().and_then(base64).unwrap_or_default();
        let (wrap_nonce, wrapped_key) = (bytes("wrap_nonce"), bytes("wrapped_key"));
        let wrap_nonce = wrap_nonce.try_into().map_err(|_| EnvelopeError::Member("recipients"))?;
        let wrapped_key = wrapped_key.try_into().map_err(|_| EnvelopeError::Member("recipients"))?;
        Ok(Self { aid, device_id, role, key_source, fingerprint, spk_id, wrap_nonce, wrapped_key })
    }

    pub(super) fn to_array(&self) -> ExactJson {
        ExactJson::Array(self.values().into())
    }

    pub(super) fn to_object(&self) -> ExactJson {
        let members: JsonObject = NAMES.iter().map(|name| (*name).to_owned()).zip(self.values()).collect();
        ExactJson::Object(members)
    }

    fn values(&self) -> [ExactJson; 8] {
        [
            self.aid.as_str().into(),
            self.device_id.as_str().into(),
            self.role.as_str().into(),
            self.key_source.as_str().into(),
            self.fingerprint.as_str().into(),
            self.spk_id.as_str().into(),
            encode(&self.wrap_nonce),
            encode(&self.wrapped_key),
        ]
    }
}

/// Checks the number of the rows, that they are sorted, and that no device has two.
pub fn check_order(rows: &[RecipientRow]) -> Result<(), EnvelopeError> {
    if rows.is_empty() || rows.len() > MAX_RECIPIENTS {
        return Err(EnvelopeError::RecipientCount);
    }
    let sorted = rows.windows(2).all(|pair| pair[0].sort_key() < pair[1].sort_key());
    if sorted { Ok(()) } else { Err(EnvelopeError::RecipientOrder) }
}
