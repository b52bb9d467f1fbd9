//! A run under the lock of its journal's head: what is decided on it is written before anyone else may look.

use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Fence, Head, Seq};
use guildhall_domain::runs::command::{self, CommandKind, CommandState};
use guildhall_domain::runs::event::{self, Body, Mark};
use guildhall_domain::runs::{self as rules, Ending, Lost, RunState};
use guildhall_store::commands::{self, Command};
use guildhall_store::journal::{self, Append, AppendError, NewEntry, Scope, Wake};
use guildhall_store::runs::Run;
use guildhall_store::sessions::{self, Active};
use guildhall_store::{Store, Tx, leases, runs};
use serde_json::{Value, json};

use crate::ServiceError;
use crate::journal::Journals;

/// An open transaction on one run. What it says is appended when it is committed, in the order in which it was said.
#[derive(Debug)]
pub(crate) struct Locked {
    pub(crate) tx: Tx,
    pub(crate) head: Head,
    pub(crate) run: Run,
    /// The commands that have not ended.
    pub(crate) open: Vec<Command>,
    entries: Vec<NewEntry>,
    ended: u32,
}

impl Locked {
    /// Locks a run and reads it as it stands.
    pub(crate) async fn begin(store: &Store, id: RunId) -> Result<Self, ServiceError> {
        Self::within(store.begin().await?, id).await
    }

    /// Locks a run within a transaction that has begun.
    pub(crate) async fn within(mut tx: Tx, id: RunId) -> Result<Self, ServiceError> {
        let head = journal::lock_head(&mut tx, runs::stream(id)).await?;
        let run = runs::load(&mut tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        let open = commands::open(&mut tx, id).await?;
        Ok(Self { tx, head, run, open, entries: Vec::new(), ended: 0 })
    }

    pub(crate) fn states(&self) -> Vec<CommandState> {
        self.open.iter().map(|command| command.state.clone()).collect()
    }

    /// Returns the turn that runs, or else the one that would be next.
    pub(crate) fn open_turn(&self) -> Option<CommandId> {
        let mut turns = self.open.iter().filter(|command| command.kind == CommandKind::Turn);
        turns.clone().find(|turn| turn.state.is_running()).or_else(|| turns.next()).map(|turn| turn.id)
    }

    /// Says something in the run's journal.
    pub(crate) fn say(&mut self, kind: &'static str, command: Option<CommandId>, payload: Value) {
        self.say_once(EntryId::generate(), kind, command, payload);
    }

    /// Says something that may have been said before, under the same id.
    pub(crate) fn say_once(
        &mut self,
        id: EntryId,
        kind: &'static str,
        command: Option<CommandId>,
        payload: Value,
    ) {
        let mark = Some(Mark::of(kind, command, &payload));
        let body = Body { id: None, command_id: command, payload }.write();
        self.entries.push(NewEntry { id, kind: kind.into(), body, mark });
    }

    /// Returns the number that the next thing said will have.
    pub(crate) fn next_seq(&self) -> Seq {
        let said = i64::try_from(self.entries.len()).unwrap_or(0);
        Seq::new(self.head.last_seq.get() + said + 1).unwrap_or_default()
    }

    /// Moves an open command on, without ending it.
    pub(crate) async fn move_command(
        &mut self,
        id: CommandId,
        state: CommandState,
        delivered: Option<Seq>,
    ) -> Result<(), ServiceError> {
        commands::set_state(&mut self.tx, id, &state, delivered).await?;
        if let Some(command) = self.open.iter_mut().find(|command| command.id == id) {
            command.state = state;
        }
        Ok(())
    }

    /// Ends a command: the run goes on, its usage is added up, and readers have something new.
    pub(crate) async fn end_command(&mut self, id: CommandId, ending: &Ending) -> Result<(), ServiceError> {
        commands::set_state(&mut self.tx, id, &CommandState::Ended(ending.clone()), None).await?;
        self.open.retain(|command| command.id != id);
        self.ended += 1;
        let fold = journal::load_fold_in(&mut self.tx, self.run.id, Scope::Command(id)).await?;
        if let Some(fold) = fold {
            runs::add_usage(&mut self.tx, self.run.id, fold.cost()).await?;
        }
        self.say(event::TERMINAL_STATUS, Some(id), terminal("command", ending));
        Ok(())
    }

    /// Ends the run and every open command; from here on its runner is refused.
    pub(crate) async fn end(&mut self, ending: &Ending) -> Result<(), ServiceError> {
        for open in self.open.clone() {
            if let Some(ending) = command::ended_with_run(&open.state, ending) {
                self.end_command(open.id, &ending).await?;
            }
        }
        runs::end(&mut self.tx, self.run.id, ending).await?;
        self.let_go().await?;
        self.ended += 1;
        self.run.state = RunState::Ended(ending.clone());
        self.say(event::TERMINAL_STATUS, None, terminal("run", ending));
        Ok(())
    }

    /// Takes the run from its runner: writes under the epoch before are refused from the commit on.
    pub(crate) async fn let_go(&mut self) -> Result<(), ServiceError> {
        leases::drop(&mut self.tx, self.run.id).await?;
        self.head.epoch = journal::take_over(&mut self.tx, runs::stream(self.run.id)).await?;
        runs::wait_anew(&mut self.tx, self.run.id).await?;
        self.run.lease = None;
        Ok(())
    }

    /// Ends what a lost runner left running. It is never run again by itself.
    pub(crate) async fn end_what_ran(&mut self) -> Result<(), ServiceError> {
        for open in self.open.clone() {
            if let Some(ending) = command::lost(&open.state) {
                self.end_command(open.id, &ending).await?;
            }
        }
        Ok(())
    }

    /// Takes the run from a runner that was lost, and offers it to the next.
    pub(crate) async fn lose_runner(&mut self) -> Result<(), ServiceError> {
        let lost = self.run.lease.as_ref().map(|lease| lease.runner);
        self.end_what_ran().await?;
        match rules::lost(&self.run.state) {
            Some(Lost::Ends(ending)) => self.end(&ending).await,
            Some(Lost::Reoffered) => {
                self.let_go().await?;
                if let Some(lost) = lost {
                    runs::set_lost_runner(&mut self.tx, self.run.id, lost).await?;
                }
                let lost = lost.map(|runner| runner.to_string());
                let payload = json!({ "status": "pending", "reason": "runner-lost", "runnerId": lost });
                self.say(event::RUN_STATUS, None, payload);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends the run where it waited for this: it is being cancelled and nothing of it runs any more.
    pub(crate) async fn settle(&mut self) -> Result<(), ServiceError> {
        match rules::after_command(&self.run.state, &self.states()) {
            Some(ending) => self.end(&ending).await,
            None => Ok(()),
        }
    }

    /// Writes all of it, and tells those who follow.
    pub(crate) async fn commit(mut self, journals: &Journals) -> Result<Seq, ServiceError> {
        let stream = runs::stream(self.run.id);
        let is_ended = self.run.state.is_ended();
        let active = Active {
            run: (!is_ended).then_some(self.run.id),
            command: self.open_turn().or_else(|| self.open.first().map(|command| command.id)),
            ended: self.ended,
        };
        sessions::set_active(&mut self.tx, self.run.session, active).await?;
        let entries = std::mem::take(&mut self.entries);
        let mut last_seq = self.head.last_seq;
        if !entries.is_empty() {
            let append = Append { stream, fence: Fence::Open, entries };
            let placed = journal::append(&mut self.tx, &append).await.map_err(refused)?;
            last_seq = placed.iter().map(|placed| placed.seq()).max().unwrap_or(last_seq).max(last_seq);
        }
        self.tx.commit().await?;
        journals.announce(Wake { stream, last_seq });
        Ok(last_seq)
    }
}

/// An append of the server's own entries has nothing to be refused for but the store.
fn refused(error: AppendError) -> ServiceError {
    match error {
        AppendError::Store(error) => error.into(),
        AppendError::Refused(_) | AppendError::Overloaded => ServiceError::Overloaded,
    }
}

fn terminal(scope: &'static str, ending: &Ending) -> Value {
    json!({
        "scope": scope,
        "terminalStatus": ending.status.as_str(),
        "failureKind": ending.failure.as_ref().map(|failure| failure.kind.as_str()),
        "message": ending.failure.as_ref().map(|failure| failure.message.as_str()),
    })
}
