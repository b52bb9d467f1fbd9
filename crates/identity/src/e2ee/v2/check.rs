//! What a server can check without a private key, so that no message blocks the cursor of its reader.

use super::super::error::EnvelopeError;
use super::super::fingerprint::key_fingerprint;
use super::envelope::{V2Envelope, V2Recipients};
use super::row::{KeySource, RecipientRow, Role};
use crate::pki::{P256PublicKey, ParsedCertificate};

/// A device that `message.v2.bootstrap` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownDevice<'a> {
    pub device_id: &'a str,
    /// The keys that the device published and may still have. Senders keep what they got for an hour.
    pub spk_ids: &'a [&'a str],
}

/// The keys of an AID that `message.v2.bootstrap` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAid<'a> {
    pub aid: &'a str,
    pub identity_key: &'a P256PublicKey,
    pub devices: &'a [KnownDevice<'a>],
}

/// What an envelope is compared with.
#[derive(Debug, Clone, Copy)]
pub struct V2Expected<'a> {
    /// The certificate that the envelope names. The caller checks that the connection's AID owns it.
    pub sender: &'a ParsedCertificate,
    pub sender_device: &'a str,
    /// The one beside the envelope. Older clients send none there.
    pub message_id: Option<&'a str>,
    pub recipient: KnownAid<'a>,
    /// The one device of the recipient that the message is for; none for all.
    pub recipient_device: Option<&'a str>,
    /// The sender's own devices, which may get a copy.
    pub own: KnownAid<'a>,
}

/// Checks an envelope as it was sent. It was parsed from its exact text, which named the certificate to look for.
///
/// What only a recipient can check: that the key of the message is in the row, the tags of headers, and the ciphertext.
pub fn check_v2_envelope(envelope: &V2Envelope, expected: &V2Expected<'_>) -> Result<(), EnvelopeError> {
    let V2Recipients::All(rows) = &envelope.recipients else {
        return Err(EnvelopeError::Member("recipients"));
    };
    check_names(envelope, expected)?;
    check_rows(rows, expected)?;
    envelope.verify_recipients()?;
    envelope.verify_sender(expected.sender)
}

fn check_names(envelope: &V2Envelope, expected: &V2Expected<'_>) -> Result<(), EnvelopeError> {
    let aad = &envelope.aad;
    let names = [
        ("aad.from", aad.from.as_str(), expected.sender.common_name.as_str()),
        ("aad.from_device", &aad.from_device, expected.sender_device),
        ("aad.to", &aad.to, expected.recipient.aid),
        ("aad.message_id", &aad.message_id, expected.message_id.unwrap_or(&aad.message_id)),
    ];
    let wrong = names.into_iter().find(|(_, sealed, clear)| sealed != clear);
    wrong.map_or(Ok(()), |(name, ..)| Err(EnvelopeError::Mismatch(name)))
}

fn check_rows(rows: &[RecipientRow], expected: &V2Expected<'_>) -> Result<(), EnvelopeError> {
    if let Some(row) = rows.iter().position(|row| !is_known(row, expected)) {
        return Err(EnvelopeError::UnknownRecipient { row });
    }
    if rows.iter().all(|row| row.role != Role::Peer) {
        return Err(EnvelopeError::NoPeer);
    }
    if has_all_devices(rows, expected) { Ok(()) } else { Err(EnvelopeError::MissingDevice) }
}

/// A row without a device is for every device of its AID.
fn has_all_devices(rows: &[RecipientRow], expected: &V2Expected<'_>) -> bool {
    let is_reader = |device: &str| {
        let is_row = |row: &RecipientRow| row.device_id.is_empty() || row.device_id == device;
        rows.iter().any(|row| row.role == Role::Peer && is_row(row))
    };
    match expected.recipient_device {
        Some(device) => is_reader(device),
        None => expected.recipient.devices.iter().all(|device| is_reader(device.device_id)),
    }
}

fn is_known(row: &RecipientRow, expected: &V2Expected<'_>) -> bool {
    let known = match row.role {
        Role::Audit => return false,
        Role::Peer => &expected.recipient,
        Role::SelfSync => &expected.own,
    };
    let mut devices = known.devices.iter();
    let is_device = match row.key_source {
        KeySource::AidMaster => {
            row.device_id.is_empty() || devices.any(|device| device.device_id == row.device_id)
        }
        KeySource::PeerDevicePrekey => devices
            .any(|device| device.device_id == row.device_id && device.spk_ids.contains(&row.spk_id.as_str())),
    };
    row.aid == known.aid && row.fingerprint == key_fingerprint(known.identity_key) && is_device
}
