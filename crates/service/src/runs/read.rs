//! Reading runs and their events.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_domain::runs::liveness::{Facts, Liveness, look};
use guildhall_domain::runs::{RunStatus, patience_ends};
use guildhall_store::commands::{self, Command};
use guildhall_store::journal::{self, Entry, Scope};
use guildhall_store::runs::{self as rows, Run, Shown};

use super::Runs;
use crate::ServiceError;

/// Events in one page.
const PAGE_AT_MOST: u32 = 1_000;

/// Runs in one list.
const RUNS_AT_MOST: u32 = 100;

/// A run as a reader sees it.
#[derive(Debug, Clone)]
pub struct RunView {
    pub run: Run,
    pub status: RunStatus,
    /// The commands that have not ended, in order.
    pub open: Vec<Command>,
    pub liveness: Liveness,
    pub last_seq: Seq,
}

/// A page of events, and where the stream ends.
#[derive(Debug, Clone)]
pub struct EventPage {
    pub entries: Vec<Entry>,
    pub last_seq: Seq,
}

impl Runs {
    pub async fn show(&self, caller: &Caller, id: RunId) -> Result<RunView, ServiceError> {
        let run = self.load(caller, id, Right::RunsRead).await?;
        self.view(run).await
    }

    pub(crate) async fn view(&self, run: Run) -> Result<RunView, ServiceError> {
        let open = commands::open_now(&self.store, run.id).await?;
        let current = open.iter().find(|command| command.state.is_running()).or_else(|| open.first());
        // What an earlier command left open, a tool or a lost connection, says nothing about this one.
        let scope = current.map_or(Scope::Run, |command| Scope::Command(command.id));
        let mut folds = journal::load_folds(&self.store, run.id, &[Scope::Run, scope]).await?;
        let last_seq = folds.get(&Scope::Run).map_or(Seq::ZERO, |whole| whole.last_seq);
        let liveness = look(&Facts {
            run: &run.state,
            command: current.map(|command| &command.state),
            lease: run.lease.as_ref(),
            fold: &folds.remove(&scope).unwrap_or_default(),
            now: run.now,
            grace: self.times.grace(),
            patience_ends_at: patience_ends(!open.is_empty(), run.waiting_since, self.times.patience()).0,
        });
        let is_running = open.iter().any(|command| command.state.is_running());
        let status = RunStatus::of(&run.state, run.lease.is_some(), is_running);
        Ok(RunView { run, status, open, liveness, last_seq })
    }

    /// Lists runs of a tenant, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        tenant: TenantId,
        before: Option<RunId>,
        shown: Shown,
        limit: u32,
    ) -> Result<Vec<RunView>, ServiceError> {
        caller.acting(tenant)?.require(Right::RunsRead)?;
        let ids = rows::list(&self.store, tenant, before, shown, limit.clamp(1, RUNS_AT_MOST)).await?;
        let mut views = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(run) = rows::find(&self.store, id).await? {
                views.push(self.view(run).await?);
            }
        }
        Ok(views)
    }

    /// Reads a page of a run's events.
    pub async fn events(
        &self,
        caller: &Caller,
        id: RunId,
        after: Seq,
        limit: u32,
    ) -> Result<EventPage, ServiceError> {
        self.load(caller, id, Right::RunsRead).await?;
        self.event_page(id, after, limit).await
    }

    pub(crate) async fn event_page(
        &self,
        id: RunId,
        after: Seq,
        limit: u32,
    ) -> Result<EventPage, ServiceError> {
        let stream = Stream { journal: Journal::Run, owner: id.as_uuid() };
        let entries = journal::page(&self.store, stream, after, limit.clamp(1, PAGE_AT_MOST)).await?;
        let last_seq = journal::last_seqs(&self.store, &[stream]).await?.remove(&stream).unwrap_or_default();
        Ok(EventPage { entries, last_seq })
    }
}
