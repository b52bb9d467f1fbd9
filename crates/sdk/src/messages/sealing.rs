//! Seals messages for the devices of their recipient and the other devices of the sender.

use std::collections::BTreeMap;

use guildhall_domain::FailureKind;
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::v1::{
    DeviceCopy, ENVELOPE_TYPE, MULTI_DEVICE_TYPE, V1Message, V1MultiDevice, V1Recipient,
};
use guildhall_identity::e2ee::v2::{Role, V2Message, V2Recipient};
use guildhall_identity::e2ee::{ExactJson, JsonObject, SealingError};
use serde_json::{Map, Value};

use super::cache::V1PeerKeys;
use super::error::MessengerError;
use super::inbox_item::SealKind;
use super::shared::Shared;

/// A payload that was sealed, and what stands beside it.
#[derive(Debug)]
pub(super) struct SealedPayload {
    pub(super) payload: Map<String, Value>,
    pub(super) envelope_type: &'static str,
    pub(super) seal: SealKind,
}

/// A message to seal.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageToSeal<'a> {
    pub(super) to: &'a Aid,
    pub(super) message_id: &'a str,
    pub(super) payload: &'a Map<String, Value>,
    /// Only for the second version.
    pub(super) headers: &'a BTreeMap<String, String>,
}

impl Shared {
    /// Seals a message in the second version, or in the first where the recipient has no other keys.
    pub(super) async fn seal(&self, message: MessageToSeal<'_>) -> Result<SealedPayload, MessengerError> {
        match self.v2_keys(message.to).await {
            Ok(peer) => self.seal_v2(message, peer).await,
            Err(MessengerError::Socket(error))
                if error.kind() == Some(FailureKind::Conflict) && message.headers.is_empty() =>
            {
                self.seal_v1(message).await
            }
            Err(error) => Err(error),
        }
    }

    async fn seal_v2(
        &self,
        message: MessageToSeal<'_>,
        mut recipients: Vec<V2Recipient>,
    ) -> Result<SealedPayload, MessengerError> {
        if *message.to != self.identity.aid {
            recipients.extend(self.own_v2_devices().await?);
        }
        let payload = exact(message.payload)?;
        let to_seal = V2Message {
            from: &self.identity.aid.to_string(),
            from_device: self.store.device_id(),
            to: &message.to.to_string(),
            message_id: message.message_id,
            timestamp_ms: self.clock.now().as_millisecond(),
            payload: &payload,
        };
        let envelope = to_seal.seal_with_headers(&*self.identity.key, &recipients, message.headers);
        let envelope = envelope.map_err(MessengerError::Sealing)?;
        Ok(SealedPayload { payload: object(&envelope.to_text())?, envelope_type: "", seal: SealKind::V2 })
    }

    /// Returns the other devices of this AID.
    async fn own_v2_devices(&self) -> Result<Vec<V2Recipient>, MessengerError> {
        let own = match self.v2_keys(&self.identity.aid).await {
            Ok(own) => own,
            // They have keys of the first version alone.
            Err(MessengerError::Socket(error)) if error.kind() == Some(FailureKind::Conflict) => Vec::new(),
            Err(error) => return Err(error),
        };
        let is_other =
            |device: &V2Recipient| device.spk.is_some() && device.device_id != self.store.device_id();
        let others = own.into_iter().filter(is_other);
        Ok(others.map(|device| V2Recipient { role: Role::SelfSync, ..device }).collect())
    }

    /// Seals a message in the first version: one envelope, or a copy for each device.
    pub(super) async fn seal_v1(&self, message: MessageToSeal<'_>) -> Result<SealedPayload, MessengerError> {
        let (identity, payload) = (&self.identity, exact(message.payload)?);
        let peer = self.v1_keys(message.to).await?;
        let to_seal = V1Message {
            from: &identity.certificate,
            to: &message.to.to_string(),
            message_id: message.message_id,
            timestamp_ms: self.clock.now().as_millisecond(),
            payload: &payload,
        };
        let own = if *message.to == identity.aid { None } else { Some(self.other_v1_devices().await?) };
        let own = own.filter(|own| !own.devices.is_empty());
        let sealed = if peer.devices.len() <= 1 && own.is_none() {
            let prekey = peer.devices.first().map(|device| (&*device.prekey_id, &device.key));
            let recipient = V1Recipient { certificate: &peer.certificate, prekey };
            let envelope = to_seal.seal(&*identity.key, &recipient).map_err(MessengerError::Sealing)?;
            (envelope.to_text(), ENVELOPE_TYPE)
        } else {
            let copies = V1MultiDevice {
                logical_message_id: message.message_id.to_owned(),
                recipient_copies: self.copies(&to_seal, &peer)?,
                self_copies: own.map(|own| self.copies(&to_seal, &own)).transpose()?.unwrap_or_default(),
                rest: JsonObject::new(),
            };
            (copies.to_text(), MULTI_DEVICE_TYPE)
        };
        Ok(SealedPayload { payload: object(&sealed.0)?, envelope_type: sealed.1, seal: SealKind::V1 })
    }

    async fn other_v1_devices(&self) -> Result<V1PeerKeys, MessengerError> {
        let mut own = self.v1_keys(&self.identity.aid).await?;
        own.devices.retain(|device| device.device_id != self.store.device_id());
        Ok(own)
    }

    fn copies(&self, message: &V1Message<'_>, keys: &V1PeerKeys) -> Result<Vec<DeviceCopy>, MessengerError> {
        let copies = keys.devices.iter().map(|device| {
            let prekey = Some((&*device.prekey_id, &device.key));
            let recipient = V1Recipient { certificate: &keys.certificate, prekey };
            let envelope = message.seal(&*self.identity.key, &recipient)?;
            Ok(DeviceCopy { device_id: device.device_id.clone(), envelope })
        });
        copies.collect::<Result<_, _>>().map_err(MessengerError::Sealing)
    }
}

fn exact(payload: &Map<String, Value>) -> Result<JsonObject, MessengerError> {
    let text = serde_json::to_string(payload).map_err(|_| MessengerError::Sealing(SealingError::Payload))?;
    ExactJson::parse_object(&text).map_err(|_| MessengerError::Sealing(SealingError::Payload))
}

fn object(text: &str) -> Result<Map<String, Value>, MessengerError> {
    serde_json::from_str(text).map_err(|_| MessengerError::Sealing(SealingError::Payload))
}
