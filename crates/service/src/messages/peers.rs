//! Lists the senders of an inbox.

use guildhall_domain::messages::keys::MAX_DEVICES;
use guildhall_domain::messages::{InboxId, SenderState};
use guildhall_runtime::Clock;
use guildhall_store::inbox_senders::{self, SenderQuery};
use guildhall_store::{Store, inbox_cursors};

use super::InboxClient;
use super::pull::SEALED_V1;
use crate::ServiceError;

/// Senders with unconfirmed messages in one list. Official clients accept no pages of this list, and frames of 2 MiB: so many entries of
/// names with 64 characters take half of it. Who confirms the messages of these senders gets the next ones with the next list.
const MAX_PENDING: u32 = 5_000;

/// Senders in one page of all.
const MAX_PAGE: u32 = 200;

/// Senders of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerList {
    pub peers: Vec<SenderState>,
    /// Where the next page begins.
    pub next: Option<InboxId>,
}

/// Lists senders. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Peers {
    store: Store,
    clock: Clock,
}

impl Peers {
    pub(super) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Lists the senders with messages that this instance has not confirmed: with very many, those whose last message is the oldest.
    pub async fn pending(&self, client: &InboxClient) -> Result<PeerList, ServiceError> {
        let (inbox, instance) = (client.inbox, &client.instance);
        inbox_cursors::see_instance(&self.store, inbox, instance, MAX_DEVICES, self.clock.now()).await?;
        let peers = inbox_senders::list_pending(&self.store, &query(client, MAX_PENDING)).await?;
        Ok(PeerList { peers, next: None })
    }

    /// Lists all senders, page by page.
    pub async fn all(
        &self,
        client: &InboxClient,
        after: InboxId,
        limit: u32,
    ) -> Result<PeerList, ServiceError> {
        let limit = limit.clamp(1, MAX_PAGE);
        let peers = inbox_senders::list(&self.store, &query(client, limit), after).await?;
        let is_full = u32::try_from(peers.len()).is_ok_and(|count| count == limit);
        let next = peers.last().map(|peer| peer.sender).filter(|_| is_full);
        Ok(PeerList { peers, next })
    }
}

fn query(client: &InboxClient, limit: u32) -> SenderQuery<'_> {
    SenderQuery { inbox: client.inbox, instance: &client.instance, limit, without: &SEALED_V1 }
}
