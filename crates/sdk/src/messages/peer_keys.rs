//! The keys that a message is sealed for. Each one is verified: a server can neither add a device nor replace a key.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::v2::{Role, V2Recipient};
use guildhall_identity::e2ee::{MAX_RECIPIENTS, PrekeyError, SignedPrekey, SignedSpk};
use guildhall_identity::pki::{P256PublicKey, ParsedCertificate};
use guildhall_protocol::rpc::message_v2::{
    BootstrapParams, BootstrapResult, DeviceKeyBody, GetPrekeyParams, PrekeyBody,
};
use guildhall_protocol::rpc::typed;

use super::cache::{PeerKeys, V1Device, V1PeerKeys};
use super::error::{MessengerError, PeerKeyError};
use super::shared::Shared;
use super::trust::TrustError;

impl Shared {
    /// Returns the keys of the second version.
    pub(super) async fn v2_keys(&self, aid: &Aid) -> Result<Vec<V2Recipient>, MessengerError> {
        let now = self.clock.now();
        if let Some(PeerKeys::V2(known)) = self.peer_keys.get(aid, false, now) {
            return Ok(known);
        }
        let params = BootstrapParams { peer_aid: aid.to_string() };
        let found = self.socket.call::<typed::Bootstrap>(&params).await?;
        let pem = match found.certs.get(&aid.to_string()) {
            Some(certificate) => certificate.cert_pem.clone(),
            None => return Err(peer_error(aid, PeerKeyError::NoCertificate)),
        };
        let certificate = self.trust(aid, &pem).await.map_err(|error| messenger_error(aid, error))?;
        let recipients = v2_recipients(aid, &certificate.public_key, &found);
        let recipients = recipients.map_err(|error| peer_error(aid, error))?;
        self.peer_keys.insert(aid, false, now, &PeerKeys::V2(recipients.clone()));
        Ok(recipients)
    }

    /// Returns the keys of the first version.
    pub(super) async fn v1_keys(&self, aid: &Aid) -> Result<V1PeerKeys, MessengerError> {
        let now = self.clock.now();
        if let Some(PeerKeys::V1(known)) = self.peer_keys.get(aid, true, now) {
            return Ok(known);
        }
        let params = GetPrekeyParams { aid: aid.to_string() };
        let found = self.socket.call::<typed::GetPrekey>(&params).await?;
        let certificate = self.present_certificate(aid).await.map_err(|error| messenger_error(aid, error))?;
        let devices =
            v1_devices(&certificate, &found.device_prekeys).map_err(|error| peer_error(aid, error))?;
        let keys = V1PeerKeys { certificate, devices };
        self.peer_keys.insert(aid, true, now, &PeerKeys::V1(keys.clone()));
        Ok(keys)
    }
}

pub(super) fn peer_error(aid: &Aid, source: PeerKeyError) -> MessengerError {
    MessengerError::Peer { aid: aid.clone(), source: Box::new(source) }
}

pub(super) fn messenger_error(aid: &Aid, error: TrustError) -> MessengerError {
    match error {
        TrustError::Peer(error) => peer_error(aid, error),
        TrustError::KeyChanged(change) => change.into(),
        TrustError::Server(error) => MessengerError::Socket(error.into()),
        TrustError::Store(error) => error.into(),
    }
}

/// Verifies what a server names as the devices of an AID.
fn v2_recipients(
    aid: &Aid,
    identity_key: &P256PublicKey,
    found: &BootstrapResult,
) -> Result<Vec<V2Recipient>, PeerKeyError> {
    if !found.audit_recipients.is_empty() {
        return Err(PeerKeyError::OtherReader);
    }
    let devices: BTreeSet<&str> = found.peer_devices.iter().map(|device| device.device_id.as_str()).collect();
    if devices.len() != found.peer_devices.len() || !(1..=MAX_RECIPIENTS).contains(&devices.len()) {
        return Err(PeerKeyError::DeviceCount);
    }
    found.peer_devices.iter().map(|device| v2_recipient(aid, identity_key, device)).collect()
}

fn v2_recipient(
    aid: &Aid,
    identity_key: &P256PublicKey,
    device: &DeviceKeyBody,
) -> Result<V2Recipient, PeerKeyError> {
    if device.aid != aid.to_string() {
        return Err(PeerKeyError::OtherReader);
    }
    if device.ik_pk != STANDARD.encode(identity_key.spki()) {
        return Err(PeerKeyError::OtherIdentityKey);
    }
    let spk = match device {
        DeviceKeyBody {
            spk_id: Some(spk_id),
            spk_pk: Some(spk_pk),
            spk_signature: Some(spk_signature),
            spk_timestamp: Some(spk_timestamp),
            ..
        } => {
            let signed = SignedSpk {
                spk_id: spk_id.clone(),
                spk_pk: spk_pk.clone(),
                spk_signature: spk_signature.clone(),
                spk_timestamp: *spk_timestamp,
            };
            let unsigned = |source| PeerKeyError::UnsignedDevice { device: device.device_id.clone(), source };
            Some(signed.verify(identity_key).map_err(unsigned)?)
        }
        // For the identity key alone, which nobody else has.
        DeviceKeyBody { .. } => None,
    };
    Ok(V2Recipient {
        aid: device.aid.clone(),
        device_id: device.device_id.clone(),
        role: Role::Peer,
        identity_key: identity_key.clone(),
        spk,
    })
}

/// Verifies what a server names as the prekeys of an AID. Those for an older certificate are left out.
fn v1_devices(
    certificate: &ParsedCertificate,
    prekeys: &[PrekeyBody],
) -> Result<Vec<V1Device>, PeerKeyError> {
    if prekeys.len() > MAX_RECIPIENTS {
        return Err(PeerKeyError::DeviceCount);
    }
    let mut devices: Vec<V1Device> = Vec::new();
    for prekey in prekeys {
        let signed = SignedPrekey {
            prekey_id: prekey.prekey_id.clone(),
            public_key: prekey.public_key.clone(),
            created_at: prekey.created_at,
            signature: prekey.signature.clone(),
            cert_fingerprint: prekey.cert_fingerprint.clone(),
            device_id: prekey.device_id.clone(),
        };
        let device_id = prekey.device_id.clone();
        match signed.verify(certificate) {
            Ok(_) if devices.iter().any(|device| device.device_id == device_id) => {
                return Err(PeerKeyError::DeviceCount);
            }
            Ok(key) => devices.push(V1Device { device_id, prekey_id: signed.prekey_id, key }),
            Err(PrekeyError::OtherCertificate) => {}
            Err(source @ (PrekeyError::Id | PrekeyError::Key | PrekeyError::Signature)) => {
                return Err(PeerKeyError::UnsignedDevice { device: device_id, source });
            }
        }
    }
    Ok(devices)
}
