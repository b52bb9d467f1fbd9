//! Messages between AIDs: send, pull, confirm, recall, who is online, and the public keys of devices.

mod ack_notice;
mod acks;
mod addresses;
mod envelopes;
mod error;
mod growth;
mod hub;
mod keys;
mod mailbox;
mod notices;
mod peers;
mod presence;
mod pull;
mod recall;
mod reconcile;
mod request;
mod send;
mod signed_calls;
mod tool_calls;

use std::sync::Arc;
use std::time::Duration;

use guildhall_bus::Bus;
use guildhall_domain::identity::{Aid, AidSession, ClientSlot, IssuerName};
use guildhall_domain::messages::{DeliveryMode, InboxId};
use guildhall_runtime::{Clock, Tasks};
use guildhall_store::Store;
use guildhall_store::inbox_messages::MessageWriter;
use jiff::SignedDuration;
use tokio::sync::mpsc;

pub use ack_notice::AckNotice;
pub use acks::{Acks, ConfirmedCursor};
pub use error::MessageError;
pub use growth::GrowthWatch;
pub use hub::Subscription;
pub use keys::{DeviceKeys, Keys, RecipientKeys};
pub use mailbox::InboxEvent;
pub use peers::{PeerList, Peers};
pub use presence::Presence;
pub use pull::{MessagePage, PeerPage, Pulls, for_instance};
pub use recall::{RecallOutcome, Recalls};
pub use reconcile::ExpireMessages;
pub use request::MessageRequest;
pub use send::{Sends, SentMessage};
pub use signed_calls::{CallSigner, SignedCall, SignedCalls};

use self::addresses::Addresses;
use self::hub::Hub;
use self::notices::Notices;
use self::send::SendParts;
use self::tool_calls::ToolCallGate;
use crate::ServiceError;
use crate::ops::rates::Rates;

/// Groups of sent messages whose announcement waits. More are dropped; the poll finds their messages.
const MAX_QUEUED_UPDATES: usize = 1024;

/// A client that is connected with an AID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxClient {
    pub aid: Aid,
    pub inbox: InboxId,
    pub instance: ClientSlot,
    /// How this instance receives: one of the mode `queue` is preferred for messages of that mode.
    pub mode: DeliveryMode,
}

/// The services of this group. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Group {
    pub sends: Sends,
    pub pulls: Pulls,
    pub peers: Peers,
    pub acks: Acks,
    pub recalls: Recalls,
    pub presence: Presence,
    pub keys: Keys,
    pub signed_calls: SignedCalls,
    /// For the answers of agents.
    pub growth: GrowthWatch,
    /// For the webhooks of agents.
    pub webhook_growth: GrowthWatch,
    addresses: Addresses,
    hub: Hub,
}

/// What the group is built from.
#[derive(Debug)]
pub struct MessageParts<'a> {
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub bus: &'a Bus,
    pub tasks: &'a Tasks,
    pub issuer: Option<IssuerName>,
    /// How long durable messages are kept.
    pub lifetime: SignedDuration,
    /// How long messages of the mode `queue` can be read.
    pub queue_lifetime: Duration,
    pub rates: &'a Rates,
}

/// Opens the group and starts its tasks.
#[must_use]
pub fn open(parts: MessageParts<'_>) -> Group {
    let MessageParts { store, clock, bus, tasks, issuer, lifetime, queue_lifetime, rates } = parts;
    let (updates, queued) = mpsc::channel(MAX_QUEUED_UPDATES);
    let writer = MessageWriter::start(store, tasks, &updates);
    let (growth, webhook_growth) = (GrowthWatch::default(), GrowthWatch::default());
    let hub = Hub::start(store, bus, tasks, queued, [growth.clone(), webhook_growth.clone()]);
    let notices = Notices::start(hub.clone(), bus, tasks);
    let presence = Presence::start(hub.clone(), store, bus, tasks);
    let addresses = Addresses::new(store.clone(), issuer.map(Arc::new));
    let keys = Keys::new(store.clone(), clock.clone(), addresses.clone());
    let sends = Sends::new(SendParts {
        writer,
        addresses: addresses.clone(),
        presence: presence.clone(),
        keys: keys.clone(),
        tool_calls: ToolCallGate::new(store.clone(), rates.clone()),
        lifetime,
    });
    Group {
        sends,
        pulls: Pulls::new(store.clone(), addresses.clone(), queue_lifetime),
        peers: Peers::new(store.clone(), clock.clone()),
        acks: Acks::new(store.clone(), clock.clone(), addresses.clone(), notices),
        recalls: Recalls::new(store.clone(), updates, lifetime),
        presence,
        signed_calls: SignedCalls::new(keys.clone(), clock.clone()),
        keys,
        growth,
        webhook_growth,
        addresses,
        hub,
    }
}

impl Group {
    /// Returns the client of a connection.
    pub async fn client(
        &self,
        session: &AidSession,
        instance: ClientSlot,
        mode: DeliveryMode,
    ) -> Result<InboxClient, ServiceError> {
        let inbox = self.addresses.inbox_of(&session.aid).await?;
        Ok(InboxClient { aid: session.aid.clone(), inbox, instance, mode })
    }

    /// Returns the client with which the server reads and writes for an AID whose key it holds.
    pub async fn hosted_client(&self, aid: &Aid, instance: ClientSlot) -> Result<InboxClient, ServiceError> {
        let inbox = self.addresses.inbox_of(aid).await?;
        Ok(InboxClient { aid: aid.clone(), inbox, instance, mode: DeliveryMode::Fanout })
    }

    /// Returns the inbox of a registered AID of this issuer.
    pub async fn inbox_of(&self, aid: &Aid) -> Result<InboxId, ServiceError> {
        self.addresses.inbox_of(aid).await
    }

    /// Subscribes a connection to what is new in its inbox. What came before is pulled.
    pub async fn subscribe(&self, client: &InboxClient) -> Result<Subscription, ServiceError> {
        self.hub.subscribe(client).await
    }
}
