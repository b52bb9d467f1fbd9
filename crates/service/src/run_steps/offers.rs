//! Notifies waiting runners that a run can be claimed: locally at once, on other replicas over NATS.
//! A lost notification is found by polling.

use guildhall_bus::{Bus, Subscription};
use guildhall_domain::ids::TenantId;
use guildhall_runtime::Tasks;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Offers buffered for the slowest listener; one that lags polls anyway.
const BUFFERED_OFFERS: usize = 256;

/// One subject for all tenants, so that a replica subscribes once.
const SUBJECT: &str = "runs.offered";

/// The offers of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Offers {
    bus: Bus,
    offered: broadcast::Sender<TenantId>,
}

/// Receives the offers of one tenant, or of all.
#[derive(Debug)]
pub(crate) struct OfferListener {
    tenant: Option<TenantId>,
    offered: broadcast::Receiver<TenantId>,
}

impl Offers {
    #[must_use]
    pub fn start(bus: &Bus, tasks: &Tasks) -> Self {
        let offers = Self { bus: bus.clone(), offered: broadcast::channel(BUFFERED_OFFERS).0 };
        tasks.spawn("run-offers", forward_remote_offers(bus.clone(), offers.offered.clone(), tasks.stop()));
        offers
    }

    pub(crate) async fn announce(&self, tenant: TenantId) {
        let _no_listener = self.offered.send(tenant);
        self.bus.publish(SUBJECT, tenant.to_string().into_bytes()).await;
    }

    pub(crate) async fn listen(&self, tenant: Option<TenantId>) -> OfferListener {
        OfferListener { tenant, offered: self.offered.subscribe() }
    }
}

impl OfferListener {
    /// Waits for the next offer for the tenant of this listener.
    pub(crate) async fn next(&mut self) {
        loop {
            match self.offered.recv().await {
                Ok(tenant) if self.tenant.is_some_and(|own| own != tenant) => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// Forwards the offers of other replicas until the server stops.
async fn forward_remote_offers(bus: Bus, offered: broadcast::Sender<TenantId>, stop: CancellationToken) {
    let mut hints: Option<Subscription> = bus.subscribe(SUBJECT).await.ok();
    loop {
        let hint = tokio::select! {
            hint = next_hint(&mut hints) => hint,
            () = stop.cancelled() => return,
        };
        let Some(hint) = hint else {
            hints = None;
            continue;
        };
        if let Some(tenant) = String::from_utf8(hint).ok().and_then(|text| text.parse().ok()) {
            let _no_listener = offered.send(tenant);
        }
    }
}

async fn next_hint(hints: &mut Option<Subscription>) -> Option<Vec<u8>> {
    match hints {
        Some(hints) => hints.next().await,
        None => std::future::pending().await,
    }
}
