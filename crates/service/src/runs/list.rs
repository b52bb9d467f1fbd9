//! Reading and listing runs.

use std::collections::HashMap;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::Run;
use guildhall_domain::runs::RunFilter;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::fold::Fold;
use guildhall_domain::runs::liveness::{Liveness, LivenessInput, compute_liveness};
use guildhall_domain::runs::{RunStatus, wait_deadline};
use guildhall_store::journal::{self, Scope, StoredFolds};
use guildhall_store::loaded_runs::{self, LoadedRun};

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
        self.load_view(caller, id).await
    }

    /// Loads a run through its caller, and builds its view, with one statement.
    pub(super) async fn load_view<R: Right>(
        &self,
        caller: &Authorized<R>,
        id: RunId,
    ) -> Result<RunView, ServiceError> {
        let loaded = loaded_runs::find(&self.deps.store, id, None).await?.ok_or(ServiceError::NOT_FOUND)?;
        caller.load(Some(loaded.run.clone()))?;
        self.view_loaded(loaded).await
    }

    /// Builds the view of a loaded run.
    pub async fn view_loaded(&self, loaded: LoadedRun) -> Result<RunView, ServiceError> {
        let LoadedRun { run, open, folds, .. } = loaded;
        self.view(run, open, &folds).await
    }

    /// Builds a view. A fold that another version of this binary wrote is built again from the events.
    pub(crate) async fn view(
        &self,
        run: Run,
        open: Vec<Command>,
        folds: &StoredFolds,
    ) -> Result<RunView, ServiceError> {
        let mut found = HashMap::new();
        for scope in [Scope::Run, current_scope(&open)] {
            let fold = match folds.get(scope) {
                Some(fold) => fold,
                None => journal::rebuild_fold(&self.deps.store, run.id, scope).await?,
            };
            found.insert(scope, fold);
        }
        Ok(self.build_view(run, open, &found))
    }

    /// Builds the view of a run that was just created.
    pub(super) fn view_created(&self, run: Run, fold: Fold) -> RunView {
        self.build_view(run, Vec::new(), &HashMap::from([(Scope::Run, fold)]))
    }

    fn build_view(&self, run: Run, open: Vec<Command>, folds: &HashMap<Scope, Fold>) -> RunView {
        let last_seq = folds.get(&Scope::Run).map_or(Seq::ZERO, |whole| whole.last_seq);
        let liveness = compute_liveness(&LivenessInput {
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

    /// Lists runs of a tenant, newest first, with one statement.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        before: Option<RunId>,
        filter: RunFilter,
        limit: u32,
    ) -> Result<Vec<RunView>, ServiceError> {
        let limit = limit.clamp(1, MAX_LISTED_RUNS);
        let mut views = Vec::new();
        for loaded in loaded_runs::list(&self.deps.store, caller.tenant(), before, filter, limit).await? {
            views.push(self.view_loaded(loaded).await?);
        }
        Ok(views)
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
