//! A run under the lock of its journal head: decisions are written before anyone else can read or change it.

use guildhall_domain::approvals::state::EndReason;
use guildhall_domain::ids::{ApprovalId, CommandId, EntryId, RunId};
use guildhall_domain::journal::{Fence, Head, Seq};
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{self, CommandKind, CommandState};
use guildhall_domain::runs::event::{self, EventBody, ParsedEvent};
use guildhall_domain::runs::fold::Fold;
use guildhall_domain::runs::lease;
use guildhall_domain::runs::{self as rules, LostRunnerAction, RunState, TerminalOutcome};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::commands;
use guildhall_store::journal::{
    self, AppendError, AppendRequest, NewEntry, RunUpdate, Scope, StoredFolds, StreamUpdate,
};
use guildhall_store::loaded_runs::{self, LoadedRun};
use guildhall_store::sessions::{self, ActiveWork};
use guildhall_store::{Store, Tx, leases, runs};
use serde_json::{Value, json};

use super::approval_notices::ApprovalNotices;
use super::metrics::EndedCommand;
use crate::ServiceError;
use crate::deps::Deps;

/// An open transaction on one locked run. Its events are appended, in order, when it is committed.
#[derive(Debug)]
pub(crate) struct LockedRun {
    pub(crate) tx: Tx,
    pub(crate) head: Head,
    pub(crate) run: Run,
    /// The commands that have not ended.
    pub(crate) open: Vec<Command>,
    /// The storage of its session.
    pub(crate) storage: StorageKind,
    /// The thread of its session.
    pub(crate) thread_id: Option<String>,
    /// A thread that the session gets with the commit.
    pub(crate) new_thread_id: Option<String>,
    /// The folds of the run and of its open commands, as they were under the lock.
    folds: StoredFolds,
    /// Whether an open command may have a question that is not settled.
    pub(super) has_open_approvals: bool,
    entries: Vec<NewEntry>,
    /// Whether an entry may be a repeat.
    has_repeatable_entry: bool,
    /// Whether the run was created in this transaction: its session names it already.
    is_new: bool,
    /// For the stream of the tenant's approvals.
    pub(super) approval_entries: Vec<NewEntry>,
    /// Questions that nobody can answer any more.
    pub(super) withdrawn: Vec<ApprovalId>,
    ended: u32,
    ended_commands: Vec<EndedCommand>,
}

impl LockedRun {
    /// Begins a transaction, locks a run and loads it.
    pub(crate) async fn begin(store: &Store, id: RunId) -> Result<Self, ServiceError> {
        let mut tx = store.begin().await?;
        let head = journal::lock_head(&mut tx, runs::stream(id)).await?;
        Self::load(tx, head, id).await
    }

    /// Begins a transaction and locks a run, unless somebody else has locked it.
    pub(crate) async fn try_begin(store: &Store, id: RunId) -> Result<Option<Self>, ServiceError> {
        let mut tx = store.begin().await?;
        match journal::try_lock_head(&mut tx, runs::stream(id)).await? {
            Some(head) => Self::load(tx, head, id).await.map(Some),
            None => {
                tx.rollback().await?;
                Ok(None)
            }
        }
    }

    /// Continues with a run that the transaction has created. Nobody else can see it, so that there is nothing to lock.
    pub(crate) async fn created(mut tx: Tx, id: RunId) -> Result<Self, ServiceError> {
        let run = runs::load(&mut tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let loaded = LoadedRun {
            run,
            open: Vec::new(),
            sealed: Vec::new(),
            folds: StoredFolds::default(),
            storage: StorageKind::None,
            thread_id: None,
            has_open_approvals: false,
            is_authorized: false,
        };
        Ok(Self { is_new: true, ..Self::new(tx, Head::default(), loaded) })
    }

    /// Loads a run whose head the transaction has locked. What is read is as it was under the lock: a statement of its own, because
    /// the one that waits for the lock sees the rows of before.
    pub(crate) async fn load(mut tx: Tx, head: Head, id: RunId) -> Result<Self, ServiceError> {
        let loaded = loaded_runs::load(&mut tx, id, None).await?.ok_or(ServiceError::NOT_FOUND)?;
        Ok(Self::new(tx, head, loaded))
    }

    fn new(tx: Tx, head: Head, loaded: LoadedRun) -> Self {
        Self {
            tx,
            head,
            run: loaded.run,
            open: loaded.open,
            storage: loaded.storage,
            thread_id: loaded.thread_id,
            new_thread_id: None,
            folds: loaded.folds,
            has_open_approvals: loaded.has_open_approvals,
            entries: Vec::new(),
            has_repeatable_entry: false,
            is_new: false,
            approval_entries: Vec::new(),
            withdrawn: Vec::new(),
            ended: 0,
            ended_commands: Vec::new(),
        }
    }

    /// Locks the run of a grant. Returns none when the run has ended or is held under another epoch. A runner whose enrolment was
    /// revoked is not authenticated: callers need only the signature of its token.
    pub(crate) async fn fenced(store: &Store, grant: &RunGrant) -> Result<Option<Self>, ServiceError> {
        let mut tx = store.begin().await?;
        let head = journal::lock_head(&mut tx, runs::stream(grant.run)).await?;
        let loaded = loaded_runs::load(&mut tx, grant.run, Some(grant.runner)).await?;
        let Some(loaded) = loaded.filter(|loaded| loaded.is_authorized && loaded.run.tenant == grant.tenant)
        else {
            tx.rollback().await?;
            return Err(ServiceError::Unauthenticated);
        };
        if lease::may_write(head.epoch, grant.epoch, &loaded.run.state) {
            return Ok(Some(Self::new(tx, head, loaded)));
        }
        tx.rollback().await?;
        Ok(None)
    }

    /// Adds a command that was inserted in this transaction.
    pub(super) fn add_command(&mut self, command: Command) {
        self.folds.insert_new(command.id);
        self.open.push(command);
    }

    /// Returns a command of the run.
    pub(crate) async fn find_command(&mut self, id: CommandId) -> Result<Command, ServiceError> {
        if let Some(open) = self.open.iter().find(|open| open.id == id) {
            return Ok(open.clone());
        }
        let found = commands::load(&mut self.tx, id).await?;
        found.filter(|found| found.run == self.run.id).ok_or(ServiceError::NOT_FOUND)
    }

    /// Returns the folds as they were under the lock.
    pub(crate) fn folds(&self) -> &StoredFolds {
        &self.folds
    }

    pub(crate) fn states(&self) -> Vec<CommandState> {
        self.open.iter().map(|command| command.state.clone()).collect()
    }

    /// Returns the turn that runs, or else the one that would be next.
    pub(crate) fn open_turn(&self) -> Option<CommandId> {
        let mut turns = self.open.iter().filter(|command| command.kind == CommandKind::Turn);
        turns.clone().find(|turn| turn.state.is_running()).or_else(|| turns.next()).map(|turn| turn.id)
    }

    /// Appends an event to the run's journal.
    pub(crate) fn append_event(&mut self, kind: &'static str, command: Option<CommandId>, payload: Value) {
        self.push_event(EntryId::generate(), kind, command, payload);
    }

    /// Appends an event that may be there already under the same id.
    pub(crate) fn append_event_once(
        &mut self,
        id: EntryId,
        kind: &'static str,
        command: Option<CommandId>,
        payload: Value,
    ) {
        self.has_repeatable_entry = true;
        self.push_event(id, kind, command, payload);
    }

    fn push_event(&mut self, id: EntryId, kind: &'static str, command: Option<CommandId>, payload: Value) {
        let parsed_event = Some(ParsedEvent::new(kind, command, &payload));
        let body = EventBody::new(None, command, payload).to_json();
        self.entries.push(NewEntry { id, kind: kind.into(), body, parsed_event });
    }

    /// Returns the seq of the next event.
    pub(crate) fn next_seq(&self) -> Seq {
        let pending = i64::try_from(self.entries.len()).unwrap_or(0);
        Seq::new(self.head.last_seq.get() + pending + 1).unwrap_or_default()
    }

    /// Sets the state of a command that stays open, and returns it.
    pub(crate) async fn set_command_state(
        &mut self,
        id: CommandId,
        state: CommandState,
        delivered: Option<Seq>,
    ) -> Result<Command, ServiceError> {
        let changed = commands::set_state(&mut self.tx, id, &state, delivered).await?;
        if matches!(state, CommandState::Running { cancelling: true, .. }) {
            self.end_approvals(id, EndReason::Cancelled).await?;
        }
        if let Some(command) = self.open.iter_mut().find(|command| command.id == id) {
            *command = changed.clone();
        }
        Ok(changed)
    }

    /// Ends a command, adds its usage to the run, and returns it. The run stays open.
    pub(crate) async fn end_command(
        &mut self,
        id: CommandId,
        outcome: &TerminalOutcome,
    ) -> Result<Command, ServiceError> {
        let ended =
            commands::set_state(&mut self.tx, id, &CommandState::Ended(outcome.clone()), None).await?;
        self.end_approvals(id, EndReason::TurnEnded).await?;
        let acked_at = self.open.iter().find(|command| command.id == id && command.kind == CommandKind::Turn);
        let acked_at = acked_at.and_then(|turn| turn.acked_at);
        self.open.retain(|command| command.id != id);
        self.ended += 1;
        let fold = match self.folds.get(Scope::Command(id)) {
            Some(fold) => Some(fold),
            None => journal::load_fold_in(&mut self.tx, self.run.id, Scope::Command(id)).await?,
        };
        let first_text_at = match fold {
            Some(fold) => {
                let first_text = fold.first_text.filter(|_| acked_at.is_some());
                runs::add_usage(&mut self.tx, self.run.id, fold.total_usage(), first_text).await?
            }
            None => None,
        };
        self.ended_commands.push(EndedCommand {
            status: outcome.status,
            duration: acked_at.map(|acked_at| self.run.now.duration_since(acked_at)),
            first_token_after: acked_at.and_then(|acked_at| Some(first_text_at?.duration_since(acked_at))),
        });
        self.append_event(event::TERMINAL_STATUS, Some(id), terminal("command", outcome));
        Ok(ended)
    }

    /// Ends the run and every open command. Its runner is refused from the commit on.
    pub(crate) async fn end(&mut self, outcome: &TerminalOutcome) -> Result<(), ServiceError> {
        for open in self.open.clone() {
            if let Some(outcome) = command::outcome_with_run(&open.state, outcome) {
                self.end_command(open.id, &outcome).await?;
            }
        }
        self.end_parked_approvals().await?;
        runs::end(&mut self.tx, self.run.id, outcome).await?;
        self.release_lease().await?;
        self.ended += 1;
        self.run.state = RunState::Ended(outcome.clone());
        self.append_event(event::TERMINAL_STATUS, None, terminal("run", outcome));
        Ok(())
    }

    /// Releases the lease and raises the epoch: writes under the old epoch are refused from the commit on.
    pub(crate) async fn release_lease(&mut self) -> Result<(), ServiceError> {
        leases::delete(&mut self.tx, self.run.id).await?;
        self.head.epoch = journal::take_over(&mut self.tx, runs::stream(self.run.id)).await?;
        runs::reset_waiting(&mut self.tx, self.run.id).await?;
        self.run.lease = None;
        Ok(())
    }

    /// Ends the commands that a lost runner left running. They are never retried automatically.
    pub(crate) async fn end_running_commands(&mut self) -> Result<(), ServiceError> {
        for open in self.open.clone() {
            if let Some(outcome) = command::outcome_after_runner_loss(&open.state) {
                self.end_approvals(open.id, EndReason::RunnerLost).await?;
                self.end_command(open.id, &outcome).await?;
            }
        }
        Ok(())
    }

    /// Takes the run from a lost runner and makes it claimable again.
    pub(crate) async fn lose_runner(&mut self) -> Result<(), ServiceError> {
        let lost = self.run.lease.as_ref().map(|lease| lease.runner);
        self.end_running_commands().await?;
        match rules::action_after_runner_loss(&self.run.state) {
            Some(LostRunnerAction::End(outcome)) => self.end(&outcome).await,
            Some(LostRunnerAction::Reoffer) => {
                self.release_lease().await?;
                if let Some(lost) = lost {
                    runs::set_lost_runner(&mut self.tx, self.run.id, lost).await?;
                }
                let lost = lost.map(|runner| runner.to_string());
                let payload = json!({ "status": "pending", "reason": "runner-lost", "runnerId": lost });
                self.append_event(event::RUN_STATUS, None, payload);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends the run if it is being cancelled and no command runs any more.
    pub(crate) async fn end_if_cancelled(&mut self) -> Result<(), ServiceError> {
        match rules::outcome_after_command(&self.run.state, &self.states()) {
            Some(outcome) => self.end(&outcome).await,
            None => Ok(()),
        }
    }

    /// Returns what tells the webhooks of the tenant about the questions of the run.
    pub(crate) fn approval_notices<'a>(&'a mut self, deps: &'a Deps) -> ApprovalNotices<'a> {
        ApprovalNotices { tx: &mut self.tx, run: &self.run, deps }
    }

    /// Commits, and notifies the followers of the run and its holder.
    pub(crate) async fn commit(self, deps: &Deps) -> Result<Seq, ServiceError> {
        Ok(self.commit_with_fold(deps).await?.0)
    }

    /// Commits. Returns the last seq of the run, and its fold if events were appended.
    pub(crate) async fn commit_with_fold(mut self, deps: &Deps) -> Result<(Seq, Option<Fold>), ServiceError> {
        let stream = runs::stream(self.run.id);
        let is_ended = self.run.state.is_ended();
        let active = ActiveWork {
            session: self.run.session,
            run: (!is_ended).then_some(self.run.id),
            command: self.open_turn().or_else(|| self.open.first().map(|command| command.id)),
            ended: self.ended,
            thread_id: self.new_thread_id.take(),
        };
        let is_changed = !self.is_new || active.command.is_some() || is_ended;
        let (last_seq, fold) = self.append_entries(is_changed.then_some(active)).await?;
        for id in std::mem::take(&mut self.withdrawn) {
            self.approval_notices(deps).withdrawn(id).await?;
        }
        let of_approvals = self.append_approval_entries().await?;
        self.tx.commit().await?;
        self.ended_commands.into_iter().for_each(EndedCommand::record);
        deps.journals.announce(StreamUpdate { stream, last_seq });
        of_approvals.into_iter().for_each(|update| deps.journals.announce(update));
        deps.held_runs.announce(self.run.id);
        Ok((last_seq, fold))
    }

    /// Appends the events, and updates the session.
    async fn append_entries(
        &mut self,
        active: Option<ActiveWork>,
    ) -> Result<(Seq, Option<Fold>), ServiceError> {
        let (stream, last_seq) = (runs::stream(self.run.id), self.head.last_seq);
        let entries = std::mem::take(&mut self.entries);
        if !entries.is_empty() && !self.has_repeatable_entry {
            let update = RunUpdate { head: self.head, folds: &self.folds, active: active.as_ref() };
            let appended = journal::append_new_to_run(&mut self.tx, stream, entries, update).await;
            return appended.map_err(append_error);
        }
        if let Some(active) = active {
            sessions::set_active(&mut self.tx, &active).await?;
        }
        if entries.is_empty() {
            return Ok((last_seq, None));
        }
        let append = AppendRequest { stream, fence: Fence::Open, entries, quota: None };
        let placed = journal::append(&mut self.tx, &append).await.map_err(append_error)?;
        Ok((placed.iter().map(|placed| placed.seq()).max().unwrap_or(last_seq).max(last_seq), None))
    }
}

/// Maps the error of an append of server events, which only the store can refuse.
fn append_error(error: AppendError) -> ServiceError {
    match error {
        AppendError::Store(error) => error.into(),
        AppendError::Rejected(_)
        | AppendError::UnknownCommand(_)
        | AppendError::QuotaExceeded(_)
        | AppendError::Overloaded => ServiceError::Overloaded,
    }
}

fn terminal(scope: &'static str, outcome: &TerminalOutcome) -> Value {
    json!({
        "scope": scope,
        "terminalStatus": outcome.status.as_str(),
        "failureKind": outcome.failure.as_ref().map(|failure| failure.kind.as_str()),
        "message": outcome.failure.as_ref().map(|failure| failure.message.as_str()),
    })
}
