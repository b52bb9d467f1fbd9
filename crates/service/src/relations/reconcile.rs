//! Compares relations with new versions of manifests, and tells their users.

use std::time::Duration;

use guildhall_domain::agents::manifest::document::ManifestHash;
use guildhall_domain::agents::manifest::version::ManifestPin;
use guildhall_domain::ids::{PrincipalId, RelationId};
use guildhall_domain::relations::notice_of;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::relation_checks::{self, RelationCheck, RelationToCheck};
use guildhall_store::relation_notices::{self, NewNotice};
use guildhall_store::{Store, Tx, agent_manifests, relation_heads};
use metrics::counter;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Relations;
use super::gaps::{Gaps, VersionPair};
use crate::ServiceError;

/// Relations that one transaction compares.
const BATCH: u32 = 200;

/// The pause after a batch: other requests get at least half of the database.
const PAUSE: Duration = Duration::from_millis(20);

/// Batches of one round end after this time; the next round goes on.
const ROUND_TIME: Duration = Duration::from_secs(20);

/// Compares relations with new versions of manifests.
#[derive(Debug)]
pub struct CheckRelations {
    store: Store,
    gaps: Gaps,
    stop: CancellationToken,
}

impl CheckRelations {
    /// How often a replica looks for comparisons. With none, that is one read of an index.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    #[must_use]
    pub fn new(relations: &Relations, stop: CancellationToken) -> Self {
        Self { store: relations.deps.store.clone(), gaps: relations.gaps.clone(), stop }
    }

    /// Compares the next relations of some agent. Returns false where nothing is left, or other replicas are at it.
    async fn check_batch(&self) -> Result<bool, ServiceError> {
        let mut tx = self.store.begin().await?;
        let Some(check) = relation_checks::claim(&mut tx).await? else {
            tx.rollback().await?;
            return Ok(false);
        };
        let found = relation_checks::list_relations(&mut tx, &check, BATCH).await?;
        self.tell(&mut tx, &check, &found).await?;
        let last = found.last().map(|relation| relation.id);
        let next = check.position.next(last, found.len() < BATCH as usize);
        relation_checks::advance(&mut tx, &check, next).await?;
        tx.commit().await?;
        counter!("guildhall_relations_checked_total").increment(found.len() as u64);
        Ok(true)
    }

    /// Writes the notices of a batch.
    async fn tell(
        &self,
        tx: &mut Tx,
        check: &RelationCheck,
        found: &[RelationToCheck],
    ) -> Result<(), ServiceError> {
        let mut plan = Plan::default();
        for relation in found.iter().filter(|found| found.is_visible && found.pinned != check.version) {
            let pair = VersionPair { agent: check.agent, agreed: relation.pinned, current: check.version };
            let gap = self.gaps.load(tx, pair).await?;
            match notice_of(&gap, &relation.granted_scopes) {
                Some((kind, scopes)) => plan.notices.push(NewNotice {
                    relation: relation.id,
                    principal: relation.principal,
                    pinned: relation.pinned,
                    kind,
                    scopes: json!(scopes).to_string(),
                    revision: 0,
                }),
                None if relation.has_notice => plan.settled.push((relation.id, relation.principal)),
                None => {}
            }
        }
        if plan.is_empty() {
            return Ok(());
        }
        let text = agent_manifests::load_text(tx, check.agent, check.version).await?;
        let hash = ManifestHash::of_canonical(&text.unwrap_or_default());
        plan.write(tx, ManifestPin { version: check.version, hash }).await
    }
}

impl Reconciler for CheckRelations {
    type Error = ServiceError;
    const NAME: &'static str = "relations";

    async fn round(&self) -> Result<(), ServiceError> {
        if !relation_checks::any_open(&self.store).await? {
            return Ok(());
        }
        let end = Instant::now() + ROUND_TIME;
        while Instant::now() < end && !self.stop.is_cancelled() {
            let began = Instant::now();
            if !self.check_batch().await? {
                break;
            }
            sleep(PAUSE.max(began.elapsed())).await;
        }
        Ok(())
    }
}

/// What a batch changes.
#[derive(Debug, Default)]
struct Plan {
    notices: Vec<NewNotice>,
    /// Relations about which nothing waits any more.
    settled: Vec<(RelationId, PrincipalId)>,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.settled.is_empty()
    }

    async fn write(mut self, tx: &mut Tx, version: ManifestPin) -> Result<(), ServiceError> {
        let told = self.notices.iter().map(|notice| (notice.relation, notice.principal));
        let (ids, users): (Vec<_>, Vec<_>) = told.chain(self.settled.iter().copied()).unzip();
        let revisions = relation_heads::advance_all(tx, &users).await?;
        for notice in &mut self.notices {
            notice.revision = revisions.get(&notice.principal).copied().unwrap_or_default();
        }
        relation_notices::delete_older(tx, &ids, version.version).await?;
        let told = relation_notices::insert(tx, version, &self.notices).await?;
        for (relation, user) in &self.settled {
            let revision = revisions.get(user).copied().unwrap_or_default();
            relation_checks::touch_relation(tx, *relation, revision).await?;
        }
        counter!("guildhall_relation_notices_total").increment(told);
        Ok(())
    }
}
