//! Runs: made and cancelled by callers, held by runners, ended or offered again when nobody comes.

mod backends;
pub mod commands;
mod create;
mod follow;
mod follow_session;
pub(crate) mod locked;
mod lost;
mod offer;
mod read;
pub mod reconcile;
mod refusal;
mod result;

use std::time::Duration;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::RunId;
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::command::CommandState;
use guildhall_domain::runs::{self as rules, Cancel, Patience, event};
use guildhall_store::Store;
use guildhall_store::runs::{self as rows, Asked, Run};
use jiff::SignedDuration;
use serde_json::json;

use crate::ServiceError;
use crate::journal::Journals;
use crate::profiles::Credentials;
pub use backends::Backend;
pub use create::RunAsk;
pub(crate) use create::insert as insert_run;
pub use follow::RunStream;
pub use follow_session::{SessionEvent, SessionStream};
pub use guildhall_store::runs::Shown;
pub(crate) use locked::Locked;
pub use offer::Offers;
pub use read::{EventPage, RunView};
pub use refusal::RunRefusal;
pub use result::{RunResult, Said, SteerDelivery};

/// The times of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// How long a runner holds a run without a sign of life.
    pub hold: Duration,
    /// How long after that it is taken for lost.
    pub grace: Duration,
    /// How long an open command may wait for a runner.
    pub unclaimed: Duration,
    /// How long a run may have nothing to do.
    pub idle: Duration,
}

impl Times {
    #[must_use]
    pub fn grace(&self) -> SignedDuration {
        signed(self.grace)
    }

    #[must_use]
    pub fn patience(&self) -> Patience {
        Patience { unclaimed: signed(self.unclaimed), idle: signed(self.idle) }
    }
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

/// Runs, for those who ask for them.
#[derive(Debug, Clone)]
pub struct Runs {
    pub(crate) store: Store,
    pub(crate) journals: Journals,
    pub(crate) times: Times,
    pub(crate) offers: Offers,
    bounds: create::Boundary,
    pub(crate) credentials: Credentials,
}

impl Runs {
    /// Asks a run to end. Asking again changes nothing, and says how it ended.
    pub async fn cancel(&self, caller: &Caller, id: RunId) -> Result<RunView, ServiceError> {
        self.load(caller, id, Right::RunsWrite).await?;
        let mut locked = Locked::begin(&self.store, id).await?;
        match rules::cancel(&locked.run.state, &locked.states()) {
            Cancel::Already(_) => locked.tx.rollback().await?,
            Cancel::Ends(ending) => {
                let payload = json!({ "by": caller.principal.to_string() });
                locked.say(event::RUN_STATUS, None, with(payload, "status", "cancelling"));
                locked.end(&ending).await?;
                locked.commit(&self.journals).await?;
            }
            Cancel::Requested => {
                self.ask_to_cancel(caller, &mut locked).await?;
                locked.commit(&self.journals).await?;
            }
        }
        self.show(caller, id).await
    }

    /// Tells the runner to interrupt what runs; what waits ends now.
    async fn ask_to_cancel(&self, caller: &Caller, locked: &mut Locked) -> Result<(), ServiceError> {
        if locked.run.state == rules::RunState::Cancelling {
            return Ok(());
        }
        for open in locked.open.clone() {
            match open.state {
                CommandState::Running { epoch, .. } => {
                    let state = CommandState::Running { epoch, cancelling: true };
                    locked.move_command(open.id, state, None).await?;
                }
                CommandState::Pending => {
                    locked.end_command(open.id, &rules::Ending::cancelled("the run was cancelled")).await?;
                }
                CommandState::Ended(_) => {}
            }
        }
        let at = locked.next_seq();
        let payload = json!({ "status": "cancelling", "by": caller.principal.to_string() });
        locked.say(event::RUN_STATUS, None, payload);
        rows::ask_to_cancel(&mut locked.tx, locked.run.id, at, Asked::Run).await?;
        locked.run.state = rules::RunState::Cancelling;
        Ok(())
    }

    /// Loads a run through its caller: one of another tenant does not exist.
    pub(crate) async fn load(&self, caller: &Caller, id: RunId, right: Right) -> Result<Run, ServiceError> {
        let run = rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        caller.acting(run.tenant)?.require(right)?;
        Ok(run)
    }

    /// Returns the tenant that a run belongs to, for the edge to load the caller's role in it.
    pub async fn tenant_of(
        &self,
        id: RunId,
    ) -> Result<Option<guildhall_domain::ids::TenantId>, ServiceError> {
        Ok(rows::tenant_of(&self.store, id).await?)
    }

    /// Erases what an event says: a secret that got in, or a person's right. Its number stays.
    pub async fn erase(&self, caller: &Caller, id: RunId, seq: Seq) -> Result<(), ServiceError> {
        let run = self.load(caller, id, Right::RunsErase).await?;
        let mut tx = self.store.begin().await?;
        let stream = rows::stream(id);
        if !guildhall_store::journal::erase(&mut tx, stream, seq).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        let detail = json!({ "seq": seq.get() });
        let event =
            crate::access::tenants::event(caller, run.tenant, "run.event_erased", id.to_string(), detail);
        crate::access::audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }
}

fn with(mut value: serde_json::Value, name: &str, word: &str) -> serde_json::Value {
    value[name] = json!(word);
    value
}
