//! Appends the events that a runner reports.

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::{AppendedEntry, Fence};
use guildhall_domain::redact::redact_json;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::event::{self, EventBody, ParsedEvent};
use guildhall_domain::runs::quota::EventQuota;
use guildhall_store::journal::{AppendError, AppendRequest, NewEntry};
use guildhall_store::runs;
use serde_json::Value;

use super::error::RunnerError;
use crate::ServiceError;
use crate::journal::Journals;
use crate::ops::rates::Rates;
use crate::run_steps::metrics::EventCount;

/// An event that a runner reports.
#[derive(Debug, Clone)]
pub struct ReportedEvent {
    /// The runner's own id of it.
    pub id: String,
    pub kind: String,
    pub command: Option<CommandId>,
    pub payload: Value,
}

/// Appends events of runners.
#[derive(Debug, Clone)]
pub struct RunnerEvents {
    journals: Journals,
    quota: EventQuota,
    rates: Rates,
}

impl RunnerEvents {
    pub(super) fn new(journals: Journals, quota: EventQuota, rates: Rates) -> Self {
        Self { journals, quota, rates }
    }

    /// Appends events. An event that is sent again is recognised by the runner's own id.
    pub async fn append(
        &self,
        grant: &RunGrant,
        events: Vec<ReportedEvent>,
    ) -> Result<Vec<AppendedEntry>, ServiceError> {
        let entries =
            events.into_iter().map(|event| self.entry(grant.run, event)).collect::<Result<Vec<_>, _>>()?;
        let bytes = entries.iter().map(|entry| entry.body.len() as u64).sum();
        self.rates.count_events(grant.tenant, bytes).await?;
        let counts: Vec<EventCount> = entries.iter().map(EventCount::of).collect();
        let fence = Fence::Holder(grant.epoch);
        let append = AppendRequest {
            stream: runs::stream(grant.run),
            fence,
            entries,
            quota: Some(self.quota.max_run_bytes),
        };
        let appended = self.journals.append(append).await.map_err(append_error)?;
        for (count, appended) in counts.into_iter().zip(&appended) {
            count.record(*appended);
        }
        Ok(appended)
    }

    /// Builds a journal entry. Credentials are redacted before anything is stored.
    fn entry(&self, run: RunId, mut event: ReportedEvent) -> Result<NewEntry, ServiceError> {
        event::validate(&event.kind, &event.payload)?;
        let id = event::entry_id(run, &event.id)?;
        redact_json(&mut event.payload);
        let parsed_event = Some(ParsedEvent::new(&event.kind, event.command, &event.payload));
        let body = EventBody::new(Some(event.id), event.command, event.payload).to_json();
        self.quota.check_event(body.len())?;
        Ok(NewEntry { id, kind: event.kind.into(), body, parsed_event })
    }
}

fn append_error(error: AppendError) -> ServiceError {
    match error {
        AppendError::Rejected(rejection) => rejection.into(),
        AppendError::UnknownCommand(command) => RunnerError::UnknownCommand(command).into(),
        AppendError::QuotaExceeded(max) => RunnerError::RunQuota(max).into(),
        AppendError::Overloaded => ServiceError::Overloaded,
        AppendError::Store(error) => error.into(),
    }
}
