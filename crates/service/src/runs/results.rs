//! The result of a command, built from its row, its fold and the few entries that the fold points to. The cost does not
//! grow with the number of events.

use std::collections::HashMap;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::Entry;
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{CommandKind, CommandState};
use guildhall_domain::runs::event::EventBody;
use guildhall_domain::runs::fold::{Fold, ReplyCandidate};
use guildhall_domain::runs::liveness::{Liveness, LivenessInput, compute_liveness};
use guildhall_domain::runs::result::{ResultStatus, command_result_status, run_result_status};
use guildhall_domain::runs::wait_deadline;
use guildhall_store::commands;
use guildhall_store::journal::{self, Scope};
use guildhall_store::runs as rows;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Runs;
use crate::ServiceError;

/// The payload of one event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPayload {
    pub seq: Seq,
    pub kind: String,
    /// None where it was erased.
    pub payload: Option<Value>,
}

/// The last event of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandActivity {
    pub seq: Seq,
    pub kind: String,
    pub at: Timestamp,
}

/// How far a steer was delivered. Accepted does not mean that the turn has answered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteerDelivery {
    pub target: Option<CommandId>,
    pub acked: bool,
    /// The backend accepted it.
    pub accepted: bool,
    /// The turn has produced an event since.
    pub target_progressed: bool,
}

/// The result of a command or a run.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub run: Run,
    pub command: Option<Command>,
    pub status: ResultStatus,
    /// Of the command, or of the whole run where it has none.
    pub fold: Fold,
    pub whole: Fold,
    pub reply: Option<(ReplyCandidate, EventPayload)>,
    pub tools: Vec<EventPayload>,
    pub artifacts: Vec<EventPayload>,
    pub liveness: Liveness,
    /// Of the last event of the run.
    pub last_event_age: Option<SignedDuration>,
    pub last_activity: Option<CommandActivity>,
    pub steer: Option<SteerDelivery>,
}

/// Reads the results of runs and commands.
#[derive(Debug, Clone)]
pub struct Results {
    runs: Runs,
}

impl Results {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Reads the result of a command of a run; of the latest one where none is named.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        id: RunId,
        command: Option<CommandId>,
    ) -> Result<RunResult, ServiceError> {
        let run = self.runs.load(caller, id).await?;
        let command = match command {
            Some(command) => {
                let found =
                    commands::find(&self.runs.deps.store, command).await?.filter(|found| found.run == id);
                Some(found.ok_or(ServiceError::NOT_FOUND)?)
            }
            None => commands::find_latest(&self.runs.deps.store, id).await?,
        };
        self.build(run, command).await
    }

    async fn build(&self, run: Run, command: Option<Command>) -> Result<RunResult, ServiceError> {
        let scope = command.as_ref().map_or(Scope::Run, |command| Scope::Command(command.id));
        let target = command.as_ref().and_then(|command| command.target).map(Scope::Command);
        let scopes: Vec<Scope> = [Scope::Run, scope].into_iter().chain(target).collect();
        let folds = journal::load_folds(&self.runs.deps.store, run.id, &scopes).await?;
        let of = |scope: Scope| folds.get(&scope).cloned().unwrap_or_default();
        let (fold, whole) = (of(scope), of(Scope::Run));
        let mut entries = self.load_referenced_entries(&run, &fold, whole.last_seq).await?;
        let last_event_age =
            entries.get(&whole.last_seq).map(|entry| run.now.duration_since(entry.recorded_at));
        let last_activity = command
            .as_ref()
            .and_then(|_| entries.get(&fold.last_seq))
            .map(|entry| CommandActivity { seq: entry.seq, kind: entry.kind.clone(), at: entry.recorded_at });
        let reply = fold.reply().and_then(|reply| Some((reply, event_payload(entries.remove(&reply.seq)?))));
        let mut pick = |seqs: &std::collections::VecDeque<Seq>| {
            seqs.iter().filter_map(|seq| entries.remove(seq)).map(event_payload).collect::<Vec<_>>()
        };
        let (tools, artifacts) = (pick(&fold.tools.recent), pick(&fold.artifacts.recent));
        let steer = command.as_ref().and_then(|command| delivery(command, target.map(of).as_ref()));
        Ok(RunResult {
            status: result_status(&run, command.as_ref(), &fold),
            liveness: self.compute_liveness(&run, command.as_ref(), &fold),
            run,
            command,
            fold,
            whole,
            reply,
            tools,
            artifacts,
            last_event_age,
            last_activity,
            steer,
        })
    }

    /// Loads the entries that a fold references and the last one of the run, at most 25.
    async fn load_referenced_entries(
        &self,
        run: &Run,
        fold: &Fold,
        last_seq: Seq,
    ) -> Result<HashMap<Seq, Entry>, ServiceError> {
        let reply = fold.reply().map(|reply| reply.seq);
        let recent = fold.tools.recent.iter().chain(&fold.artifacts.recent).copied();
        let mut seqs: Vec<Seq> = recent.chain(reply).chain([fold.last_seq, last_seq]).collect();
        seqs.sort_unstable();
        seqs.dedup();
        let entries = journal::list_by_seqs(&self.runs.deps.store, rows::stream(run.id), &seqs).await?;
        Ok(entries.into_iter().map(|entry| (entry.seq, entry)).collect())
    }

    fn compute_liveness(&self, run: &Run, command: Option<&Command>, fold: &Fold) -> Liveness {
        let has_open = command.is_some_and(|command| command.state.is_open());
        compute_liveness(&LivenessInput {
            run: &run.state,
            command: command.map(|command| &command.state),
            lease: run.lease.as_ref(),
            asking_until: run.asking_until,
            parked_until: run.parked_until,
            fold,
            now: run.now,
            grace: self.runs.deps.run_timeouts.grace(),
            wait_deadline: wait_deadline(
                has_open,
                run.waiting_since,
                self.runs.deps.run_timeouts.wait_limits(),
            )
            .0,
        })
    }
}

fn result_status(run: &Run, command: Option<&Command>, fold: &Fold) -> ResultStatus {
    match command {
        Some(command) => command_result_status(&command.state, fold.terminal),
        None => run_result_status(&run.state, run.lease.is_some(), false, fold.terminal),
    }
}

fn event_payload(entry: Entry) -> EventPayload {
    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
    EventPayload { seq: entry.seq, kind: entry.kind, payload: body.map(|body| body.payload) }
}

fn delivery(command: &Command, target: Option<&Fold>) -> Option<SteerDelivery> {
    if command.kind != CommandKind::Steer {
        return None;
    }
    let completed = |state: &CommandState| match state {
        CommandState::Ended(outcome) => outcome.status == guildhall_domain::runs::TerminalStatus::Completed,
        CommandState::Pending | CommandState::Running { .. } => false,
    };
    let progressed = |delivered: Seq| target.is_some_and(|target| target.last_seq > delivered);
    Some(SteerDelivery {
        target: command.target,
        acked: command.acked_at.is_some(),
        accepted: completed(&command.state),
        target_progressed: command.delivered_seq.is_some_and(progressed),
    })
}
