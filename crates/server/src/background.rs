//! Starts what runs besides requests.

use std::sync::Arc;

use guildhall_egress::EgressOptions;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::access::audit_seal::AuditSeal;
use guildhall_service::access::signing::{self, ReconcileSigningKeys};
use guildhall_service::approvals::reconcile::ExpireApprovals;
use guildhall_service::messages::GrowthWatch;
use guildhall_service::ops::health::ReplicaIdentity;
use guildhall_service::ops::idempotency_keys::{CLEANUP_INTERVAL, IdempotencyKeyCleanup};
use guildhall_service::ops::indexes::start_builds;
use guildhall_service::ops::outbox::{self, Handler, Outbox, OutboxTimeouts};
use guildhall_service::ops::rate_windows::RateWindowCleanup;
use guildhall_service::ops::replicas::ReplicaHeartbeat;
use guildhall_service::profiles::validations::SettleValidations;
use guildhall_service::relations::reconcile::CheckRelations;
use guildhall_service::retention::erase::EraseExpired;
use guildhall_service::runs::reconcile::{EventPartitions, ReconcileRuns};
use guildhall_service::webhooks::cleanup::DeleteOldEvents;
use guildhall_service::webhooks::earlier_events::MoveEarlierEvents;
use guildhall_service::webhooks::follow::FollowInboxes;
use guildhall_service::webhooks::queue::SendEvents;
use guildhall_service::webhooks::sender::Sender;
use guildhall_service::{Deps, profiles, relations};
use guildhall_store::Store;

use crate::settings::Settings;
use crate::start_error::StartError;
use crate::tls::ReloadCertificate;
use crate::{Config, audit, launcher};

/// Starts the reconcilers that no other component needs.
pub(crate) fn start_housekeeping(
    config: &Config,
    settings: &Settings,
    identity: &ReplicaIdentity,
    store: &Store,
    clock: &Clock,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) -> Result<(), StartError> {
    start_heartbeat(config, identity, store, tasks, reconcilers);
    let every = &config.housekeeping;
    let signer = audit::signer(&config.audit, clock, settings.audit_key.clone())?;
    let sealer = AuditSeal::new(store.clone(), signer, tasks.stop());
    reconcilers.start(tasks, every.audit_seal_every, sealer);
    if let Some(files) = settings.tls.clone() {
        reconcilers.start(tasks, ReloadCertificate::INTERVAL, ReloadCertificate(files));
    }
    let idempotency_keys = IdempotencyKeyCleanup { store: store.clone(), stop: tasks.stop() };
    reconcilers.start(tasks, CLEANUP_INTERVAL, idempotency_keys);
    let sweeper = RateWindowCleanup { store: store.clone(), stop: tasks.stop() };
    reconcilers.start(tasks, every.rate_windows_every, sweeper);
    Ok(())
}

fn start_heartbeat(
    config: &Config,
    identity: &ReplicaIdentity,
    store: &Store,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) {
    let every = config.housekeeping.replicas_every;
    let heartbeat = ReplicaHeartbeat {
        store: store.clone(),
        id: identity.replica,
        version: identity.version.clone(),
        started_at: identity.started_at,
        every,
    };
    reconcilers.start(tasks, every, heartbeat);
}

/// Starts the reconcilers of the groups, and the outbox.
pub(crate) fn start_group_reconcilers(
    config: &Config,
    deps: &Deps,
    profiles: &profiles::Group,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) {
    let signing = ReconcileSigningKeys(Arc::clone(&deps.signing));
    reconcilers.start(tasks, signing::RECONCILE_INTERVAL, signing);
    let collector = launcher::session_storage_collector(config, &deps.store);
    reconcilers.start(tasks, config.sessions.collect_every, collector);
    let settler = SettleValidations(profiles.validations.clone());
    reconcilers.start(tasks, config.secrets.settle_every, settler);
    reconcilers.start(tasks, config.runs.tend_every, ReconcileRuns(deps.clone()));
    reconcilers.start(tasks, config.runs.tend_every, ExpireApprovals::new(deps.clone()));
    reconcilers.start(tasks, EventPartitions::INTERVAL, EventPartitions(deps.owner_store.clone()));
    start_builds(&deps.owner_store, tasks);
    let erase = EraseExpired {
        store: deps.owner_store.clone(),
        technical_after: config.retention.technical_after,
        stop: tasks.stop(),
    };
    reconcilers.start(tasks, config.retention.check_every, erase);
    start_outbox(deps, tasks, reconcilers);
}

/// Opens the relations of users with agents, and starts to compare them with new manifests.
pub(crate) fn start_relations(deps: &Deps, tasks: &Tasks, reconcilers: &Reconcilers) -> relations::Group {
    let group = relations::open(deps, tasks);
    let checks = CheckRelations::new(&group.relations, tasks.stop());
    reconcilers.start(tasks, CheckRelations::INTERVAL, checks);
    group
}

/// Starts to perform side effects outside the database. There is none yet but the events of webhooks that replicas of an
/// earlier version have left.
fn start_outbox(deps: &Deps, tasks: &Tasks, reconcilers: &Reconcilers) {
    let store = deps.store.clone();
    let handlers: Vec<Arc<dyn Handler>> = vec![Arc::new(MoveEarlierEvents { store: store.clone() })];
    if let Some(outbox) = Outbox::new(store, handlers, OutboxTimeouts::DEFAULT, tasks.stop()) {
        reconcilers.start(tasks, outbox::POLL_INTERVAL, outbox);
    }
}

/// Starts to send the events of webhooks, and to find those of agents.
pub(crate) fn start_webhooks(
    deps: &Deps,
    egress: EgressOptions,
    growth: GrowthWatch,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) {
    let (store, sealer) = (deps.store.clone(), Arc::clone(&deps.payload_sealer));
    let sender = Sender::new(store.clone(), deps.clock.clone(), sealer, egress);
    let send = SendEvents::new(store.clone(), sender, tasks.stop());
    let signal = reconcilers.start(tasks, SendEvents::INTERVAL, send);
    let follow = FollowInboxes::new(store.clone(), growth, signal, tasks.stop());
    follow.notify(reconcilers.start(tasks, FollowInboxes::INTERVAL, follow.clone()));
    let cleanup = DeleteOldEvents { store, stop: tasks.stop() };
    reconcilers.start(tasks, DeleteOldEvents::INTERVAL, cleanup);
}
