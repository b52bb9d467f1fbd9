//! What a server can check without a private key, so that no reader gets a message that it cannot open.

use guildhall_domain::identity::CertificateFingerprint;

use super::super::error::EnvelopeError;
use super::super::fingerprint::certificate_fingerprint;
use super::aad::V1Mode;
use super::envelope::V1Envelope;
use super::multi_device::{DeviceCopy, V1MultiDevice};
use crate::pki::ParsedCertificate;

/// The keys of an AID that its devices may still have.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys<'a> {
    /// Valid certificates. A device compares the one that the message names with its own.
    pub certificates: &'a [CertificateFingerprint],
    /// Devices and the prekeys that they published. Senders keep what they got for five minutes.
    pub prekeys: &'a [(&'a str, &'a str)],
}

/// What an envelope is compared with.
#[derive(Debug, Clone, Copy)]
pub struct V1Expected<'a> {
    /// The certificate that the envelope names. The caller checks that the connection's AID owns it.
    pub sender: &'a ParsedCertificate,
    pub to: &'a str,
    pub message_id: &'a str,
    /// The keys of the AID that reads this copy.
    pub reader: KnownKeys<'a>,
}

/// What a message for several devices is compared with.
#[derive(Debug, Clone, Copy)]
pub struct V1MultiDeviceExpected<'a> {
    /// For the copies of the recipient.
    pub copy: V1Expected<'a>,
    /// The sender's own keys, for the copies of its other devices.
    pub own: KnownKeys<'a>,
}

/// Checks an envelope as it was sent. It was parsed from its exact text, which named the certificate to look for.
///
/// What only a recipient can check: that its keys give the key of the message, and so the ciphertext.
pub fn check_v1_envelope(envelope: &V1Envelope, expected: &V1Expected<'_>) -> Result<(), EnvelopeError> {
    check(envelope, expected, None, 0)
}

/// Checks each envelope of a message for several devices.
pub fn check_v1_multi_device(
    message: &V1MultiDevice,
    expected: &V1MultiDeviceExpected<'_>,
) -> Result<(), EnvelopeError> {
    if message.logical_message_id != expected.copy.message_id {
        return Err(EnvelopeError::Mismatch("logical_message_id"));
    }
    let own = V1Expected { reader: expected.own, ..expected.copy };
    let copies = message.recipient_copies.iter().map(|copy| (copy, &expected.copy));
    let mut copies = copies.chain(message.self_copies.iter().map(|copy| (copy, &own))).enumerate();
    copies.try_for_each(|(row, (DeviceCopy { device_id, envelope }, expected))| {
        check(envelope, expected, Some(device_id), row)
    })
}

fn check(
    envelope: &V1Envelope,
    expected: &V1Expected<'_>,
    device_id: Option<&str>,
    row: usize,
) -> Result<(), EnvelopeError> {
    let aad = &envelope.aad;
    let names = [
        ("aad.from", aad.from.as_str(), expected.sender.common_name.as_str()),
        ("aad.to", &aad.to, expected.to),
        ("aad.message_id", &aad.message_id, expected.message_id),
    ];
    if let Some((name, ..)) = names.into_iter().find(|(_, sealed, clear)| sealed != clear) {
        return Err(EnvelopeError::Mismatch(name));
    }
    let KnownKeys { certificates, prekeys } = expected.reader;
    let is_certificate =
        certificates.iter().any(|known| certificate_fingerprint(known) == aad.recipient_cert_fingerprint);
    let is_key = match &aad.mode {
        V1Mode::LongTermKey => true,
        V1Mode::PrekeyEcdhV2 { prekey_id } => prekeys
            .iter()
            .any(|(device, known)| known == prekey_id && device_id.is_none_or(|wanted| wanted == *device)),
    };
    if !is_certificate || !is_key {
        return Err(EnvelopeError::UnknownRecipient { row });
    }
    envelope.verify_sender(expected.sender)
}
