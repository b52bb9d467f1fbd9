//! The task of a client: connects, serves the connection, and connects again.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_protocol::rpc::auth::{
    ConnectAuth, ConnectClient, ConnectDevice, ConnectParams, ConnectResult, ProtocolRange,
};
use guildhall_protocol::rpc::{PROTOCOL_VERSION, typed};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::SocketError;
use super::calls::Call;
use super::connection::{self, ConnectionEnd, ConnectionLimits, ConnectionParts};
use super::events::{EventBus, SocketEvent};
use super::login::REFRESH_MARGIN;
use super::options::SocketOptions;
use super::state::SocketState;
use super::token_source::AccessToken;
use super::websocket::WebSocket;
use crate::backoff::{Backoff, random_delay};

/// Clients of a replica that shuts down come back within this time, and not all at once.
const DRAIN_SPREAD: Duration = Duration::from_secs(1);

/// A connection that lived for this long shows that the server is well.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Between two attempts to refresh a token, however short it lives.
const REFRESH_PAUSE: Duration = Duration::from_secs(60);

/// How this client authenticates its connections.
const TOKEN_METHOD: &str = "aun_token";

/// The kind of device that servers are told.
const DEVICE_KIND: &str = "sdk";

pub(super) struct Driver {
    pub(super) options: SocketOptions,
    pub(super) calls: mpsc::Receiver<Call>,
    pub(super) events: Arc<EventBus>,
    pub(super) state: watch::Sender<SocketState>,
    pub(super) stop: CancellationToken,
}

/// A connection that is authenticated.
struct Connected {
    socket: WebSocket,
    info: Arc<ConnectResult>,
    token_expires_at: Timestamp,
}

impl Driver {
    /// Runs until the client is closed, or the server does not want it any more.
    pub(super) async fn run(mut self) {
        let end = self.connect_and_serve().await;
        self.events.publish_state(&SocketEvent::Ended(end.clone()));
        self.state.send_replace(SocketState::Ended(end.clone()));
        self.calls.close();
        while let Some(call) = self.calls.recv().await {
            call.fail(end.clone());
        }
    }

    async fn connect_and_serve(&mut self) -> SocketError {
        let (mut backoff, mut pause) = (Backoff::of_socket(), Duration::ZERO);
        let stop = self.stop.clone();
        loop {
            let connected = tokio::select! {
                () = stop.cancelled() => return SocketError::Closed,
                connected = self.connect_after(pause) => connected,
            };
            let error = match connected {
                Ok(connected) => {
                    let connected_at = Instant::now();
                    let end = self.serve(connected).await;
                    if connected_at.elapsed() >= STABLE_AFTER {
                        backoff.reset();
                    }
                    match &end {
                        ConnectionEnd::Closed => return SocketError::Closed,
                        ConnectionEnd::Ended(error) => return error.clone(),
                        ConnectionEnd::Drained => pause = random_delay(DRAIN_SPREAD),
                        ConnectionEnd::Lost(_) => {
                            backoff.record_failure(None);
                            pause = backoff.delay();
                        }
                    }
                    let error = end.error();
                    self.events.publish_state(&SocketEvent::Disconnected(error.clone()));
                    error
                }
                Err(error) if error.is_transient() => {
                    backoff.record_failure(error.retry_after());
                    pause = backoff.delay();
                    error
                }
                Err(error) => return error,
            };
            self.state.send_replace(SocketState::Connecting { last_error: Some(error) });
        }
    }

    async fn connect_after(&self, pause: Duration) -> Result<Connected, SocketError> {
        sleep(pause).await;
        let token = self.options.tokens.token(None).await?;
        match self.authenticate(&token).await {
            Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {
                let next = self.options.tokens.token(Some(&token.value)).await?;
                self.authenticate(&next).await
            }
            outcome => outcome,
        }
    }

    async fn authenticate(&self, token: &AccessToken) -> Result<Connected, SocketError> {
        let SocketOptions { endpoint, device, slot, .. } = &self.options;
        let mut socket = WebSocket::open(endpoint).await?;
        let version = || PROTOCOL_VERSION.to_owned();
        let params = ConnectParams {
            nonce: socket.nonce.clone(),
            auth: ConnectAuth {
                method: TOKEN_METHOD.to_owned(),
                token: token.value.expose_secret().to_owned(),
            },
            protocol: Some(ProtocolRange { min: version(), max: version() }),
            device: Some(ConnectDevice { id: device.clone(), kind: DEVICE_KIND.to_owned() }),
            client: Some(ConnectClient { slot_id: slot.clone() }),
            delivery_mode: None,
            capabilities: None,
            options: None,
        };
        let info = Arc::new(socket.call::<typed::Connect>(&params).await?);
        Ok(Connected { socket, info, token_expires_at: token.expires_at })
    }

    async fn serve(&mut self, connected: Connected) -> ConnectionEnd {
        let Connected { socket, info, token_expires_at } = connected;
        let limits = ConnectionLimits::of(&info);
        // Consumers are told before the state changes: who waits for the connection and subscribes then, is told too.
        self.events.publish_state(&SocketEvent::Connected(Arc::clone(&info)));
        self.state.send_replace(SocketState::Connected(info));
        let gateway = socket.gateway();
        let (stream, last_id) = socket.into_parts();
        let (calls, events, stop) = (&mut self.calls, &*self.events, &self.stop);
        let parts = ConnectionParts { calls, events, stop, limits };
        let serving = connection::serve(stream, last_id, parts);
        let end = serve_with_refresh(serving, &self.options, token_expires_at).await;
        // Where there is another gateway, it is tried first.
        self.options.endpoint.failed(gateway);
        end
    }
}

/// Serves a connection, and refreshes the token before it expires: the next connection finds a valid one, and the login stays in
/// use.
async fn serve_with_refresh(
    serving: impl Future<Output = ConnectionEnd>,
    options: &SocketOptions,
    mut expires_at: Timestamp,
) -> ConnectionEnd {
    let (mut serving, mut shortest) = (pin!(serving), Duration::ZERO);
    loop {
        let left = expires_at.duration_since(options.clock.now()) - REFRESH_MARGIN;
        let pause = Duration::try_from(left).unwrap_or_default().max(shortest);
        tokio::select! {
            end = &mut serving => return end,
            () = sleep(pause) => {}
        }
        shortest = REFRESH_PAUSE;
        let mut refreshing = options.tokens.token(None);
        let refreshed = tokio::select! {
            end = &mut serving => {
                // A refresh token can be used once: its response must not be lost.
                let _kept_for_the_next_connection = refreshing.await;
                return end;
            }
            refreshed = &mut refreshing => refreshed,
        };
        // Whether an error is final shows when the next connection needs the token.
        if let Ok(token) = refreshed {
            expires_at = token.expires_at;
        }
    }
}
