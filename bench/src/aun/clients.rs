//! AIDs with their tokens, and their connections.

use std::sync::Arc;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::stream::{self, StreamExt, TryStreamExt};
use guildhall_identity::pki::{Curve, EcKey, P256PublicKey};
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::socket::{
    AidCredentials, AidLogin, AidTokens, ServerTrust, SocketClient, SocketEndpoint, SocketOptions,
};

use super::gateway::ISSUER;

/// Requests at a time.
const AT_ONCE: usize = 16;

/// An AID that has logged in.
pub(crate) struct LoggedInAid {
    credentials: AidCredentials,
    tokens: AidTokens,
}

impl LoggedInAid {
    pub(crate) fn name(&self) -> String {
        self.credentials.aid.to_string()
    }

    async fn register(endpoint: &SocketEndpoint, number: usize) -> Result<Self> {
        let key = EcKey::generate(Curve::P256)?;
        let public_key = STANDARD.encode(P256PublicKey::of(&key)?.spki());
        let aid = format!("aid{number:05}.{ISSUER}").parse()?;
        let certificate = endpoint.register(&aid, &public_key).await?;
        let server = ServerTrust::Connection;
        let credentials = AidCredentials { aid, certificate, key: Arc::new(key), server };
        let tokens = endpoint.log_in(&credentials, Clock::system().now()).await?.tokens;
        Ok(Self { credentials, tokens })
    }

    /// Opens an authenticated connection.
    pub(crate) async fn connect(&self, endpoint: &SocketEndpoint, tasks: &Tasks) -> Result<SocketClient> {
        let clock = Clock::system();
        let login = AidLogin::new(endpoint.clone(), self.credentials.clone(), clock.clone())
            .with_tokens(self.tokens.clone());
        let options = SocketOptions::new(endpoint.clone(), Arc::new(login), "bench", clock);
        Ok(SocketClient::connect(options, tasks).await?)
    }
}

/// Registers AIDs and logs them in.
pub(crate) async fn register_all(endpoint: &SocketEndpoint, count: usize) -> Result<Vec<LoggedInAid>> {
    let registering = (0..count).map(|number| LoggedInAid::register(endpoint, number));
    stream::iter(registering).buffer_unordered(AT_ONCE).try_collect().await
}

/// Opens an authenticated connection for each AID.
pub(crate) async fn connect_all(
    endpoint: &SocketEndpoint,
    aids: &[LoggedInAid],
    tasks: &Tasks,
) -> Result<Vec<SocketClient>> {
    let connecting = aids.iter().map(|aid| aid.connect(endpoint, tasks));
    stream::iter(connecting).buffer_unordered(AT_ONCE).try_collect().await
}
