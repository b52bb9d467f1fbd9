//! Says that a run waits for a runner, to those that wait for a run: on this replica at once, on the others over NATS.
//! What is lost is found by looking again.

use guildhall_bus::{Bus, Hints};
use guildhall_domain::ids::TenantId;
use guildhall_runtime::Tasks;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Offers that wait for the slowest listener; one that misses some looks anyway.
const WAITING: usize = 256;

/// One subject for all tenants: a listener hears few offers that are not its own, and subscribes once a replica.
const SUBJECT: &str = "runs.offered";

/// The offers of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Offers {
    bus: Bus,
    heard: broadcast::Sender<TenantId>,
}

/// Listens for offers of one tenant, or of all.
#[derive(Debug)]
pub(crate) struct Listening {
    tenant: Option<TenantId>,
    heard: broadcast::Receiver<TenantId>,
}

impl Offers {
    #[must_use]
    pub fn start(bus: &Bus, tasks: &Tasks) -> Self {
        let offers = Self { bus: bus.clone(), heard: broadcast::channel(WAITING).0 };
        tasks.spawn("run-offers", hear(bus.clone(), offers.heard.clone(), tasks.stop()));
        offers
    }

    pub(crate) async fn announce(&self, tenant: TenantId) {
        let _nobody_waits_here = self.heard.send(tenant);
        self.bus.publish(SUBJECT, tenant.to_string().into_bytes()).await;
    }

    pub(crate) async fn listen(&self, tenant: Option<TenantId>) -> Listening {
        Listening { tenant, heard: self.heard.subscribe() }
    }
}

impl Listening {
    /// Waits for an offer that is listened for.
    pub(crate) async fn next(&mut self) {
        loop {
            match self.heard.recv().await {
                Ok(tenant) if self.tenant.is_some_and(|own| own != tenant) => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// Hands on what other replicas say, for as long as the server runs.
async fn hear(bus: Bus, heard: broadcast::Sender<TenantId>, stop: CancellationToken) {
    let mut hints: Option<Hints> = bus.subscribe(SUBJECT).await.ok();
    loop {
        let hint = tokio::select! {
            hint = next(&mut hints) => hint,
            () = stop.cancelled() => return,
        };
        let Some(hint) = hint else {
            hints = None;
            continue;
        };
        if let Some(tenant) = String::from_utf8(hint).ok().and_then(|text| text.parse().ok()) {
            let _nobody_waits_here = heard.send(tenant);
        }
    }
}

async fn next(hints: &mut Option<Hints>) -> Option<Vec<u8>> {
    match hints {
        Some(hints) => hints.next().await,
        None => std::future::pending().await,
    }
}
