//! Publishes the keys of this device.

use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_identity::e2ee::{SealingError, SignedPrekey, SignedSpk};
use guildhall_protocol::rpc::message_v2::{PrekeyBody, PutPeerKeyParams};
use guildhall_protocol::rpc::typed;

use super::error::MessengerError;
use super::messenger::Messenger;
use super::shared::Shared;
use super::store::KeyVersion;

impl Messenger {
    /// Publishes the keys of this device, so that others can seal messages for it. An [`InboxFollower`](super::InboxFollower) does
    /// it after each connection, and after a message was sealed for the newest key.
    pub async fn publish_keys(&self) -> Result<(), MessengerError> {
        self.shared().publish_keys().await
    }
}

impl Shared {
    pub(super) async fn publish_keys(&self) -> Result<(), MessengerError> {
        self.connected().await?;
        self.keys_due.store(false, Ordering::Relaxed);
        let published = async {
            self.publish_v2_key().await?;
            self.publish_v1_key().await
        };
        let published = published.await;
        if published.is_err() {
            self.keys_due.store(true, Ordering::Relaxed);
        }
        published
    }

    async fn publish_v2_key(&self) -> Result<(), MessengerError> {
        let current = self.store.current_key(KeyVersion::V2, self.clock.now())?;
        let signed =
            SignedSpk::sign(current.key.public_key(), current.created_at.as_second(), &*self.identity.key);
        let signed = signed.map_err(|_| MessengerError::Sealing(SealingError::Sign))?;
        let params = PutPeerKeyParams {
            peer_aid: Some(self.identity.aid.to_string()),
            spk_id: signed.spk_id,
            spk_pk: signed.spk_pk,
            spk_signature: signed.spk_signature,
            spk_timestamp: signed.spk_timestamp,
        };
        self.socket.call::<typed::PutPeerKey>(&params).await?;
        Ok(())
    }

    async fn publish_v1_key(&self) -> Result<(), MessengerError> {
        let current = self.store.current_key(KeyVersion::V1, self.clock.now())?;
        let (created_at, identity) = (current.created_at.as_millisecond(), &self.identity);
        let signed = SignedPrekey::sign(&current.id, current.key.public_key(), created_at, &*identity.key);
        let signed = signed.map_err(|_| MessengerError::Sealing(SealingError::Sign))?;
        let params = PrekeyBody {
            prekey_id: signed.prekey_id,
            public_key: STANDARD.encode(current.key.public_key().spki()),
            signature: signed.signature,
            created_at: signed.created_at,
            cert_fingerprint: None,
            device_id: self.store.device_id().to_owned(),
        };
        self.socket.call::<typed::PutPrekey>(&params).await?;
        Ok(())
    }
}
