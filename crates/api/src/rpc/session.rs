//! The state of a connection that calls read and change.

use std::net::IpAddr;
use std::time::Duration;

use futures::FutureExt;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::identity::{AidSession, ClientSlot};
use guildhall_domain::ids::PrincipalId;
use guildhall_domain::messages::DeliveryMode;
use guildhall_domain::ops::rate::RateKey;
use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::rpc::auth::{Challenge, ProtocolRange};
use guildhall_protocol::rpc::{MAX_FRAME_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES, Notification};
use guildhall_service::ServiceError;
use guildhall_service::access::authority::AuthorityWatch;
use guildhall_service::identity::logins::connection_nonce;
use guildhall_service::messages::{CallSigner, InboxClient, InboxEvent, SignedCall, Subscription};
use guildhall_service::relations::{RelationEvent, RelationWatch};
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::debug;

use super::close::CloseReason;
use super::events::EventStyle;
use super::permits::SocketPermit;
use crate::App;
use crate::edge::error::ApiError;

pub(super) use guildhall_protocol::rpc::PROTOCOL_VERSION as PROTOCOL;

/// Names of access tokens in `auth.connect`. Official clients send the first.
pub(super) const TOKEN_METHODS: [&str; 2] = ["kite_token", "aun_token"];

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

    /// Returns the role that clients are told.
    pub(super) fn role(&self) -> &'static str {
        match self {
            Self::Aid(_) => "agent",
            Self::User(_) => "user",
        }
    }

    fn principal(&self) -> PrincipalId {
        match self {
            Self::Aid(session) => session.owner,
            Self::User(caller) => caller.principal,
        }
    }

    /// Returns whose relations the client is told about; none for the process of an agent.
    pub(super) fn owner_of_relations(&self) -> Option<PrincipalId> {
        match self {
            Self::Aid(session) => (!session.is_of_agent).then_some(session.owner),
            Self::User(caller) => Some(caller.principal),
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
    pub(super) ends_at: Option<Instant>,
    /// None for a browser session, which has no inbox.
    pub(super) inbox: Option<ConnectedInbox>,
    /// What the owner has granted to agents; none for the process of an agent.
    relations: Option<RelationWatch>,
    signer: CallSigner,
}

/// The inbox of a connection.
#[derive(Debug)]
pub(super) struct ConnectedInbox {
    pub(super) client: InboxClient,
    pub(super) subscription: Subscription,
    pub(super) events: EventStyle,
}

/// What a connection waits for besides its client.
#[derive(Debug)]
pub(super) enum Signal {
    AuthorityEnded(FailureKind),
    Event(InboxEvent),
    Relation(RelationEvent),
}

/// What a connection knows of its client.
pub(super) struct ClientSession {
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
}

impl ClientSession {
    pub(super) fn new(app: App, address: IpAddr, permit: SocketPermit) -> Self {
        let nonce = connection_nonce();
        Self { app, address, nonce, client: None, close: None, refused_connects: 0, permit }
    }

    /// Makes this the connection of an authenticated client.
    pub(super) fn connect(
        &mut self,
        identity: ConnectedIdentity,
        slot: &ClientSlot,
        ttl: Option<Duration>,
        inbox: Option<ConnectedInbox>,
        relations: Option<RelationWatch>,
    ) -> Result<(), Failure> {
        self.permit.authenticate(identity.rate_key(&self.app))?;
        let watch = self.app.sockets.authority.watch(identity.caller(), None);
        let (connected_at, ends_at) = (self.app.clock.now(), ttl.map(|ttl| Instant::now() + ttl));
        debug!(
            principal = %identity.principal(), device = slot.device(), slot = slot.slot_key(),
            address = %self.address, "socket authenticated"
        );
        let signer = CallSigner::default();
        let client = ConnectedClient { identity, connected_at, watch, ends_at, inbox, relations, signer };
        self.client = Some(Box::new(client));
        Ok(())
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
    pub(super) fn is_too_large(&self, text: &str) -> bool {
        let limit = if self.client.is_some() { MAX_FRAME_BYTES } else { MAX_UNAUTHENTICATED_FRAME_BYTES };
        text.len() > limit
    }

    /// Returns the first frame of the connection.
    pub(super) fn challenge(&self) -> String {
        let range = ProtocolRange { min: PROTOCOL.to_owned(), max: PROTOCOL.to_owned() };
        let challenge = Challenge {
            nonce: self.nonce.clone(),
            protocol: range,
            auth_methods: TOKEN_METHODS.iter().map(|name| (*name).to_owned()).collect(),
            server_time: self.app.clock.now().as_millisecond(),
        };
        Notification::new("challenge", challenge).to_text()
    }

    /// Waits until the authority of the client ends, or for an event if it takes one. Never returns before
    /// authentication. Cancel-safe.
    pub(super) async fn next_signal(&mut self, takes_events: bool) -> Signal {
        let Some(client) = self.client.as_deref_mut() else { return std::future::pending().await };
        let ConnectedClient { watch, inbox, relations, .. } = client;
        let event = async {
            match inbox {
                Some(inbox) if takes_events => inbox.subscription.next().await,
                Some(_) | None => std::future::pending().await,
            }
        };
        let relation = async {
            match relations {
                Some(relations) if takes_events => relations.next().await,
                Some(_) | None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            kind = watch.ended(|_| true) => Signal::AuthorityEnded(kind),
            event = relation => Signal::Relation(event),
            event = event => Signal::Event(event),
        }
    }

    /// Returns the client whose inbox the calls `message.*` are about.
    pub(super) fn inbox_client(&self) -> Result<&InboxClient, ApiError> {
        let client = self.client.as_deref().ok_or_else(not_connected)?;
        let message = "a browser session has no inbox: connect with an AID";
        let inbox = client.inbox.as_ref().ok_or_else(|| ApiError::new(FailureKind::Forbidden, message))?;
        Ok(&inbox.client)
    }

    /// Verifies the signature of a call. Without an AID there is no certificate to verify it with, and it says nothing.
    pub(super) async fn verify_signature(&mut self, call: SignedCall<'_>) -> Result<(), ServiceError> {
        let Some(client) = self.client.as_deref_mut() else { return Ok(()) };
        match &client.identity {
            ConnectedIdentity::Aid(login) => {
                self.app.messages.signed_calls.verify(&login.aid, call, &mut client.signer).await
            }
            ConnectedIdentity::User(_) => Ok(()),
        }
    }

    /// Opens the inbox of an AID, before the connection is authenticated with it.
    pub(super) async fn open_inbox(
        &self,
        login: &AidSession,
        slot: &ClientSlot,
        mode: DeliveryMode,
        events: EventStyle,
    ) -> Result<ConnectedInbox, ServiceError> {
        let client = self.app.messages.client(login, slot.clone(), mode).await?;
        let subscription = self.app.messages.subscribe(&client).await?;
        Ok(ConnectedInbox { client, subscription, events })
    }
}

/// The error of a call that needs an authenticated connection.
pub(super) fn not_connected() -> ApiError {
    let message = "the connection is not authenticated: call auth.connect first";
    ApiError::new(FailureKind::Unauthenticated, message)
}
