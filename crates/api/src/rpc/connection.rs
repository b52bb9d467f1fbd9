//! The task of one connection.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures::FutureExt;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::identity::{AidSession, ClientSlot};
use guildhall_domain::ids::PrincipalId;
use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::rpc::auth::{Challenge, ProtocolRange};
use guildhall_protocol::rpc::{
    FrameError, Incoming, InvalidRequest, MAX_FRAME_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES, Notification,
    Outgoing, Request, RequestId, parse_frame,
};
use guildhall_service::access::authority::AuthorityWatch;
use guildhall_service::identity::logins::connection_nonce;
use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::auth::{PROTOCOL, TOKEN_METHODS};
use super::close::CloseReason;
use super::dispatch::dispatch;
use super::permits::SocketPermit;
use super::transport::{Transport, TransportEvent};
use crate::App;

/// Who a connection belongs to.
#[derive(Debug, Clone)]
pub(super) enum ConnectedIdentity {
    Aid(AidSession),
    /// A person with a browser session of this server.
    User(Caller),
}

impl ConnectedIdentity {
    /// Returns the key that counts the calls and connections of this client. Those of an AID do not count for its owner:
    /// whoever has the key of an AID could else use up what its owner needs to revoke it.
    pub(super) fn rate_key(&self, app: &App) -> RateKey {
        match self {
            Self::Aid(session) => app.access.signing.account_key(&session.aid.to_string()),
            Self::User(caller) => RateKey::Principal(caller.principal),
        }
    }

    fn principal(&self) -> PrincipalId {
        match self {
            Self::Aid(session) => session.owner,
            Self::User(caller) => caller.principal,
        }
    }

    fn caller(&self) -> Caller {
        match self {
            Self::Aid(session) => session.caller(),
            Self::User(caller) => caller.clone(),
        }
    }
}

/// A client that has authenticated.
pub(super) struct ConnectedClient {
    pub(super) identity: ConnectedIdentity,
    pub(super) connected_at: Timestamp,
    watch: AuthorityWatch,
    /// The end of a short connection.
    ends_at: Option<Instant>,
}

/// One connection.
pub(super) struct Connection {
    pub(super) app: App,
    pub(super) address: IpAddr,
    /// The nonce of this connection's challenge.
    pub(super) nonce: String,
    pub(super) client: Option<Box<ConnectedClient>>,
    /// Set by a request that ends the connection.
    pub(super) close: Option<CloseReason>,
    /// How often `auth.connect` was refused.
    pub(super) refused_connects: u32,
    permit: SocketPermit,
    opened_at: Instant,
    last_received_at: Instant,
    pinged: bool,
}

impl Connection {
    pub(super) fn new(app: App, address: IpAddr, permit: SocketPermit) -> Self {
        let now = Instant::now();
        Self {
            app,
            address,
            nonce: connection_nonce(),
            client: None,
            close: None,
            refused_connects: 0,
            permit,
            opened_at: now,
            last_received_at: now,
            pinged: false,
        }
    }

    /// Serves the connection until the client or the server ends it.
    pub(super) async fn run(mut self, socket: WebSocket, user: Option<Caller>) {
        let mut transport = Transport::new(socket, self.app.sockets.limits.write_timeout);
        transport.push(self.challenge());
        if let Some(user) = user {
            let identity = ConnectedIdentity::User(user);
            if self.connect(identity, &ClientSlot::default(), None).is_err() {
                return transport.close(CloseReason::TooManyConnections, None).await;
            }
        }
        let end = self.serve(&mut transport).await;
        let Some(reason) = end else { return transport.finish().await };
        debug!(?reason, address = %self.address, "socket closed by the server");
        transport.close(reason, reason.disconnect_notification()).await;
    }

    /// Makes this the connection of an authenticated client.
    pub(super) fn connect(
        &mut self,
        identity: ConnectedIdentity,
        slot: &ClientSlot,
        ttl: Option<Duration>,
    ) -> Result<(), Failure> {
        self.permit.authenticate(identity.rate_key(&self.app))?;
        let watch = self.app.sockets.authority.watch(identity.caller(), None);
        let (connected_at, ends_at) = (self.app.clock.now(), ttl.map(|ttl| Instant::now() + ttl));
        debug!(
            principal = %identity.principal(), device = slot.device(), slot = slot.slot_key(),
            address = %self.address, "socket authenticated"
        );
        self.client = Some(Box::new(ConnectedClient { identity, connected_at, watch, ends_at }));
        Ok(())
    }

    /// Returns none when the client has gone.
    async fn serve(&mut self, transport: &mut Transport) -> Option<CloseReason> {
        let closing = self.app.sockets.closing.clone();
        loop {
            let deadline = self.next_deadline(transport);
            let event = tokio::select! {
                biased;
                kind = authority_end(self.client.as_deref_mut()) => return Some(CloseReason::Authority(kind)),
                () = closing.cancelled() => return Some(CloseReason::Draining),
                event = transport.next() => event,
                () = sleep_until(deadline) => {
                    if let Some(reason) = self.handle_deadline(transport) {
                        return Some(reason);
                    }
                    continue;
                }
            };
            self.last_received_at = Instant::now();
            self.pinged = false;
            match event {
                TransportEvent::Closed => return None,
                TransportEvent::Control => {}
                TransportEvent::Binary => return Some(CloseReason::Binary),
                TransportEvent::TooLarge => return Some(CloseReason::TooLarge),
                TransportEvent::Text(text) if self.is_too_large(&text) => {
                    let error = FrameError::TooLarge.to_rpc_error();
                    transport.push(Outgoing::response(RequestId::NULL, Err(error)).to_text());
                    return Some(CloseReason::TooLarge);
                }
                // On the heap while it runs: an idle connection does not carry the state of a call.
                TransportEvent::Text(text) => {
                    if let Some(response) = Box::pin(self.handle_frame(&text)).await {
                        transport.push(response.to_text());
                    }
                }
            }
            if let Some(reason) = self.close {
                return Some(reason);
            }
        }
    }

    /// Returns the response to a frame; none to notifications.
    async fn handle_frame(&mut self, text: &str) -> Option<Outgoing> {
        match parse_frame(text) {
            Err(error) => Some(Outgoing::response(RequestId::NULL, Err(error.to_rpc_error()))),
            Ok(Incoming::Single(message)) => self.handle_request(message?).await,
            Ok(Incoming::Batch(messages)) => {
                let mut responses = Vec::new();
                for message in messages.into_iter().flatten() {
                    responses.extend(self.handle_request(message).await);
                }
                (!responses.is_empty()).then(|| Outgoing::batch(responses))
            }
        }
    }

    async fn handle_request(&mut self, message: Result<Request, InvalidRequest>) -> Option<Outgoing> {
        Some(match message {
            Err(invalid) => Outgoing::response(invalid.id, Err(invalid.error)),
            Ok(Request { id, method, params }) => {
                let outcome = dispatch(self, &method, params).await;
                Outgoing::response(id, outcome)
            }
        })
    }

    /// Waits until the authority of the client was read within a second. Fails where it has ended.
    pub(super) async fn check_authority(&mut self) -> Result<(), Failure> {
        let Some(client) = &mut self.client else { return Ok(()) };
        client.watch.fresh().await;
        match client.watch.ended(|_| true).now_or_never() {
            Some(kind) => Err(Failure::new(kind, CloseReason::Authority(kind).text())),
            None => Ok(()),
        }
    }

    /// Returns whether a frame is larger than this client may send.
    fn is_too_large(&self, text: &str) -> bool {
        let limit = if self.client.is_some() { MAX_FRAME_BYTES } else { MAX_UNAUTHENTICATED_FRAME_BYTES };
        text.len() > limit
    }

    fn challenge(&self) -> String {
        let range = ProtocolRange { min: PROTOCOL.to_owned(), max: PROTOCOL.to_owned() };
        let challenge = Challenge {
            nonce: self.nonce.clone(),
            protocol: range,
            auth_methods: TOKEN_METHODS.iter().map(|name| (*name).to_owned()).collect(),
            server_time: self.app.clock.now().as_millisecond(),
        };
        Notification::new("challenge", challenge).to_text()
    }

    /// Returns the next deadline of a silent client.
    fn next_deadline(&self, transport: &Transport) -> Instant {
        let limits = &self.app.sockets.limits;
        let silence = if self.pinged { limits.idle_timeout } else { limits.ping_after };
        let first = match &self.client {
            None => self.opened_at + limits.auth_timeout,
            Some(client) => client
                .ends_at
                .map_or(self.last_received_at + silence, |end| end.min(self.last_received_at + silence)),
        };
        transport.stall_deadline().map_or(first, |stalled| stalled.min(first))
    }

    /// Handles a deadline that has passed. Returns why the connection has to end, if it has.
    fn handle_deadline(&mut self, transport: &mut Transport) -> Option<CloseReason> {
        let (now, limits) = (Instant::now(), self.app.sockets.limits);
        if transport.stall_deadline().is_some_and(|stalled| stalled <= now) {
            return Some(CloseReason::SlowReader);
        }
        let Some(client) = &self.client else { return Some(CloseReason::AuthTimeout) };
        if client.ends_at.is_some_and(|end| end <= now) {
            return Some(CloseReason::ShortEnded);
        }
        if self.last_received_at + limits.idle_timeout <= now {
            return Some(CloseReason::Idle);
        }
        transport.ping();
        self.pinged = true;
        None
    }
}

/// Waits until the authority of a client ends; never returns before authentication.
async fn authority_end(client: Option<&mut ConnectedClient>) -> FailureKind {
    match client {
        Some(client) => client.watch.ended(|_| true).await,
        None => std::future::pending().await,
    }
}
