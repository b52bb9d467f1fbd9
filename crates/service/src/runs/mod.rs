//! Runs, their commands, events and results.

pub mod backends;
pub mod bundles;
pub mod commands;
mod create;
pub mod diffs;
pub mod error;
pub mod events;
mod list;
pub mod reconcile;
pub mod results;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::runs::Run;
use guildhall_domain::runs::command::CommandState;
use guildhall_domain::runs::policy::SecretAliases;
use guildhall_domain::runs::{
    self as rules, CloseDecision, RunCancellation, RunState, TerminalOutcome, event,
};
use guildhall_store::approvals;
use guildhall_store::runs::{self as rows, CancelTarget};
use serde_json::json;

use self::error::RunError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::access::tenant_cache::TenantCache;
use crate::deps::Deps;
use crate::run_steps::LockedRun;
pub use create::CreateRun;
pub use list::RunView;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub runs: Runs,
    pub commands: commands::Commands,
    pub events: events::Events,
    pub results: results::Results,
    pub bundles: bundles::Bundles,
    pub diffs: diffs::Diffs,
    pub backends: backends::Backends,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps) -> Group {
    let runs = Runs { deps: deps.clone(), tenants: TenantCache::default() };
    Group {
        commands: commands::Commands::new(runs.clone()),
        events: events::Events::new(runs.clone()),
        results: results::Results::new(runs.clone()),
        bundles: bundles::Bundles::new(runs.clone()),
        diffs: diffs::Diffs::new(runs.clone()),
        backends: backends::Backends::new(deps.clone()),
        runs,
    }
}

/// Creates, reads and cancels runs.
#[derive(Debug, Clone)]
pub struct Runs {
    pub(crate) deps: Deps,
    /// By run: it never moves to another tenant.
    tenants: TenantCache<RunId>,
}

impl Runs {
    /// Requests a run to end. Repeating the request changes nothing.
    pub async fn cancel(&self, caller: &Authorized<RunsWrite>, id: RunId) -> Result<RunView, ServiceError> {
        self.load(caller, id).await?;
        let mut locked = LockedRun::begin(&self.deps.store, id).await?;
        match rules::cancel(&locked.run.state, &locked.states()) {
            RunCancellation::AlreadyEnded(_) => locked.tx.rollback().await?,
            RunCancellation::Requested if locked.run.state == RunState::Cancelling => {
                locked.tx.rollback().await?
            }
            RunCancellation::EndsNow(outcome) => {
                let payload = json!({ "status": "cancelling", "by": caller.principal.to_string() });
                locked.append_event(event::RUN_STATUS, None, payload);
                locked.end(&outcome).await?;
                record_cancellation(caller, &mut locked).await?;
                locked.commit(&self.deps).await?;
            }
            RunCancellation::Requested => {
                request_cancel(caller, &mut locked).await?;
                record_cancellation(caller, &mut locked).await?;
                locked.commit(&self.deps).await?;
            }
        }
        self.load_view(caller, id).await
    }

    /// Ends a run whose work is done, so that its session can have the next one. Repeating the request changes nothing.
    pub async fn close(&self, caller: &Authorized<RunsWrite>, id: RunId) -> Result<RunView, ServiceError> {
        self.load(caller, id).await?;
        let mut locked = LockedRun::begin(&self.deps.store, id).await?;
        let has_parked_question = !approvals::load_parked(&mut locked.tx, id).await?.is_empty();
        let states = locked.states();
        match rules::close(&locked.run.state, &states, has_parked_question).map_err(RunError::Close)? {
            CloseDecision::AlreadyEnded(_) => locked.tx.rollback().await?,
            CloseDecision::EndsNow(outcome) => {
                let payload = json!({ "status": "closing", "by": caller.principal.to_string() });
                locked.append_event(event::RUN_STATUS, None, payload);
                locked.end(&outcome).await?;
                let event = AuditEvent::by_member(caller, "run.closed", id.to_string(), json!({}));
                audit::record(&mut locked.tx, &event).await?;
                locked.commit(&self.deps).await?;
            }
        }
        self.load_view(caller, id).await
    }

    /// Loads a run through its caller: one of another tenant does not exist.
    pub(crate) async fn load<R: Right>(
        &self,
        caller: &Authorized<R>,
        id: RunId,
    ) -> Result<Run, ServiceError> {
        Ok(caller.load(rows::find(&self.deps.store, id).await?)?)
    }

    /// Returns the further names of secrets that requests may use.
    #[must_use]
    pub fn secret_aliases(&self) -> &SecretAliases {
        &self.deps.run_bounds.max_policy.secrets.aliases
    }

    /// Returns the tenant of a run, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: RunId) -> Result<Option<TenantId>, ServiceError> {
        if let Some(known) = self.tenants.get(&id) {
            return Ok(Some(known));
        }
        let found = rows::find_tenant(&self.deps.store, id).await?;
        if let Some(tenant) = found {
            self.tenants.insert(id, tenant);
        }
        Ok(found)
    }
}

async fn record_cancellation(
    caller: &Authorized<RunsWrite>,
    locked: &mut LockedRun,
) -> Result<(), ServiceError> {
    let event = AuditEvent::by_member(caller, "run.cancelled", locked.run.id.to_string(), json!({}));
    audit::record(&mut locked.tx, &event).await
}

/// Tells the runner to interrupt the running command, and ends the pending ones.
async fn request_cancel(caller: &Caller, locked: &mut LockedRun) -> Result<(), ServiceError> {
    for open in locked.open.clone() {
        match open.state {
            CommandState::Running { epoch, .. } => {
                let state = CommandState::Running { epoch, cancelling: true };
                locked.set_command_state(open.id, state, None).await?;
            }
            CommandState::Pending => {
                let outcome = TerminalOutcome::cancelled("the run was cancelled");
                locked.end_command(open.id, &outcome).await?;
            }
            CommandState::Ended(_) => {}
        }
    }
    let at = locked.next_seq();
    let payload = json!({ "status": "cancelling", "by": caller.principal.to_string() });
    locked.append_event(event::RUN_STATUS, None, payload);
    rows::request_cancel(&mut locked.tx, locked.run.id, at, CancelTarget::Run).await?;
    locked.run.state = RunState::Cancelling;
    Ok(())
}
