//! The connection of one device: it is opened again when it breaks, and calls are repeated until they are answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey, ParsedCertificate, Signer, pem_to_der};
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::socket::{
    AidCredentials, AidLogin, ServerNotification, ServerTrust, SocketClient, SocketEndpoint, SocketError,
    SocketEvent, SocketEvents, SocketOptions,
};
use serde_json::Value;

use super::base64_text;
use super::history::Device;
use crate::support::cluster::Cluster;

/// Ends a test that hangs: no outage is as long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a call waits for its answer until the connection counts as broken.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// A registered AID.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) aid: String,
    pub(super) key: Arc<EcKey>,
    pub(super) certificate: ParsedCertificate,
    credentials: AidCredentials,
}

impl Identity {
    pub(super) async fn register(cluster: &Cluster, aid: String) -> Self {
        let key = EcKey::generate(Curve::P256).expect("a key");
        let public_key = base64_text(P256PublicKey::of(&key).expect("a P-256 key").spki());
        let parsed = aid.parse().expect("an AID");
        let endpoint = endpoint(cluster, 0);
        let pem = endpoint.register(&parsed, &public_key).await.expect("registered");
        let der = pem_to_der(&pem).expect("PEM");
        let certificate = ParsedCertificate::from_der(&der).expect("a certificate");
        let key = Arc::new(key);
        let signer: Arc<dyn Signer> = Arc::<EcKey>::clone(&key);
        let credentials =
            AidCredentials { aid: parsed, certificate: pem, key: signer, server: ServerTrust::Connection };
        Self { aid, key, certificate, credentials }
    }
}

/// Returns both replicas, beginning with one of them.
fn endpoint(cluster: &Cluster, first: usize) -> SocketEndpoint {
    let urls = [cluster.url(first, ""), cluster.url(first + 1, "")];
    SocketEndpoint::with_gateways(&[&urls[0], &urls[1]], &[]).expect("URLs")
}

pub(super) struct DeviceConnection {
    cluster: Arc<Cluster>,
    tasks: Tasks,
    endpoint: SocketEndpoint,
    login: Arc<AidLogin>,
    pub(super) name: String,
    open: Option<(SocketClient, SocketEvents)>,
    /// Connections until now.
    pub(super) opened: usize,
}

impl DeviceConnection {
    pub(super) fn new(cluster: &Arc<Cluster>, tasks: &Tasks, identity: &Identity, device: Device) -> Self {
        let endpoint = endpoint(cluster, device.principal + device.number);
        let login = AidLogin::new(endpoint.clone(), identity.credentials.clone(), Clock::system());
        Self {
            cluster: Arc::clone(cluster),
            tasks: tasks.clone(),
            endpoint,
            login: Arc::new(login),
            name: format!("device-{}", device.number),
            open: None,
            opened: 0,
        }
    }

    /// Closes the connection. The next call opens another one.
    pub(super) async fn close(&mut self) {
        if let Some((client, events)) = self.open.take() {
            drop(events);
            client.close().await;
        }
    }

    /// Returns the notifications that have arrived.
    pub(super) fn notifications(&mut self) -> Vec<Arc<ServerNotification>> {
        let mut found = Vec::new();
        let Some((_, events)) = &mut self.open else { return found };
        while let Some(Some(event)) = events.next().now_or_never() {
            if let SocketEvent::Notification(notification) = event {
                found.push(notification);
            }
        }
        found
    }

    /// Makes a call until it is answered: the same call, also where it may have been handled before.
    pub(super) async fn call(&mut self, method: &str, params: &Value) -> Value {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let outage = self.cluster.progress.present();
            let error = match self.try_call(method, params).await {
                Ok(result) => {
                    if method == "message.send" {
                        self.cluster.progress.record_confirmed(outage);
                    }
                    return result;
                }
                Err(error) => error,
            };
            assert!(error.is_transient(), "{method} {params}: {error:?}");
            assert!(Instant::now() < deadline, "{method} is not answered: {error:?}");
            self.cluster.record_failed_request();
            if !matches!(error, SocketError::Failed(_)) {
                self.open = None;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn try_call(&mut self, method: &str, params: &Value) -> Result<Value, SocketError> {
        let client = match &self.open {
            Some((client, _)) => client,
            None => {
                // A new client each time: the pauses of one that connects again by itself grow up to half a minute.
                let login = Arc::clone(&self.login);
                let options = SocketOptions::new(self.endpoint.clone(), login, &*self.name, Clock::system())
                    .with_call_timeout(CALL_TIMEOUT);
                let client = SocketClient::connect(options, &self.tasks).await?;
                self.opened += 1;
                let events = client.events();
                &self.open.insert((client, events)).0
            }
        };
        client.call_raw(method, params.clone()).await
    }
}
