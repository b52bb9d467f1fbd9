//! How a device opens a message.

use super::super::agreement::{AgreementKey, IdentityKey};
use super::super::cipher::{CipherKey, decrypt};
use super::super::error::EnvelopeError;
use super::super::fingerprint::key_fingerprint;
use super::super::open_error::OpenError;
use super::super::payload::payload_text;
use super::envelope::{V2Envelope, V2Recipients};
use super::headers::{HeaderKind, verify_tag};
use super::row::{KeySource, RecipientRow, Role};
use super::wrap::{WrapSalt, WrapSecrets};
use crate::pki::{P256PublicKey, ParsedCertificate};

/// The bytes of the key in a row; its tag is behind them.
const KEY_BYTES: usize = 32;

/// A device that opens messages.
#[derive(Debug, Clone, Copy)]
pub struct V2Reader<'a> {
    pub aid: &'a str,
    pub device_id: &'a str,
    pub identity: &'a dyn IdentityKey,
    /// The private key of the SPK that [`V2Envelope::spk_for`] returns, if the device has it.
    pub spk: Option<&'a AgreementKey>,
}

impl V2Envelope {
    /// Returns the id of the SPK that a device needs; none where the message is sealed for the identity key.
    pub fn spk_for(&self, aid: &str, device_id: &str) -> Result<Option<&str>, OpenError> {
        let row = self.row_for(aid, device_id)?;
        Ok(Some(row.spk_id.as_str()).filter(|id| !id.is_empty()))
    }

    /// Verifies that the owner of a certificate sealed the message for this device, and returns the payload as JSON.
    ///
    /// The caller has checked that the certificate is one of the sender.
    pub fn open(&self, reader: &V2Reader<'_>, sender: &ParsedCertificate) -> Result<String, OpenError> {
        self.verify_recipients()?;
        self.verify_sender(sender)?;
        let row = self.row_for(reader.aid, reader.device_id)?;
        self.check_reader(row, reader)?;
        let aad = self.aad.bytes()?;
        let secrets = self.secrets(row, reader, &sender.public_key)?;
        let wrap_key =
            secrets.key(WrapSalt::new(&aad, &self.session_key)).map_err(|_| OpenError::WrappedKey)?;
        let (wrapped, tag) = row.wrapped_key.split_at(KEY_BYTES);
        let key = decrypt(&wrap_key, row.wrap_nonce, &[], wrapped, tag).map_err(|_| OpenError::WrappedKey)?;
        let key: CipherKey =
            key.as_slice().try_into().map(CipherKey::new).map_err(|_| OpenError::WrappedKey)?;
        verify_tag(self.protected_headers.as_ref(), HeaderKind::Headers, &key)?;
        verify_tag(self.context.as_ref(), HeaderKind::Context, &key)?;
        let payload = decrypt(&key, self.nonce, &aad, &self.ciphertext, &self.tag);
        payload_text(payload.map_err(|_| OpenError::Ciphertext)?)
    }

    /// Returns the row of a device: its own one before the one of its AID.
    fn row_for(&self, aid: &str, device_id: &str) -> Result<&RecipientRow, OpenError> {
        let rows = match &self.recipients {
            V2Recipients::All(rows) => rows.as_slice(),
            V2Recipients::One { row, .. } => std::slice::from_ref(row),
        };
        let find = |device: &str| {
            rows.iter().find(|row| row.role != Role::Audit && row.aid == aid && row.device_id == device)
        };
        find(device_id).or_else(|| find("")).ok_or(OpenError::OtherDevice)
    }

    fn check_reader(&self, row: &RecipientRow, reader: &V2Reader<'_>) -> Result<(), OpenError> {
        let (name, expected) = match row.role {
            Role::Peer => ("aad.to", &self.aad.to),
            Role::SelfSync | Role::Audit => ("aad.from", &self.aad.from),
        };
        if expected != reader.aid {
            return Err(EnvelopeError::Mismatch(name).into());
        }
        let own = P256PublicKey::of(reader.identity).map_err(|_| OpenError::OtherIdentityKey)?;
        if row.fingerprint == key_fingerprint(&own) { Ok(()) } else { Err(OpenError::OtherIdentityKey) }
    }

    fn secrets(
        &self,
        row: &RecipientRow,
        reader: &V2Reader<'_>,
        sender: &P256PublicKey,
    ) -> Result<WrapSecrets, OpenError> {
        let first = reader.identity.agree(&self.session_key)?;
        Ok(match row.key_source {
            KeySource::AidMaster => WrapSecrets::OneDh(first),
            KeySource::PeerDevicePrekey => {
                let is_key = |key: &&AgreementKey| key_fingerprint(key.public_key()) == row.spk_id;
                let spk = reader.spk.filter(is_key).ok_or(OpenError::UnknownKey)?;
                WrapSecrets::ThreeDh([first, spk.agree(sender)?, spk.agree(&self.session_key)?])
            }
        })
    }
}
