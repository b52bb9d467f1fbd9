//! The result of a command: from its record, its fold, and the few entries that the fold points to. It costs the same
//! after ten events and after a million.

use std::collections::HashMap;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::command::{CommandKind, CommandState};
use guildhall_domain::runs::event::Body;
use guildhall_domain::runs::fold::{Fold, Reply};
use guildhall_domain::runs::liveness::{Facts, Liveness, look};
use guildhall_domain::runs::patience_ends;
use guildhall_domain::runs::result::{Verdict, of_command, of_run};
use guildhall_store::commands::{self, Command};
use guildhall_store::journal::{self, Entry, Scope};
use guildhall_store::runs::{self as rows, Run};
use jiff::SignedDuration;
use serde_json::Value;

use super::Runs;
use crate::ServiceError;

/// Something that an event said, with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub seq: Seq,
    pub kind: String,
    /// None where it was erased.
    pub payload: Option<Value>,
}

/// How far a steer got. That it was accepted does not mean that the turn has answered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteerDelivery {
    pub target: Option<CommandId>,
    pub acked: bool,
    /// The backend took it.
    pub accepted: bool,
    /// The turn has said something since.
    pub target_went_on: bool,
}

/// Everything that a result says.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub run: Run,
    pub command: Option<Command>,
    pub verdict: Verdict,
    /// Of the command, or of the whole run where it has none.
    pub fold: Fold,
    pub whole: Fold,
    pub reply: Option<(Reply, Said)>,
    pub tools: Vec<Said>,
    pub artifacts: Vec<Said>,
    pub liveness: Liveness,
    pub last_event_age: Option<SignedDuration>,
    pub steer: Option<SteerDelivery>,
}

impl Runs {
    /// Reads the result of a command, or of the newest one.
    pub async fn result(
        &self,
        caller: &Caller,
        id: RunId,
        command: Option<CommandId>,
    ) -> Result<RunResult, ServiceError> {
        let run = self.load(caller, id, Right::RunsRead).await?;
        let command = match command {
            Some(command) => {
                let found = commands::find(&self.store, command).await?.filter(|found| found.run == id);
                Some(found.ok_or(ServiceError::NOT_FOUND)?)
            }
            None => commands::latest(&self.store, id).await?,
        };
        self.result_of(run, command).await
    }

    pub(crate) async fn result_of(
        &self,
        run: Run,
        command: Option<Command>,
    ) -> Result<RunResult, ServiceError> {
        let scope = command.as_ref().map_or(Scope::Run, |command| Scope::Command(command.id));
        let target = command.as_ref().and_then(|command| command.target).map(Scope::Command);
        let scopes: Vec<Scope> = [Scope::Run, scope].into_iter().chain(target).collect();
        let folds = journal::load_folds(&self.store, run.id, &scopes).await?;
        let of = |scope: Scope| folds.get(&scope).cloned().unwrap_or_default();
        let (fold, whole) = (of(scope), of(Scope::Run));
        let mut entries = self.pointed_to(&run, &fold).await?;
        let last_event_age =
            entries.get(&fold.last_seq).map(|entry| run.now.duration_since(entry.recorded_at));
        let reply = fold.reply().and_then(|reply| Some((reply, said(entries.remove(&reply.seq)?))));
        let mut pick = |seqs: &std::collections::VecDeque<Seq>| {
            seqs.iter().filter_map(|seq| entries.remove(seq)).map(said).collect::<Vec<_>>()
        };
        let (tools, artifacts) = (pick(&fold.tools.recent), pick(&fold.artifacts.recent));
        let steer = command.as_ref().and_then(|command| delivery(command, target.map(of).as_ref()));
        Ok(RunResult {
            verdict: verdict(&run, command.as_ref(), &fold),
            liveness: self.look(&run, command.as_ref(), &fold),
            run,
            command,
            fold,
            whole,
            reply,
            tools,
            artifacts,
            last_event_age,
            steer,
        })
    }

    /// Reads the entries that a fold points to: two dozen at most.
    async fn pointed_to(&self, run: &Run, fold: &Fold) -> Result<HashMap<Seq, Entry>, ServiceError> {
        let reply = fold.reply().map(|reply| reply.seq);
        let recent = fold.tools.recent.iter().chain(&fold.artifacts.recent).copied();
        let mut seqs: Vec<Seq> = recent.chain(reply).chain([fold.last_seq]).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let entries = journal::pick(&self.store, rows::stream(run.id), &seqs).await?;
        Ok(entries.into_iter().map(|entry| (entry.seq, entry)).collect())
    }

    fn look(&self, run: &Run, command: Option<&Command>, fold: &Fold) -> Liveness {
        let has_open = command.is_some_and(|command| command.state.is_open());
        look(&Facts {
            run: &run.state,
            command: command.map(|command| &command.state),
            lease: run.lease.as_ref(),
            fold,
            now: run.now,
            grace: self.times.grace(),
            patience_ends_at: patience_ends(has_open, run.waiting_since, self.times.patience()).0,
        })
    }
}

fn verdict(run: &Run, command: Option<&Command>, fold: &Fold) -> Verdict {
    match command {
        Some(command) => of_command(&command.state, fold.terminal),
        None => of_run(&run.state, run.lease.is_some(), false, fold.terminal),
    }
}

fn said(entry: Entry) -> Said {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<Body>(body).ok());
    Said { seq: entry.seq, kind: entry.kind, payload: body.map(|body| body.payload) }
}

fn delivery(command: &Command, target: Option<&Fold>) -> Option<SteerDelivery> {
    if command.kind != CommandKind::Steer {
        return None;
    }
    let completed = |state: &CommandState| match state {
        CommandState::Ended(ending) => ending.status == guildhall_domain::runs::TerminalStatus::Completed,
        CommandState::Pending | CommandState::Running { .. } => false,
    };
    let went_on = |delivered: Seq| target.is_some_and(|target| target.last_seq > delivered);
    Some(SteerDelivery {
        target: command.target,
        acked: command.acked_at.is_some(),
        accepted: completed(&command.state),
        target_went_on: command.delivered_seq.is_some_and(went_on),
    })
}
