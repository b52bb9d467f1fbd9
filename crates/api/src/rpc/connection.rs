//! The task of one connection.

use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::identity::ClientSlot;
use guildhall_protocol::rpc::{
    FrameError, Incoming, InvalidRequest, Outgoing, Request, RequestId, parse_frame,
};
use guildhall_service::messages::InboxEvent;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::close::CloseReason;
use super::dispatch::dispatch;
use super::h2a;
use super::session::{ClientSession, ConnectedIdentity, Signal};
use super::transport::{Transport, TransportEvent};

/// One connection.
pub(super) struct Connection {
    transport: Transport,
    session: ClientSession,
    opened_at: Instant,
    last_received_at: Instant,
    pinged: bool,
}

impl Connection {
    /// On the heap: a future that takes a value holds it twice, once as its argument.
    pub(super) fn new(session: ClientSession, transport: Transport) -> Box<Self> {
        let now = Instant::now();
        Box::new(Self { transport, session, opened_at: now, last_received_at: now, pinged: false })
    }

    /// Serves the connection until the client or the server ends it. What an idle connection does not need is on the heap while
    /// it runs.
    pub(super) async fn run(mut self: Box<Self>, user: Option<Box<Caller>>) {
        self.transport.push(self.session.challenge());
        if let Some(user) = user {
            if let Err(reason) = Box::pin(self.connect_user(*user)).await {
                return Box::pin(self.transport.close(reason, None)).await;
            }
            self.transport.renew_read_limit(true);
        }
        let end = self.serve().await;
        let Some(reason) = end else { return Box::pin(self.transport.finish()).await };
        debug!(?reason, address = %self.session.address, "socket closed by the server");
        Box::pin(self.transport.close(reason, reason.disconnect_notification())).await;
    }

    async fn connect_user(&mut self, user: Caller) -> Result<(), CloseReason> {
        let relations = self.session.app.relations.relations.watch(user.principal, None).await;
        let relations = relations.map_err(|_| CloseReason::Authority(FailureKind::NotReady))?;
        let identity = ConnectedIdentity::User(user);
        self.session
            .connect(identity, &ClientSlot::default(), None, None, Some(relations))
            .map_err(|_| CloseReason::TooManyConnections)
    }

    /// Returns none when the client has gone.
    async fn serve(&mut self) -> Option<CloseReason> {
        let closing = self.session.app.sockets.closing.clone();
        loop {
            let deadline = self.next_deadline();
            let event = tokio::select! {
                biased;
                signal = self.session.next_signal(!self.transport.is_full()) => match signal {
                    Signal::AuthorityEnded(kind) => return Some(CloseReason::Authority(kind)),
                    Signal::Event(event) => {
                        self.push_event(&event);
                        continue;
                    }
                    Signal::Relation(event) => {
                        self.transport.push(h2a::notification(&event));
                        continue;
                    }
                },
                () = closing.cancelled() => return Some(CloseReason::Draining),
                // Before the frames: a client that never stops sending has deadlines too.
                () = sleep_until(deadline) => {
                    if let Some(reason) = self.handle_deadline() {
                        return Some(reason);
                    }
                    continue;
                }
                event = self.transport.next() => event,
            };
            if matches!(event, TransportEvent::Drained) {
                continue;
            }
            self.last_received_at = Instant::now();
            self.pinged = false;
            match event {
                TransportEvent::Closed => return None,
                TransportEvent::Control | TransportEvent::Drained => {}
                TransportEvent::Binary => return Some(CloseReason::Binary),
                TransportEvent::TooLarge => return Some(self.reject_large_frame()),
                TransportEvent::Text(text) if self.session.is_too_large(&text) => {
                    return Some(self.reject_large_frame());
                }
                // On the heap while it runs: an idle connection does not carry the state of a call.
                TransportEvent::Text(text) => {
                    if let Some(response) = Box::pin(self.handle_frame(&text)).await {
                        self.transport.push(response.to_text());
                    }
                    self.transport.renew_read_limit(self.session.client.is_some());
                }
            }
            if let Some(reason) = self.session.close {
                return Some(reason);
            }
        }
    }

    fn push_event(&mut self, event: &InboxEvent) {
        let inbox = self.session.client.as_deref().and_then(|client| client.inbox.as_ref());
        let text = inbox.and_then(|inbox| inbox.events.notification(event, &inbox.client));
        if let Some(text) = text {
            self.transport.push(text);
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
            Err(invalid) => {
                let error = invalid.to_rpc_error();
                Outgoing::response(invalid.id, Err(error))
            }
            Ok(Request { id, method, params, signed_params }) => {
                let outcome = dispatch(&mut self.session, &method, params, signed_params.as_deref()).await;
                Outgoing::response(id, outcome)
            }
        })
    }

    /// Returns the next deadline of a silent client.
    fn next_deadline(&self) -> Instant {
        let limits = &self.session.app.sockets.limits;
        let silence = if self.pinged { limits.idle_timeout } else { limits.ping_after };
        let first = match &self.session.client {
            None => self.opened_at + limits.auth_timeout,
            Some(client) => client
                .ends_at
                .map_or(self.last_received_at + silence, |end| end.min(self.last_received_at + silence)),
        };
        self.transport.stall_deadline().map_or(first, |stalled| stalled.min(first))
    }

    /// Handles a deadline that has passed. Returns why the connection has to end, if it has.
    fn handle_deadline(&mut self) -> Option<CloseReason> {
        let (now, limits) = (Instant::now(), self.session.app.sockets.limits);
        if self.transport.stall_deadline().is_some_and(|stalled| stalled <= now) {
            return Some(CloseReason::SlowReader);
        }
        let Some(client) = &self.session.client else { return Some(CloseReason::AuthTimeout) };
        if client.ends_at.is_some_and(|end| end <= now) {
            return Some(CloseReason::ShortEnded);
        }
        if self.last_received_at + limits.idle_timeout <= now {
            return Some(CloseReason::Idle);
        }
        self.transport.ping();
        self.pinged = true;
        None
    }

    fn reject_large_frame(&mut self) -> CloseReason {
        let error = FrameError::TooLarge.to_rpc_error();
        self.transport.push(Outgoing::response(RequestId::NULL, Err(error)).to_text());
        CloseReason::TooLarge
    }
}
