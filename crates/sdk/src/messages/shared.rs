//! What the parts of a messenger share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use guildhall_protocol::rpc::auth::ConnectResult;
use guildhall_runtime::Clock;

use super::cache::{CertificateCache, PeerKeyCache};
use super::error::MessengerError;
use super::identity::MessengerIdentity;
use super::store::DeviceStore;
use crate::socket::{SocketClient, SocketEndpoint};

/// The state of a messenger.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) socket: SocketClient,
    pub(super) endpoint: SocketEndpoint,
    pub(super) identity: MessengerIdentity,
    pub(super) store: DeviceStore,
    pub(super) clock: Clock,
    pub(super) certificates: CertificateCache,
    pub(super) peer_keys: PeerKeyCache,
    /// The keys of this device are to be published again.
    pub(super) keys_due: AtomicBool,
}

impl Shared {
    /// Waits until there is a connection, and checks that it is one of the device whose keys are stored.
    pub(super) async fn connected(&self) -> Result<Arc<ConnectResult>, MessengerError> {
        let info = self.socket.connected().await?;
        let (connected, store) = (&info.connection.device_id, self.store.device_id());
        if connected != store {
            let (connected, store) = (connected.clone(), store.to_owned());
            return Err(MessengerError::OtherDevice { connected, store });
        }
        Ok(info)
    }
}
