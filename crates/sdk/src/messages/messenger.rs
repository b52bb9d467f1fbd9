//! The handle of a messenger.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use guildhall_domain::FailureKind;
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::random_id;
use guildhall_protocol::rpc::auth::DeliveryMode as DeliveryModeBody;
use guildhall_protocol::rpc::message::{SendParams, SendResult};
use guildhall_protocol::rpc::message_v2::BootstrapParams;
use guildhall_protocol::rpc::typed;
use guildhall_runtime::Clock;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::cache::{CertificateCache, PeerKeyCache};
use super::delivery_marks::DeliveryMarks;
use super::error::{KeyChange, MessengerError};
use super::identity::MessengerIdentity;
use super::inbox_item::SealKind;
use super::sealing::{MessageToSeal, SealedPayload};
use super::send::{SealChoice, SendOptions, SentMessage};
use super::shared::Shared;
use super::store::DeviceStore;
use crate::Client;
use crate::backoff::Backoff;
use crate::socket::{SocketClient, SocketEndpoint, SocketError};

/// How often a message is sent where nobody knows whether it was stored. Its id makes them one message.
const MAX_ATTEMPTS: u32 = 4;

/// Sends messages, and follows the inbox of a device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Messenger(Arc<Shared>);

impl Messenger {
    /// Takes a socket that is connected, or will be, as the device of the store.
    #[must_use]
    pub fn new(
        socket: SocketClient,
        endpoint: SocketEndpoint,
        identity: MessengerIdentity,
        store: DeviceStore,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Shared {
            socket,
            endpoint,
            identity,
            store,
            clock,
            certificates: CertificateCache::default(),
            peer_keys: PeerKeyCache::default(),
            keys_due: AtomicBool::new(true),
        }))
    }

    /// Sends a message. Returns when the server has stored it.
    ///
    /// A lost connection does not send it twice: it is repeated with the same id.
    pub async fn send(
        &self,
        to: &Aid,
        payload: &Map<String, Value>,
        options: &SendOptions,
    ) -> Result<SentMessage, MessengerError> {
        let message_id = match &options.message_id {
            Some(id) => id.to_string(),
            None => format!("m-{}", random_id()),
        };
        let message = MessageToSeal { to, message_id: &message_id, payload, headers: &options.headers };
        if options.seal == SealChoice::NotSealed {
            let sealed =
                SealedPayload { payload: payload.clone(), envelope_type: "", seal: SealKind::NotSealed };
            return self.send_once(message, sealed, options).await;
        }
        match self.seal_and_send(message, options).await {
            Err(MessengerError::Socket(error)) if is_stale(&error) => {
                // Of the sender too: its other devices get a copy.
                [to, &self.0.identity.aid].into_iter().for_each(|aid| self.0.peer_keys.remove(aid));
                self.seal_and_send(message, options).await
            }
            sent => sent,
        }
    }

    /// Returns whether an AID is an agent whose key its server holds. Messages to it are not encrypted end to end.
    pub async fn is_hosted(&self, aid: &Aid) -> Result<bool, MessengerError> {
        let params = BootstrapParams { peer_aid: aid.to_string() };
        match self.0.socket.call::<typed::Bootstrap>(&params).await {
            Ok(found) => Ok(found.hosted),
            // It has keys of the first version alone: a client has stored them.
            Err(error) if error.kind() == Some(FailureKind::Conflict) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Accepts the new identity key of somebody, as the owner has confirmed it.
    pub fn accept_key(&self, change: &KeyChange) -> Result<(), MessengerError> {
        self.0.store.pin_key(&change.aid, &change.found)?;
        self.0.peer_keys.remove(&change.aid);
        self.0.certificates.clear();
        Ok(())
    }

    /// Returns the notices of recipients that have confirmed messages of this AID, from now on.
    #[must_use]
    pub fn delivery_marks(&self) -> DeliveryMarks {
        DeliveryMarks::new(self.0.socket.events())
    }

    /// Returns the socket, for methods such as `message.recall`.
    #[must_use]
    pub fn socket(&self) -> &SocketClient {
        &self.0.socket
    }

    #[must_use]
    pub fn store(&self) -> &DeviceStore {
        &self.0.store
    }

    /// Returns the AID of this device.
    #[must_use]
    pub fn aid(&self) -> &Aid {
        &self.0.identity.aid
    }

    /// Returns a client of the server without a token, for what everybody may read.
    pub(crate) fn public_client(&self) -> &Client {
        self.0.endpoint.client()
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }

    async fn seal_and_send(
        &self,
        message: MessageToSeal<'_>,
        options: &SendOptions,
    ) -> Result<SentMessage, MessengerError> {
        // The names of the device are sealed too.
        self.0.connected().await?;
        let sealed = match options.seal {
            SealChoice::SealedV1 => self.0.seal_v1(message).await?,
            SealChoice::Sealed | SealChoice::NotSealed => self.0.seal(message).await?,
        };
        self.send_once(message, sealed, options).await
    }

    /// Sends a message until the server has stored it. Its id makes all attempts one message.
    async fn send_once(
        &self,
        message: MessageToSeal<'_>,
        sealed: SealedPayload,
        options: &SendOptions,
    ) -> Result<SentMessage, MessengerError> {
        let params = SendParams {
            to: message.to.to_string(),
            device_id: None,
            payload: sealed.payload,
            envelope_type: sealed.envelope_type.to_owned(),
            encrypted: sealed.seal != SealKind::NotSealed,
            message_id: Some(message.message_id.to_owned()),
            delivery_mode: options.delivery.map(|mode| DeliveryModeBody { mode: mode.as_str().to_owned() }),
        };
        let mut backoff = Backoff::default();
        for attempt in 1.. {
            match self.0.socket.call::<typed::Send>(&params).await {
                Ok(result) => return sent_message(result, sealed.seal),
                // Whether a message is worth a wait of a minute is for its sender to say.
                Err(error) if error.kind() == Some(FailureKind::RateLimited) => return Err(error.into()),
                Err(error) if error.is_transient() && attempt < MAX_ATTEMPTS => {
                    backoff.record_failure(error.retry_after());
                    tokio::time::sleep(backoff.delay()).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(SocketError::Closed.into())
    }
}

/// The keys that a message was sealed for are not those of the recipient's devices any more.
fn is_stale(error: &SocketError) -> bool {
    matches!(error.kind(), Some(FailureKind::StaleKeys | FailureKind::Conflict))
}

fn sent_message(result: SendResult, seal: SealKind) -> Result<SentMessage, MessengerError> {
    let stored_at = Timestamp::from_millisecond(result.timestamp);
    Ok(SentMessage {
        message_id: result.message_id,
        seq: result.seq,
        stored_at: stored_at.map_err(|_| SocketError::InvalidResponse("a time out of range"))?,
        seal,
        is_repeated: result.status == "duplicate",
    })
}
