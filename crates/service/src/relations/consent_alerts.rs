//! Tells connected users at once about a manifest that needs a new consent: their guards refuse what changed before the durable
//! notice comes, which is paced.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::ids::AgentId;
use guildhall_domain::relations::{NoticeKind, RelationState, notice_of};
use guildhall_runtime::Tasks;
use guildhall_store::{Store, relation_checks, relations as rows, visible_agents};
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::feed::{Feed, READ_SIZE};
use super::gaps::Gaps;
use super::state_of;
use crate::ServiceError;

/// How often a replica with connected users looks for new manifests.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// Comparisons that are looked at. Users of agents beyond wait for their notice.
const MAX_CHECKS: u32 = 1_000;

/// Starts the task.
pub(super) fn start(store: &Store, gaps: &Gaps, feed: &Feed, tasks: &Tasks) {
    let alerts = ConsentAlerts { store: store.clone(), gaps: gaps.clone(), feed: feed.clone() };
    let stop = tasks.stop();
    tasks.spawn("consent-alerts", async move {
        tokio::select! {
            () = alerts.poll() => {}
            () = stop.cancelled() => {}
        }
    });
}

struct ConsentAlerts {
    store: Store,
    gaps: Gaps,
    feed: Feed,
}

impl ConsentAlerts {
    async fn poll(&self) {
        // The version of each open comparison that users here were told about.
        let mut told: HashMap<AgentId, i64> = HashMap::new();
        loop {
            sleep(POLL_INTERVAL).await;
            if self.feed.connected().is_empty() {
                continue;
            }
            match self.tell_new(&mut told).await {
                Ok(()) => {}
                Err(error) => {
                    debug!(error = &error as &dyn Error, "cannot tell users about new manifests");
                }
            }
        }
    }

    async fn tell_new(&self, told: &mut HashMap<AgentId, i64>) -> Result<(), ServiceError> {
        // A comparison that has ended meanwhile has moved the heads of its users, which the feed reads.
        let open = self.store.answer(relation_checks::list_open(&self.store, MAX_CHECKS)).await?;
        told.retain(|agent, _| open.iter().any(|(other, _)| other == agent));
        for (agent, version) in open {
            if told.get(&agent) != Some(&version) {
                self.tell(agent).await?;
                told.insert(agent, version);
            }
        }
        Ok(())
    }

    /// Tells the connected users of an agent who are asked again. After each read, other requests get as much time.
    async fn tell(&self, agent: AgentId) -> Result<(), ServiceError> {
        for users in self.feed.connected().chunks(READ_SIZE) {
            let began = Instant::now();
            let relations = rows::list_of_users(&self.store, agent, users).await?;
            let Some(user) = relations.first().map(|relation| relation.principal) else { continue };
            // All of them see the agent, so what one knows of it they all know.
            let Some(known) = visible_agents::list_known(&self.store, &[agent], user).await?.remove(&agent)
            else {
                continue;
            };
            for relation in relations {
                let state = state_of(&self.store, &self.gaps, relation, &known).await?;
                if is_asked(&state) {
                    self.feed.tell(state.relation.principal, &Arc::new(state));
                }
            }
            sleep(began.elapsed()).await;
        }
        Ok(())
    }
}

fn is_asked(state: &RelationState) -> bool {
    let notice = notice_of(&state.gap, &state.relation.granted_scopes);
    notice.is_some_and(|(kind, _)| kind == NoticeKind::ReauthRequired)
}
