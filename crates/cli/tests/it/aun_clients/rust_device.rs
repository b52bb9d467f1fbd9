//! Devices with the Rust client.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::IdentityKey;
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey};
use guildhall_identity::trust::root_of_chain;
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::messages::{
    DeviceStore, InboxFollower, InboxItem, Messenger, MessengerError, MessengerIdentity, ReceivedMessage,
    SendOptions, SentMessage,
};
use guildhall_sdk::socket::{ServerTrust, SocketClient, SocketEndpoint, SocketOptions};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::replicas::AunReplicas;
use crate::support::aid_user::AidUser;

/// Ends a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An AID with its key, as several devices have it.
#[derive(Clone)]
pub(crate) struct RustAid {
    pub(crate) aid: Aid,
    pub(crate) certificate: String,
    pub(crate) key: Arc<EcKey>,
    pub(crate) server: ServerTrust,
}

/// A device of an AID. It keeps its folder when it restarts.
pub(crate) struct RustDevice {
    pub(crate) owner: RustAid,
    folder: TempDir,
    pub(crate) messenger: Messenger,
    tasks: Tasks,
}

impl RustAid {
    pub(crate) async fn register(replicas: &AunReplicas, name: &str) -> Self {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let key = EcKey::generate(Curve::P256).expect("a key");
        let aid: Aid = format!("{name}.guild.test").parse().expect("an AID");
        let registered = endpoint(&[replicas.url(0)]).register(&aid, &public_key(&key)).await;
        let root = std::fs::read_to_string(replicas.root()).expect("a root");
        let server = ServerTrust::Roots(root_of_chain(&root).into_iter().collect());
        Self { aid, certificate: registered.expect("registered"), key: Arc::new(key), server }
    }

    /// Takes an AID that an operator of these replicas has created.
    pub(crate) fn of_operator(replicas: &AunReplicas, user: &AidUser) -> Self {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
        let key = EcKey::from_pem(Curve::P256, &SecretString::from(read(&user.key_file()))).expect("a key");
        let certificate = read(&user.user.home().join(format!("{}.crt", user.aid)));
        let server = ServerTrust::Roots(root_of_chain(&read(&replicas.root())).into_iter().collect());
        Self { aid: user.aid.parse().expect("an AID"), certificate, key: Arc::new(key), server }
    }

    fn identity(&self) -> MessengerIdentity {
        let key = Arc::<EcKey>::clone(&self.key) as Arc<dyn IdentityKey>;
        let identity = MessengerIdentity::new(self.aid.clone(), &self.certificate, key, self.server.clone());
        identity.expect("an identity")
    }
}

impl RustDevice {
    /// Starts a new device, which connects to these replicas.
    pub(crate) fn start(owner: &RustAid, urls: &[String]) -> Self {
        Self::open(owner.clone(), tempfile::tempdir().expect("a folder"), urls)
    }

    fn open(owner: RustAid, folder: TempDir, urls: &[String]) -> Self {
        let (identity, endpoint, clock) = (owner.identity(), endpoint(urls), Clock::system());
        let store = DeviceStore::open(folder.path(), &identity).expect("a folder");
        let credentials = identity.credentials(&*owner.certificate);
        let options = SocketOptions::for_aid(endpoint.clone(), credentials, store.device_id(), clock.clone());
        let tasks = Tasks::new();
        let socket = SocketClient::start(options, &tasks);
        let messenger = Messenger::new(socket, endpoint, identity, store, clock);
        Self { owner, folder, messenger, tasks }
    }

    /// Starts the device again, with another key of its AID if it has one now.
    pub(crate) async fn restart(self, owner: &RustAid, urls: &[String]) -> Self {
        self.messenger.socket().close().await;
        let left = self.tasks.shutdown(TIMEOUT).await;
        assert!(left.is_empty(), "{left:?}");
        Self::open(owner.clone(), self.folder, urls)
    }

    pub(crate) async fn send(&self, to: &Aid, words: &str) -> SentMessage {
        self.try_send(to, words, &SendOptions::default()).await.expect("sent")
    }

    pub(crate) async fn try_send(
        &self,
        to: &Aid,
        words: &str,
        options: &SendOptions,
    ) -> Result<SentMessage, MessengerError> {
        timeout(TIMEOUT, self.messenger.send(to, &text(words), options)).await.expect("an answer")
    }
}

/// Waits for the next item that is stored in the inbox.
pub(crate) async fn next_item(inbox: &mut InboxFollower) -> InboxItem {
    loop {
        let item = timeout(TIMEOUT, inbox.next()).await.expect("an item").expect("no final error");
        if item.seq().is_some() {
            return item;
        }
    }
}

/// Waits for the next message, which can be read.
pub(crate) async fn next_message(inbox: &mut InboxFollower) -> ReceivedMessage {
    let item = next_item(inbox).await;
    let InboxItem::Message(message) = item else { panic!("{item:?}") };
    *message
}

/// Reads until the inbox has no more.
pub(crate) async fn read_all(inbox: &mut InboxFollower) -> Vec<InboxItem> {
    let mut items = Vec::new();
    loop {
        match timeout(TIMEOUT, inbox.next()).await.expect("an item").expect("no final error") {
            InboxItem::CaughtUp => return items,
            InboxItem::Disconnected(_) => {}
            item @ (InboxItem::Message(_) | InboxItem::Recall(_) | InboxItem::Unreadable(_)) => {
                items.push(item)
            }
        }
    }
}

pub(crate) fn text(words: &str) -> Map<String, Value> {
    json!({ "type": "text", "text": words }).as_object().cloned().unwrap_or_default()
}

pub(crate) fn endpoint(urls: &[String]) -> SocketEndpoint {
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    SocketEndpoint::with_gateways(&urls, &[]).expect("URLs")
}

pub(crate) fn public_key(key: &EcKey) -> String {
    STANDARD.encode(P256PublicKey::of(key).expect("a public key").spki())
}
