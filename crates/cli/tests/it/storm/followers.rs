//! Followers: read a stream over many connections until its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_testkit::EntryPosition;
use reqwest::Method;
use serde_json::Value;

use super::checker::{AuditRecord, RunRecord};
use super::clients::CreatedRun;
use super::{Storm, StormTenant};
use crate::journal_faults::record_event;
use crate::support::run_events::EventPositions;

/// A replica that is stopped sends nothing; then the follower connects to another.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// A run must end in this time, not counting outages of the whole system: longest answer, detection of a lost runner,
/// recovery, and its retries.
pub(super) const RUN_BOUND: Duration = Duration::from_secs(60);

/// Follows a run until its command ends or the bound has passed.
pub(super) async fn follow_run(storm: &Storm, tenant: &StormTenant, created: CreatedRun) -> RunRecord {
    let (started, outages_before) = (Instant::now(), storm.outages.total());
    let mut record = RunRecord::new(created.run, created.command);
    let mut positions = EventPositions::default();
    let mut cursor = None;
    let path = format!("/api/v1/runs/{}/events/stream", record.run);
    loop {
        let waited = started.elapsed().saturating_sub(storm.outages.total().saturating_sub(outages_before));
        record.waited = waited;
        if waited > storm.size.bound || record.outcome.is_some() {
            return record;
        }
        let mut stream = EventStream::open(storm, &path, &tenant.bearer, cursor.as_deref()).await;
        while let Some(event) = stream.next().await {
            if event.kind == "gap" {
                record.deliveries.push(Vec::new());
                record.text.clear();
                positions = EventPositions::default();
            } else if let Some(id) = event.id {
                cursor = Some(id);
                record.add_event(&mut positions, &event.data);
            }
            if record.outcome.is_some() {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Follows the audit log of a tenant until it has received everything after the stop.
pub(super) async fn follow_audit(storm: Arc<Storm>, tenant: usize) -> AuditRecord {
    let tenant = &storm.tenants[tenant];
    let (mut deliveries, mut cursor): (Vec<Vec<EntryPosition>>, Option<String>) = (vec![Vec::new()], None);
    let path = format!("/api/v1/tenants/{}/audit/stream", tenant.id);
    loop {
        if storm.writers_done.load(Ordering::SeqCst) {
            let sql = format!("SELECT last_seq FROM journal_heads WHERE owner = '{}'", tenant.stream.owner);
            let last_seq = storm.db.sql().await.number(sql).await;
            let received = deliveries.last().and_then(|delivery| delivery.last());
            if received.is_some_and(|(_, seq, _)| seq.get() >= last_seq) {
                return AuditRecord { stream: tenant.stream, deliveries };
            }
        }
        let mut stream = EventStream::open(&storm, &path, &tenant.bearer, cursor.as_deref()).await;
        while let Some(event) = stream.next().await {
            if event.kind == "gap" {
                deliveries.push(Vec::new());
            } else {
                let delivery = deliveries.last_mut().expect("one delivery");
                record_event(&event.text, tenant.stream, delivery, &mut cursor);
            }
        }
    }
}

struct StreamEvent {
    kind: String,
    id: Option<String>,
    data: Value,
    text: String,
}

/// One connection to a replica.
struct EventStream {
    response: Option<reqwest::Response>,
    text: String,
}

impl EventStream {
    /// Connects to the next replica. A connection that fails has no events.
    async fn open(storm: &Storm, path: &str, bearer: &str, cursor: Option<&str>) -> Self {
        let mut request = storm.api.request(storm.api.next_replica(), Method::GET, path, bearer);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        let response = tokio::time::timeout(READ_TIMEOUT, request.send()).await;
        let response = response.ok().and_then(Result::ok).filter(|response| response.status() == 200);
        Self { response, text: String::new() }
    }

    /// Returns the next event, or `None` at the end of the connection and after a pause.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let data = field("data: ").and_then(|data| serde_json::from_str(data).ok());
                return Some(StreamEvent {
                    kind: field("event: ").unwrap_or_default().to_owned(),
                    id: field("id: ").map(str::to_owned),
                    data: data.unwrap_or_default(),
                    text: event.clone(),
                });
            }
            let chunk = tokio::time::timeout(READ_TIMEOUT, self.response.as_mut()?.chunk()).await;
            let chunk = chunk.ok()?.ok()??;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}
