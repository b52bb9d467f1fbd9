//! Erases what is no longer kept: sessions of tenants with a retention, technical rows, and partitions of events without
//! a run.

use std::time::Duration;

use guildhall_domain::ids::TenantId;
use guildhall_domain::retention::HistoryDays;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::journal::RunPartition;
use guildhall_store::retention::{self as rows, ExpiredSessions, TechnicalRows};
use guildhall_store::{Store, deferred_indexes, erased_runs, journal, retention_policies};
use jiff::Timestamp;
use metrics::counter;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use uuid::Uuid;

use super::{earlier, later};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};

/// Sessions erased in one transaction: some tens of milliseconds, and one entry of the audit log.
const SESSION_BATCH: u32 = 100;

/// Rows deleted by one statement.
const ROW_BATCH: u32 = 1_000;

/// Events deleted by one statement: a run may have millions.
const EVENT_BATCH: u32 = 10_000;

/// Batches of one kind in one round. The rest waits for the next round.
const MAX_BATCHES: usize = 1_000;

const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Erases expired history and technical rows.
#[derive(Debug)]
pub struct EraseExpired {
    /// Connects as the owner of the tables: the server itself may not delete events.
    pub store: Store,
    /// How long technical rows are kept after their end.
    pub technical_after: Duration,
    /// Ends a round between two batches.
    pub stop: CancellationToken,
}

impl Reconciler for EraseExpired {
    type Error = ServiceError;
    const NAME: &'static str = "retention";

    async fn round(&self) -> Result<(), ServiceError> {
        if !deferred_indexes::are_built(&self.store).await? {
            return Ok(());
        }
        self.erase_at(rows::now(&self.store).await?).await
    }
}

impl EraseExpired {
    /// Erases what is no longer kept at a time.
    pub async fn erase_at(&self, now: Timestamp) -> Result<(), ServiceError> {
        let mut failed = None;
        for (tenant, days) in retention_policies::list(&self.store).await? {
            if let Err(error) = self.erase_history(tenant, days, now).await {
                warn!(tenant.id = %tenant, error = &error as &dyn std::error::Error, "cannot erase history of {tenant}");
                failed = Some(error);
            }
        }
        for kind in TechnicalRows::ALL {
            self.delete_technical(kind, earlier(now, self.technical_after)).await?;
        }
        self.drop_partitions(now).await?;
        failed.map_or(Ok(()), Err)
    }

    async fn erase_history(
        &self,
        tenant: TenantId,
        days: HistoryDays,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let used_before = days.cutoff(now);
        let expired = ExpiredSessions { tenant, used_before, evicted_before: earlier(now, WEEK) };
        let mut after = None;
        for _ in 0..MAX_BATCHES {
            let mut tx = self.store.begin().await?;
            // Somebody may have changed it since the round began.
            if retention_policies::lock(&mut tx, tenant).await? != Some(days) {
                tx.rollback().await?;
                return Ok(());
            }
            let batch = rows::erase_sessions(&mut tx, &expired, after, SESSION_BATCH).await?;
            if batch.sessions == 0 {
                tx.rollback().await?;
                break;
            }
            let event = AuditEvent {
                log: AuditLog::Tenant(tenant),
                action: "history.erased",
                actor: None,
                object: tenant.to_string(),
                detail: json!({ "sessions": batch.sessions, "runs": batch.runs, "usedBefore": used_before }),
            };
            audit::record(&mut tx, &event).await?;
            tx.commit().await?;
            count("sessions", batch.sessions);
            count("runs", batch.runs);
            after = batch.last;
            if batch.sessions < u64::from(SESSION_BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        for _ in 0..MAX_BATCHES {
            let trimmed = rows::trim_approval_stream(&self.store, tenant, used_before, ROW_BATCH).await?;
            if trimmed < u64::from(ROW_BATCH) || self.stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    async fn delete_technical(&self, kind: TechnicalRows, before: Timestamp) -> Result<(), ServiceError> {
        let mut after = Uuid::nil();
        for _ in 0..MAX_BATCHES {
            let (deleted, last) = rows::delete_technical(&self.store, kind, before, after, ROW_BATCH).await?;
            count(kind.as_str(), deleted);
            match last {
                Some(last) if deleted == u64::from(ROW_BATCH) && !self.stop.is_cancelled() => after = last,
                Some(_) | None => break,
            }
        }
        Ok(())
    }

    /// Drops the partitions of events that no run needs. Where a run is kept for longer, the events of erased runs are
    /// deleted row by row; else they wait for the partition.
    async fn drop_partitions(&self, now: Timestamp) -> Result<(), ServiceError> {
        let store = &self.store;
        journal::drop_detached_partitions(store).await?;
        let mut failed = None;
        // The clock of a replica that creates runs may be behind.
        for partition in journal::list_run_partitions(store, earlier(now, DAY)).await? {
            if let Err(error) = self.drop_partition(&partition, now).await {
                warn!(
                    partition = partition.name,
                    error = &error as &dyn std::error::Error,
                    "cannot drop the events of {}",
                    partition.name
                );
                failed = Some(error);
            }
        }
        // Runs that are older than every partition are in one that stays.
        let all = journal::list_run_partitions(store, later(now, YEAR)).await?;
        if let Some(oldest) = all.iter().map(|partition| partition.bounds().0).min() {
            self.delete_events((Uuid::nil(), oldest)).await?;
        }
        failed.map_or(Ok(()), Err)
    }

    async fn drop_partition(&self, partition: &RunPartition, now: Timestamp) -> Result<(), ServiceError> {
        let times = (earlier(now, DAY), later(now, WEEK));
        let kept = erased_runs::find_kept(&self.store, partition, times).await?;
        if !kept.has_runs && journal::drop_run_partition(&self.store, partition).await? {
            info!(partition = partition.name, "dropped the events of {}", partition.name);
            count("partitions", 1);
            self.forget_runs(partition.bounds()).await?;
        } else if kept.has_long_kept_runs {
            self.delete_events(partition.bounds()).await?;
        }
        Ok(())
    }

    /// Deletes events of erased runs, and then forgets the runs.
    async fn delete_events(&self, range: (Uuid, Uuid)) -> Result<(), ServiceError> {
        for _ in 0..MAX_BATCHES {
            let runs = erased_runs::list(&self.store, range, SESSION_BATCH).await?;
            if runs.is_empty() || self.stop.is_cancelled() {
                break;
            }
            if erased_runs::delete_events(&self.store, &runs, EVENT_BATCH).await? < u64::from(EVENT_BATCH) {
                erased_runs::forget(&self.store, &runs).await?;
            }
        }
        Ok(())
    }

    async fn forget_runs(&self, range: (Uuid, Uuid)) -> Result<(), ServiceError> {
        loop {
            let runs = erased_runs::list(&self.store, range, 10 * ROW_BATCH).await?;
            if runs.is_empty() {
                return Ok(());
            }
            erased_runs::forget(&self.store, &runs).await?;
        }
    }
}

fn count(kind: &'static str, rows: u64) {
    if rows > 0 {
        counter!("guildhall_retention_erased_total", "kind" => kind).increment(rows);
    }
}
