//! How a sender seals a message.

use std::collections::{BTreeMap, BTreeSet};

use super::super::agreement::{AgreementKey, IdentityKey};
use super::super::canonical::canonical_json;
use super::super::cipher::{CipherKey, encrypt};
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::fingerprint::key_fingerprint;
use super::super::members::is_bounded;
use super::super::open_error::SealingError;
use super::super::raw_signature::sign_raw;
use super::super::{MAX_RECIPIENTS, NONCE_BYTES};
use super::aad::V2Aad;
use super::digest::recipients_digest;
use super::envelope::{V2Envelope, V2Recipients};
use super::headers::{AUTH, HeaderKind, with_tag};
use super::row::{KeySource, RecipientRow, Role, WRAPPED_KEY_BYTES};
use super::wrap::{WrapSalt, WrapSecrets};
use super::wrap_protocol::WrapProtocol;
use crate::pki::P256PublicKey;
use crate::random;

const SDK_LANGUAGE: &str = "rust";

/// Headers that every message has.
const PAYLOAD_TYPE: &str = "payload_type";
const SDK_LANG: &str = "sdk_lang";
const SDK_VERSION: &str = "sdk_version";

/// Further headers of one message.
const MAX_HEADERS: usize = 16;

/// A device, or an AID without devices, that a message is sealed for. Its keys were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V2Recipient {
    pub aid: String,
    /// Empty where the message is for every device of the AID.
    pub device_id: String,
    pub role: Role,
    pub identity_key: P256PublicKey,
    /// The SPK of the device. Without it, the message is sealed for the identity key alone.
    pub spk: Option<P256PublicKey>,
}

/// A message to seal.
#[derive(Debug, Clone, Copy)]
pub struct V2Message<'a> {
    pub from: &'a str,
    pub from_device: &'a str,
    pub to: &'a str,
    pub message_id: &'a str,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    pub payload: &'a JsonObject,
}

/// What is random in a sealed message.
pub(super) struct MessageSecrets {
    pub(super) key: CipherKey,
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) session: AgreementKey,
    /// Returns the nonce of one more row.
    pub(super) wrap_nonce: fn() -> [u8; NONCE_BYTES],
}

impl MessageSecrets {
    fn generate() -> Result<Self, SealingError> {
        Ok(Self {
            key: random::bytes(),
            nonce: nonce(),
            session: AgreementKey::generate()?,
            wrap_nonce: nonce,
        })
    }
}

fn nonce() -> [u8; NONCE_BYTES] {
    *random::bytes()
}

impl V2Message<'_> {
    /// Seals the message for its recipients, and signs it with the identity key of the sender.
    pub fn seal(
        &self,
        sender: &dyn IdentityKey,
        recipients: &[V2Recipient],
    ) -> Result<V2Envelope, SealingError> {
        self.seal_with_headers(sender, recipients, &BTreeMap::new())
    }

    /// Seals the message with further headers, which everybody can read and only the devices of the message can verify.
    pub fn seal_with_headers(
        &self,
        sender: &dyn IdentityKey,
        recipients: &[V2Recipient],
        headers: &BTreeMap<String, String>,
    ) -> Result<V2Envelope, SealingError> {
        self.seal_with(&MessageSecrets::generate()?, sender, recipients, headers)
    }

    pub(super) fn seal_with(
        &self,
        secrets: &MessageSecrets,
        sender: &dyn IdentityKey,
        recipients: &[V2Recipient],
        headers: &BTreeMap<String, String>,
    ) -> Result<V2Envelope, SealingError> {
        check_recipients(recipients)?;
        check_headers(headers)?;
        let aad = self.aad(recipients)?;
        let aad_bytes = aad.bytes().map_err(|_| SealingError::Payload)?;
        let mut ciphertext = canonical_json(self.payload).map_err(|_| SealingError::Payload)?;
        let tag = encrypt(&secrets.key, secrets.nonce, &aad_bytes, &mut ciphertext)?;
        let salt = WrapSalt::new(&aad_bytes, secrets.session.public_key());
        let rows = recipients.iter().map(|recipient| row(recipient, secrets, sender, salt));
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        rows.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        let own_key = P256PublicKey::of(sender).map_err(|_| SealingError::Sign)?;
        let payload_type = self.payload_type();
        let headers = all_headers(headers, payload_type.as_deref());
        let mut envelope = V2Envelope {
            aad,
            nonce: secrets.nonce,
            ciphertext,
            tag,
            session_key: secrets.session.public_key().clone(),
            recipients_digest: recipients_digest(&rows).ok_or(SealingError::Recipients)?,
            recipients: V2Recipients::All(rows),
            sender_signature: [0; _],
            sender_cert_fingerprint: key_fingerprint(&own_key),
            payload_type,
            protected_headers: with_tag(headers, HeaderKind::Headers, &secrets.key),
            context: None,
            rest: ["t_supplement", "t_server"].map(|name| (name.to_owned(), ExactJson::Null)).into(),
        };
        let signed = envelope.signed_bytes().map_err(|_| SealingError::Payload)?;
        envelope.sender_signature = sign_raw(sender, &signed).map_err(|_| SealingError::Sign)?;
        Ok(envelope)
    }

    fn aad(&self, recipients: &[V2Recipient]) -> Result<V2Aad, SealingError> {
        let names = [self.from, self.from_device, self.to, self.message_id];
        if !names.into_iter().all(is_bounded) {
            return Err(SealingError::Names);
        }
        let protocols = recipients.iter().map(V2Recipient::protocol);
        Ok(V2Aad {
            from: self.from.to_owned(),
            from_device: self.from_device.to_owned(),
            to: self.to.to_owned(),
            message_id: self.message_id.to_owned(),
            timestamp_ms: self.timestamp_ms,
            wrap_protocol: WrapProtocol::together(protocols).ok_or(SealingError::Recipients)?,
            rest: JsonObject::new(),
        })
    }

    /// The type of the payload is in clear too, as far as an envelope can have it.
    fn payload_type(&self) -> Option<String> {
        let Some(ExactJson::String(name)) = self.payload.get("type") else { return None };
        Some(name.clone()).filter(|name| !name.is_empty() && is_bounded(name))
    }
}

impl V2Recipient {
    fn protocol(&self) -> WrapProtocol {
        if self.spk.is_some() { WrapProtocol::ThreeDh } else { WrapProtocol::OneDh }
    }
}

fn check_recipients(recipients: &[V2Recipient]) -> Result<(), SealingError> {
    let key = |recipient: &V2Recipient| (recipient.aid.clone(), recipient.device_id.clone(), recipient.role);
    let distinct: BTreeSet<_> = recipients.iter().map(key).collect();
    if distinct.len() != recipients.len() || !(1..=MAX_RECIPIENTS).contains(&recipients.len()) {
        return Err(SealingError::Recipients);
    }
    let bounded = |recipient: &V2Recipient| is_bounded(&recipient.aid) && is_bounded(&recipient.device_id);
    if recipients.iter().all(bounded) { Ok(()) } else { Err(SealingError::Names) }
}

/// Encrypts the key of a message for one recipient.
fn row(
    recipient: &V2Recipient,
    secrets: &MessageSecrets,
    sender: &dyn IdentityKey,
    salt: WrapSalt,
) -> Result<RecipientRow, SealingError> {
    let session = &secrets.session;
    let first = session.agree(&recipient.identity_key)?;
    let (key_source, spk_id, agreed) = match &recipient.spk {
        Some(spk) => {
            let agreed = WrapSecrets::ThreeDh([first, sender.agree(spk)?, session.agree(spk)?]);
            (KeySource::PeerDevicePrekey, key_fingerprint(spk), agreed)
        }
        None => (KeySource::AidMaster, String::new(), WrapSecrets::OneDh(first)),
    };
    let wrap_nonce = (secrets.wrap_nonce)();
    let mut wrapped = *secrets.key;
    let tag = encrypt(&agreed.key(salt)?, wrap_nonce, &[], &mut wrapped)?;
    let mut wrapped_key = [0; WRAPPED_KEY_BYTES];
    wrapped_key.iter_mut().zip(wrapped.iter().chain(&tag)).for_each(|(to, from)| *to = *from);
    Ok(RecipientRow {
        aid: recipient.aid.clone(),
        device_id: recipient.device_id.clone(),
        role: recipient.role,
        key_source,
        fingerprint: key_fingerprint(&recipient.identity_key),
        spk_id,
        wrap_nonce,
        wrapped_key,
    })
}

/// The names that every client accepts. Those of this client, and of the tag, are not for others.
fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), SealingError> {
    let is_name_char = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let is_valid = |(name, value): (&String, &String)| {
        let is_own = [AUTH, PAYLOAD_TYPE, SDK_LANG, SDK_VERSION].contains(&name.as_str());
        !is_own && !name.is_empty() && name.bytes().all(is_name_char) && is_bounded(name) && is_bounded(value)
    };
    let is_valid = headers.len() <= MAX_HEADERS && headers.iter().all(is_valid);
    if is_valid { Ok(()) } else { Err(SealingError::Headers) }
}

fn all_headers(headers: &BTreeMap<String, String>, payload_type: Option<&str>) -> JsonObject {
    let version = env!("CARGO_PKG_VERSION");
    let own = [(PAYLOAD_TYPE, payload_type), (SDK_LANG, Some(SDK_LANGUAGE)), (SDK_VERSION, Some(version))];
    let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let further = headers.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
    further.chain(own).collect()
}
