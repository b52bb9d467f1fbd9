//! Offers waiting runs to waiting runners: on this replica at once, on the others over NATS. A lost offer is found by a
//! poll for all runners of a replica.

use std::time::Duration;

use guildhall_bus::{Bus, Subscription};
use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::Run;
use guildhall_runtime::Tasks;
use guildhall_store::{Store, runner_jobs};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::debug;
use uuid::Uuid;

use super::runner_queues::RunnerQueues;

/// One subject for all tenants, so that a replica subscribes once.
const SUBJECT: &str = "runs.offered";

/// How often lost offers are looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Tenants and profiles that one poll returns.
const MAX_PROFILES: u32 = 10_000;

/// The offers of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Offers {
    bus: Bus,
    replica: Uuid,
    pub(crate) queues: RunnerQueues,
}

/// An offer as other replicas receive it.
#[derive(Debug, Serialize, Deserialize)]
struct RemoteOffer {
    /// The replica that made it, which has handled it already.
    replica: Uuid,
    tenant: Uuid,
    profile: String,
}

impl Offers {
    #[must_use]
    pub fn start(store: &Store, bus: &Bus, tasks: &Tasks) -> Self {
        let offers = Self { bus: bus.clone(), replica: Uuid::now_v7(), queues: RunnerQueues::default() };
        let (receiver, stop) = (offers.clone(), tasks.stop());
        tasks.spawn("run-offers", async move {
            tokio::select! {
                () = receiver.receive() => {}
                () = stop.cancelled() => {}
            }
        });
        let (poller, stop, store) = (offers.clone(), tasks.stop(), store.clone());
        tasks.spawn("run-offers-poll", async move {
            tokio::select! {
                () = poller.poll(&store) => {}
                () = stop.cancelled() => {}
            }
        });
        offers
    }

    /// Offers a run to one runner of each replica.
    pub(crate) async fn announce(&self, run: &Run) {
        self.queues.offer(run.tenant, &run.backend_profile);
        let offer = RemoteOffer {
            replica: self.replica,
            tenant: run.tenant.as_uuid(),
            profile: run.backend_profile.clone(),
        };
        if let Ok(offer) = serde_json::to_vec(&offer) {
            self.bus.publish(SUBJECT, offer).await;
        }
    }

    /// Receives the offers of other replicas.
    async fn receive(&self) {
        let Ok(mut offers) = self.bus.subscribe(SUBJECT).await else { return std::future::pending().await };
        while let Some(offer) = Subscription::next(&mut offers).await {
            let offer = serde_json::from_slice::<RemoteOffer>(&offer);
            if let Ok(offer) = offer
                && offer.replica != self.replica
            {
                self.queues.offer(TenantId::from_uuid(offer.tenant), &offer.profile);
            }
        }
        std::future::pending().await
    }

    /// Looks for waiting runs for all runners of this replica, with one statement.
    async fn poll(&self, store: &Store) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.queues.is_empty() {
                continue;
            }
            let looked_at = Instant::now();
            let listing = runner_jobs::list_waiting_profiles(store, Duration::ZERO, MAX_PROFILES);
            match store.answer(listing).await {
                Ok(waiting) => {
                    let is_complete = waiting.len() < usize::try_from(MAX_PROFILES).unwrap_or(usize::MAX);
                    self.queues.apply(&waiting, is_complete, looked_at);
                }
                Err(error) => {
                    debug!(error = &error as &dyn std::error::Error, "cannot look for waiting runs");
                }
            }
        }
    }
}
