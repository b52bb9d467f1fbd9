//! Reading and listing runs.

use std::collections::HashMap;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::RunFilter;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::fold::Fold;
use guildhall_domain::runs::liveness::{Liveness, LivenessInput, assess};
use guildhall_domain::runs::{RunStatus, wait_deadline};
use guildhall_store::commands;
use guildhall_store::journal::{self, Scope};
use guildhall_store::runs as rows;

use super::Runs;
use crate::ServiceError;

/// Runs in one list.
const MAX_LISTED_RUNS: u32 = 100;

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

impl Runs {
    /// Returns a run.
    pub async fn get(&self, caller: &Authorized<RunsRead>, id: RunId) -> Result<RunView, ServiceError> {
        let run = self.load(caller, id).await?;
        self.view(run).await
    }

    /// Builds the view of a loaded run.
    pub async fn view(&self, run: Run) -> Result<RunView, ServiceError> {
        let open = commands::list_open(&self.deps.store, run.id).await?;
        let scope = current_scope(&open);
        let folds = journal::load_folds(&self.deps.store, run.id, &[Scope::Run, scope]).await?;
        Ok(self.build_view(run, open, &folds))
    }

    /// Builds the view of a run that was just created.
    pub(super) fn view_created(&self, run: Run, fold: Fold) -> RunView {
        self.build_view(run, Vec::new(), &HashMap::from([(Scope::Run, fold)]))
    }

    fn build_view(&self, run: Run, open: Vec<Command>, folds: &HashMap<Scope, Fold>) -> RunView {
        let last_seq = folds.get(&Scope::Run).map_or(Seq::ZERO, |whole| whole.last_seq);
        let liveness = assess(&LivenessInput {
            run: &run.state,
            command: current(&open).map(|command| &command.state),
            lease: run.lease.as_ref(),
            asking_until: run.asking_until,
            parked_until: run.parked_until,
            fold: folds.get(&current_scope(&open)).unwrap_or(&Fold::default()),
            now: run.now,
            grace: self.deps.run_timeouts.grace(),
            wait_deadline: wait_deadline(
                !open.is_empty(),
                run.waiting_since,
                self.deps.run_timeouts.wait_limits(),
            )
            .0,
        });
        let is_running = open.iter().any(|command| command.state.is_running());
        let status = RunStatus::from_state(&run.state, run.lease.is_some(), is_running);
        RunView { run, status, open, liveness, last_seq }
    }

    /// Lists runs of a tenant, newest first. The number of statements does not depend on the number of runs.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        before: Option<RunId>,
        filter: RunFilter,
        limit: u32,
    ) -> Result<Vec<RunView>, ServiceError> {
        let (store, tenant) = (&self.deps.store, caller.tenant());
        let ids = rows::list(store, tenant, before, filter, limit.clamp(1, MAX_LISTED_RUNS)).await?;
        let mut runs = rows::find_all(store, &ids).await?;
        runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.id));
        let mut open: HashMap<RunId, Vec<Command>> = HashMap::new();
        for command in commands::list_open_of(store, &ids).await? {
            open.entry(command.run).or_default().push(command);
        }
        let scopes: Vec<(RunId, Scope)> = ids
            .iter()
            .flat_map(|id| {
                let scope = current_scope(open.get(id).map_or(&[], Vec::as_slice));
                [(*id, Scope::Run), (*id, scope)]
            })
            .collect();
        let folds = journal::load_folds_of_runs(store, &scopes).await?;
        let none = HashMap::new();
        let views = runs.into_iter().map(|run| {
            let (open, folds) =
                (open.remove(&run.id).unwrap_or_default(), folds.get(&run.id).unwrap_or(&none));
            self.build_view(run, open, folds)
        });
        Ok(views.collect())
    }
}

/// Returns the command that runs, or else the one that would be next.
fn current(open: &[Command]) -> Option<&Command> {
    open.iter().find(|command| command.state.is_running()).or_else(|| open.first())
}

/// Returns the scope of the fold that says whether a run is alive. A tool call or lost connection of an earlier command says
/// nothing about the current one.
fn current_scope(open: &[Command]) -> Scope {
    current(open).map_or(Scope::Run, |command| Scope::Command(command.id))
}
