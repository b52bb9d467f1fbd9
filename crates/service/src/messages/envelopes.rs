//! Checks of sealed messages that need no private key.

use std::collections::BTreeSet;

use guildhall_domain::identity::CertificateFingerprint;
use guildhall_domain::messages::keys::SignedPrekey;
use guildhall_domain::messages::{MessageId, SentPayload};
use guildhall_identity::e2ee::EnvelopeError;
use guildhall_identity::e2ee::v1::{
    KnownKeys, V1Envelope, V1Expected, V1Mode, V1MultiDevice, V1MultiDeviceExpected, check_v1_envelope,
    check_v1_multi_device,
};
use guildhall_identity::e2ee::v2::{KnownAid, KnownDevice, V2Envelope, V2Expected, check_v2_envelope};
use guildhall_identity::pki::{P256PublicKey, ParsedCertificate};

use super::InboxClient;

/// A sealed message that was parsed.
pub(super) enum SealedEnvelope {
    V1(Box<V1Envelope>),
    V1Copies(Box<V1MultiDevice>),
    V2(Box<V2Envelope>),
}

/// What an envelope is compared with.
pub(super) struct Expected<'a> {
    pub(super) client: &'a InboxClient,
    /// The certificate that the envelope names.
    pub(super) sender: &'a ParsedCertificate,
    pub(super) own_key: &'a P256PublicKey,
    pub(super) own_keys: &'a [SignedPrekey],
    pub(super) to: &'a str,
    pub(super) from: &'a str,
    /// The id beside the envelope.
    pub(super) message_id: Option<&'a MessageId>,
    pub(super) recipient_key: &'a P256PublicKey,
    pub(super) recipient_keys: &'a [SignedPrekey],
    /// The one device of the recipient that the message is for; none for all.
    pub(super) recipient_device: Option<&'a str>,
    /// Those that the envelope names.
    pub(super) recipient_certificates: &'a [CertificateFingerprint],
}

impl SealedEnvelope {
    /// Returns none for a message that is not sealed.
    pub(super) fn parse(payload: &SentPayload) -> Result<Option<Self>, EnvelopeError> {
        Ok(match payload {
            SentPayload::Plain(_) => None,
            SentPayload::SealedV1(envelope) => {
                Some(Self::V1(Box::new(V1Envelope::parse(&envelope.to_string())?)))
            }
            SentPayload::SealedV1Copies { whole, .. } => {
                Some(Self::V1Copies(Box::new(V1MultiDevice::parse(&whole.to_string())?)))
            }
            SentPayload::SealedV2(envelope) => {
                Some(Self::V2(Box::new(V2Envelope::parse(&envelope.to_string())?)))
            }
        })
    }

    /// Returns the fingerprint of the certificate that the sender has used.
    pub(super) fn sender_fingerprint(&self) -> &str {
        match self {
            Self::V1(envelope) => &envelope.aad.sender_cert_fingerprint,
            Self::V1Copies(message) => {
                let copies = message.recipient_copies.iter().chain(&message.self_copies);
                copies
                    .map(|copy| copy.envelope.aad.sender_cert_fingerprint.as_str())
                    .next()
                    .unwrap_or_default()
            }
            Self::V2(envelope) => &envelope.sender_cert_fingerprint,
        }
    }

    /// Returns the fingerprints of the recipient's certificates that the sender has used, first version.
    pub(super) fn recipient_fingerprints(&self) -> BTreeSet<&str> {
        match self {
            Self::V1(envelope) => BTreeSet::from([envelope.aad.recipient_cert_fingerprint.as_str()]),
            Self::V1Copies(message) => message
                .recipient_copies
                .iter()
                .map(|copy| copy.envelope.aad.recipient_cert_fingerprint.as_str())
                .collect(),
            Self::V2(_) => BTreeSet::new(),
        }
    }

    /// Returns whether the recipient's devices need the private key of a prekey to open it, first version.
    pub(super) fn needs_recipient_prekey(&self) -> bool {
        let needs = |envelope: &V1Envelope| matches!(envelope.aad.mode, V1Mode::PrekeyEcdhV2 { .. });
        match self {
            Self::V1(envelope) => needs(envelope),
            Self::V1Copies(message) => message.recipient_copies.iter().any(|copy| needs(&copy.envelope)),
            Self::V2(_) => false,
        }
    }

    /// Returns the id that was sealed with the message.
    pub(super) fn message_id(&self) -> Option<MessageId> {
        match self {
            Self::V1(envelope) => envelope.aad.message_id.parse().ok(),
            Self::V1Copies(message) => message.logical_message_id.parse().ok(),
            Self::V2(envelope) => envelope.aad.message_id.parse().ok(),
        }
    }

    pub(super) fn check(&self, expected: &Expected<'_>) -> Result<(), EnvelopeError> {
        match self {
            Self::V1(envelope) => {
                let prekeys = prekeys_of([("", envelope.as_ref())].into_iter());
                check_v1_envelope(envelope, &v1_expected(expected, &expected_id(self, expected), &prekeys))
            }
            Self::V1Copies(message) => {
                let copies = message.recipient_copies.iter().chain(&message.self_copies);
                let prekeys = prekeys_of(copies.map(|copy| (copy.device_id.as_str(), &copy.envelope)));
                let own = message.self_copies.iter();
                // The copies of the sender's own devices name a certificate of its own key, which has signed them.
                let own = own.map(|_| expected.sender.fingerprint).take(1).collect::<Vec<_>>();
                let id = expected_id(self, expected);
                let copy = v1_expected(expected, &id, &prekeys);
                let own = KnownKeys { certificates: &own, prekeys: &prekeys };
                check_v1_multi_device(message, &V1MultiDeviceExpected { copy, own })
            }
            Self::V2(envelope) => check_v2(envelope, expected),
        }
    }
}

/// The id beside the envelope, or the one in it where there is none.
fn expected_id(envelope: &SealedEnvelope, expected: &Expected<'_>) -> String {
    let inside = || envelope.message_id().map(|id| id.to_string()).unwrap_or_default();
    expected.message_id.map_or_else(inside, ToString::to_string)
}

/// The prekeys that a message names. Devices keep theirs for a week, and make a new one after each message: which ones they have
/// is not known here.
fn prekeys_of<'a>(copies: impl Iterator<Item = (&'a str, &'a V1Envelope)>) -> Vec<(&'a str, &'a str)> {
    let named = copies.filter_map(|(device, envelope)| match &envelope.aad.mode {
        V1Mode::PrekeyEcdhV2 { prekey_id } => Some((device, prekey_id.as_str())),
        V1Mode::LongTermKey => None,
    });
    named.collect()
}

fn v1_expected<'a>(
    expected: &'a Expected<'_>,
    message_id: &'a str,
    prekeys: &'a [(&'a str, &'a str)],
) -> V1Expected<'a> {
    V1Expected {
        sender: expected.sender,
        to: expected.to,
        message_id,
        reader: KnownKeys { certificates: expected.recipient_certificates, prekeys },
    }
}

fn check_v2(envelope: &V2Envelope, expected: &Expected<'_>) -> Result<(), EnvelopeError> {
    let (recipient, own) = (ids_by_device(expected.recipient_keys), ids_by_device(expected.own_keys));
    let (recipient, own) = (devices(&recipient), devices(&own));
    check_v2_envelope(
        envelope,
        &V2Expected {
            sender: expected.sender,
            sender_device: expected.client.instance.device(),
            message_id: expected.message_id.map(MessageId::as_str),
            recipient: KnownAid {
                aid: expected.to,
                identity_key: expected.recipient_key,
                devices: &recipient,
            },
            recipient_device: expected.recipient_device,
            own: KnownAid { aid: expected.from, identity_key: expected.own_key, devices: &own },
        },
    )
}

/// The ids of keys, those of a device together as they are listed.
fn ids_by_device(keys: &[SignedPrekey]) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for key in keys {
        match found.last_mut() {
            Some((device, ids)) if *device == key.device => ids.push(&key.id),
            Some(_) | None => found.push((&key.device, vec![&key.id])),
        }
    }
    found
}

fn devices<'a>(ids: &'a [(&'a str, Vec<&'a str>)]) -> Vec<KnownDevice<'a>> {
    ids.iter().map(|(device_id, spk_ids)| KnownDevice { device_id, spk_ids }).collect()
}
