//! Runners: untrusted clients that claim a run and serve it, under one epoch of its lease.
//!
//! Every write is fenced under the lock of the run's head: who lost the run learns it with the next word.

pub mod enrolments;
pub mod jobs;
pub mod token_cache;
pub mod tokens;

use std::time::Duration;

use guildhall_domain::ids::{CommandId, RunId, RunnerId};
use guildhall_domain::journal::{Fence, Placed, Seq};
use guildhall_domain::redact::redact_json;
use guildhall_domain::runners::enrolment::{Enrolment, RunGrant, Wanted};
use guildhall_domain::runs::command::{self, CommandKind, CommandState};
use guildhall_domain::runs::event::{self, Body, Mark};
use guildhall_domain::runs::lease::{self, Claim, ClaimRefusal};
use guildhall_domain::runs::{Ending, RunState};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::commands::{self, Command};
use guildhall_store::journal::{self, Append, AppendError, NewEntry};
use guildhall_store::runners::{self as rows, NewRunner, Runner};
use guildhall_store::{Tx, enrolments as enrolment_rows, leases, runner_jobs, runs, sessions};
use jiff::Timestamp;
use metrics::counter;
use serde_json::{Value, json};

use crate::ServiceError;
use crate::access::auth::Auth;
use crate::runners::tokens::RunToken;
use crate::runs::{Locked, RunRefusal, RunView, Runs};

/// Commands that one poll returns.
const COMMANDS_AT_MOST: u32 = 100;

/// Runs that a waiting runner tries for at once: others try for them too.
const CANDIDATES: u32 = 8;

/// A poll looks again at least this often, whatever it was told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a claim, or a renewal, gives a runner.
#[derive(Debug, Clone)]
pub struct Grant {
    pub grant: RunGrant,
    pub token: RunToken,
    pub lease_expires_at: Timestamp,
    pub hold: Duration,
    pub run: runs::Run,
    pub thread_id: Option<String>,
    /// What the server knows of where the session keeps its threads.
    pub storage: StorageKind,
    /// The runner before was lost; what it left running has ended.
    pub recovered_from: Option<RunnerId>,
}

/// Whether a runner that is refused will come again when the lease of the other has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    Yes,
    No,
}

/// An event that a runner reports.
#[derive(Debug, Clone)]
pub struct EventAsk {
    /// The runner's own id of it.
    pub id: String,
    pub kind: String,
    pub command: Option<CommandId>,
    pub payload: Value,
}

/// What a runner has to do.
#[derive(Debug, Clone)]
pub struct Work {
    /// Those that the runner has not seen.
    pub commands: Vec<Command>,
    /// Those that it is asked to interrupt.
    pub cancelling: Vec<CommandId>,
    pub state: RunState,
    /// Where the journal says that something is to be interrupted; sent back, the poll waits for the next.
    pub cancel_seq: Seq,
}

/// Where a poll stands: what it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollFrom {
    pub after: i32,
    pub cancel_seq: Seq,
    pub limit: u32,
    pub wait: Duration,
}

/// Serves runners.
#[derive(Debug, Clone)]
pub struct Runners {
    pub(crate) runs: Runs,
    auth: Auth,
}

impl Runners {
    #[must_use]
    pub fn new(runs: Runs, auth: Auth) -> Self {
        Self { runs, auth }
    }

    /// Registers a runner of the tenant that the enrolment belongs to, or of the installation's own pool.
    pub async fn register(
        &self,
        enrolment: &Enrolment,
        name: &str,
        placement: &Value,
        profiles: &[String],
    ) -> Result<Runner, ServiceError> {
        let id = RunnerId::generate();
        let new = NewRunner {
            id,
            tenant: enrolment.tenant,
            enrolment: enrolment.id,
            name,
            placement: &placement.to_string(),
            backend_profiles: profiles,
        };
        let mut tx = self.runs.store.begin().await?;
        rows::insert(&mut tx, &new).await?;
        tx.commit().await?;
        rows::find(&self.runs.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Claims a run. One runner gets it; the others learn who has it, and until when.
    pub async fn claim(
        &self,
        enrolment: &Enrolment,
        id: RunId,
        runner: RunnerId,
        waits: Waits,
    ) -> Result<Grant, ServiceError> {
        self.registered(enrolment, runner).await?;
        let mut locked = Locked::begin(&self.runs.store, id).await?;
        let (tenant, profile) = (locked.run.tenant, &locked.run.backend_profile);
        let is_covered = enrolment.covers(Wanted { run: id, tenant, profile });
        // A runner of the pool has the profile that all tenants share, and no other.
        if !is_covered || (enrolment.is_of_pool() && self.runs.credentials.is_own(tenant, profile).await?) {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        if self.is_evicted(&mut locked).await? {
            return self.end_evicted(locked).await;
        }
        let (run, grace) = (&locked.run, self.runs.times.grace());
        let decided = lease::claim(&run.state, locked.head.epoch, run.before(), runner, run.now, grace);
        let claim = match decided {
            Ok(claim) => claim,
            Err(refusal) => return self.refuse(locked, runner, refusal, waits).await,
        };
        if enrolment.is_of_pool() && !bind(&mut locked.tx, enrolment, id).await? {
            locked.tx.rollback().await?;
            return Err(ServiceError::NOT_FOUND);
        }
        let recovered_from = self.take(&mut locked, &claim).await?;
        let hold = self.runs.times.hold;
        let lease_expires_at = leases::put(&mut locked.tx, id, runner, claim.epoch(), hold).await?;
        if !matches!(claim, Claim::Kept(_)) {
            let phase = if recovered_from.is_some() { "lease-recovered" } else { "run-claimed" };
            let payload = json!({
                "phase": phase,
                "runnerId": runner.to_string(),
                "epoch": claim.epoch().get(),
                "leaseExpiresAt": lease_expires_at.to_string(),
                "recoveredFrom": recovered_from.map(|from| from.to_string()),
            });
            locked.say(event::BACKEND_STATUS, None, payload);
        }
        let grant = enrolment.claimed(tenant, id, claim.epoch(), runner);
        let run = locked.run.clone();
        locked.commit(&self.runs.journals).await?;
        counter!("guildhall_run_claims_total").increment(1);
        self.hand_out(grant, lease_expires_at, run, recovered_from).await
    }

    /// Claims the run that has waited longest for a runner of this one's profiles, or waits until there is one.
    /// Returns none when the time is over.
    pub async fn claim_next(
        &self,
        enrolment: &Enrolment,
        runner: RunnerId,
        wait: Duration,
    ) -> Result<Option<Grant>, ServiceError> {
        let known = self.registered(enrolment, runner).await?;
        let deadline = tokio::time::Instant::now() + wait;
        // Listens first, then looks: what comes in between is not missed.
        let mut offers = self.runs.offers.listen(enrolment.tenant).await;
        loop {
            if let Some(grant) = self.try_next(enrolment, &known).await? {
                return Ok(Some(grant));
            }
            let now = tokio::time::Instant::now();
            if now >= deadline {
                return Ok(None);
            }
            let until = deadline.min(now + LOOK_EVERY);
            let _news_or_time = tokio::time::timeout_at(until, offers.next()).await;
        }
    }

    /// Finds the runner that a request names. Enrolments that a tenant made share their runners. One of the pool, or for
    /// one run, knows its own alone: by naming another's runner it would get the run that this holds.
    async fn registered(&self, enrolment: &Enrolment, runner: RunnerId) -> Result<Runner, ServiceError> {
        let found = rows::find(&self.runs.store, runner).await?;
        let is_theirs = |found: &Runner| {
            let shared = !enrolment.is_of_pool() && enrolment.run.is_none();
            found.enrolment == enrolment.id || (shared && found.tenant == enrolment.tenant)
        };
        found.filter(is_theirs).ok_or(ServiceError::NOT_FOUND)
    }

    async fn try_next(&self, enrolment: &Enrolment, runner: &Runner) -> Result<Option<Grant>, ServiceError> {
        let only = enrolment.profile.as_ref().map(guildhall_domain::access::principal::Slug::as_str);
        let (store, profiles) = (&self.runs.store, &runner.backend_profiles);
        let waiting = match enrolment.tenant {
            Some(tenant) => runs::waiting(store, tenant, only, profiles, CANDIDATES).await?,
            // One that has had its run gets no other.
            None if enrolment.run.is_some() => Vec::new(),
            None => runs::waiting_anywhere(store, only, profiles, CANDIDATES).await?,
        };
        for id in waiting {
            if enrolment.is_of_pool() && self.has_own_profile(id).await? {
                continue;
            }
            match self.claim(enrolment, id, runner.id, Waits::No).await {
                Ok(grant) => return Ok(Some(grant)),
                // Another runner was quicker, or the run has ended: the next.
                Err(ServiceError::Run(RunRefusal::Claim(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Says whether a run is of a profile that its tenant keeps itself: it waits for a runner of its own.
    async fn has_own_profile(&self, id: RunId) -> Result<bool, ServiceError> {
        let Some(run) = runs::find(&self.runs.store, id).await? else { return Ok(false) };
        self.runs.credentials.is_own(run.tenant, &run.backend_profile).await
    }

    /// Carries out what a claim means for those who held the run before.
    async fn take(&self, locked: &mut Locked, claim: &Claim) -> Result<Option<RunnerId>, ServiceError> {
        match claim {
            // The answer to the claim may have been lost on its way: the next says the same.
            Claim::Kept(_) => Ok(locked.run.lost_runner),
            Claim::Taken(_) => {
                locked.head.epoch = journal::take_over(&mut locked.tx, runs::stream(locked.run.id)).await?;
                Ok(None)
            }
            Claim::Recovered { from, .. } => {
                locked.end_what_ran().await?;
                runs::set_lost_runner(&mut locked.tx, locked.run.id, *from).await?;
                locked.head.epoch = journal::take_over(&mut locked.tx, runs::stream(locked.run.id)).await?;
                Ok(Some(*from))
            }
        }
    }

    /// Refuses a claim. That a runner waits for the lease of another to end is said once in the run.
    async fn refuse(
        &self,
        mut locked: Locked,
        runner: RunnerId,
        refusal: ClaimRefusal,
        waits: Waits,
    ) -> Result<Grant, ServiceError> {
        let ClaimRefusal::Held { owner, .. } = &refusal else {
            locked.tx.rollback().await?;
            return Err(refusal.into());
        };
        match waits {
            Waits::No => locked.tx.rollback().await?,
            Waits::Yes => {
                let (run, epoch) = (locked.run.id, locked.head.epoch.get());
                let entry = event::servers_entry(run, "lease-waiting", runner.as_uuid(), epoch);
                let payload = json!({
                    "phase": "lease-waiting",
                    "runnerId": runner.to_string(),
                    "owner": owner.to_string(),
                });
                locked.say_once(entry, event::BACKEND_STATUS, None, payload);
                locked.commit(&self.runs.journals).await?;
            }
        }
        Err(refusal.into())
    }

    async fn hand_out(
        &self,
        grant: RunGrant,
        lease_expires_at: Timestamp,
        run: runs::Run,
        recovered_from: Option<RunnerId>,
    ) -> Result<Grant, ServiceError> {
        let reader = sessions::Reader { principal: grant.principal, name: "" };
        let session = sessions::find(&self.runs.store, run.session, reader).await?;
        Ok(Grant {
            grant,
            token: self.auth.mint_run_token(&grant)?,
            lease_expires_at,
            hold: self.runs.times.hold,
            run,
            storage: session.as_ref().map_or(StorageKind::None, |session| session.storage),
            thread_id: session.and_then(|session| session.thread_id),
            recovered_from,
        })
    }

    /// Renews a lease, and hands out the next token.
    pub async fn renew(&self, grant: &RunGrant) -> Result<Grant, ServiceError> {
        let mut locked = self.fenced(grant).await?;
        let expires_at = leases::extend(&mut locked.tx, grant.run, grant.epoch).await?;
        let expires_at = expires_at.ok_or(ServiceError::from(RunRefusal::LeaseLost))?;
        let run = locked.run.clone();
        locked.tx.commit().await?;
        self.hand_out(*grant, expires_at, run, None).await
    }

    /// Gives a run back: the next runner need not wait for the lease to end. Refused while something runs.
    pub async fn release(&self, grant: &RunGrant) -> Result<(), ServiceError> {
        let mut locked = self.fenced(grant).await?;
        if locked.open.iter().any(|command| command.state.is_running()) {
            locked.tx.rollback().await?;
            return Err(ServiceError::from(RunRefusal::StillRunning));
        }
        locked.let_go().await?;
        let payload =
            json!({ "status": "pending", "reason": "released", "runnerId": grant.runner.to_string() });
        locked.say(event::RUN_STATUS, None, payload);
        locked.commit(&self.runs.journals).await?;
        self.runs.offers.announce(grant.tenant).await;
        Ok(())
    }

    /// Appends events. The same event sent again is recognised by the runner's own id.
    pub async fn append(&self, grant: &RunGrant, events: Vec<EventAsk>) -> Result<Vec<Placed>, ServiceError> {
        let mut entries = Vec::with_capacity(events.len());
        for event in events {
            entries.push(entry(grant.run, event)?);
        }
        let fence = Fence::Holder(grant.epoch);
        let append = Append { stream: runs::stream(grant.run), fence, entries };
        self.runs.journals.append(append).await.map_err(|error| match error {
            AppendError::Refused(journal_refusal) => journal_refusal.into(),
            AppendError::Overloaded => ServiceError::Overloaded,
            AppendError::Store(error) => error.into(),
        })
    }

    /// Waits for something to do: a command that the runner has not seen, or something to interrupt.
    pub async fn poll(&self, grant: &RunGrant, from: PollFrom) -> Result<Work, ServiceError> {
        let deadline = tokio::time::Instant::now() + from.wait;
        let stream = runs::stream(grant.run);
        let mut growth = None;
        loop {
            let work = self.look_for_work(grant, from).await?;
            let now = tokio::time::Instant::now();
            if !work.commands.is_empty()
                || work.state.is_ended()
                || work.cancel_seq > from.cancel_seq
                || now >= deadline
            {
                return Ok(work);
            }
            let Some(growth) = &mut growth else {
                // Most polls of a busy run end with the first look. Who waits listens, and looks once more.
                growth = Some(self.runs.journals.growth(stream));
                continue;
            };
            let until = deadline.min(now + LOOK_EVERY);
            // Whatever the run says next may be a command; the clock stands behind it.
            let _news_or_time = tokio::time::timeout_at(until, growth.next()).await;
        }
    }

    async fn look_for_work(&self, grant: &RunGrant, from: PollFrom) -> Result<Work, ServiceError> {
        let run = runs::find(&self.runs.store, grant.run).await?.ok_or(ServiceError::NOT_FOUND)?;
        if run.lease.as_ref().is_none_or(|lease| lease.epoch != grant.epoch) {
            return Err(ServiceError::from(RunRefusal::LeaseLost));
        }
        let limit = from.limit.clamp(1, COMMANDS_AT_MOST);
        let mut commands = commands::poll(&self.runs.store, grant.run, from.after, limit).await?;
        let is_cancelling =
            |command: &Command| matches!(command.state, CommandState::Running { cancelling: true, .. });
        let cancelling = commands.iter().filter(|command| is_cancelling(command)).map(|c| c.id).collect();
        commands.retain(|command| command.ordinal > from.after);
        Ok(Work { commands, cancelling, state: run.state, cancel_seq: run.cancel_seq })
    }

    /// Takes a command. From here on it may have side effects, and is never given to another runner.
    pub async fn ack(&self, grant: &RunGrant, id: CommandId) -> Result<Command, ServiceError> {
        let mut locked = self.fenced(grant).await?;
        let command = self.of_run(&mut locked, id).await?;
        let another_turn_runs = locked
            .open
            .iter()
            .any(|open| open.id != id && open.kind == CommandKind::Turn && open.state.is_running());
        let next = command::ack(&command.state, command.kind, grant.epoch, another_turn_runs)?;
        if next == command.state {
            locked.tx.rollback().await?;
            return Ok(command);
        }
        let at = locked.head.last_seq;
        locked.move_command(id, next, Some(at)).await?;
        let payload = json!({ "status": "running", "runnerId": grant.runner.to_string() });
        locked.say(event::COMMAND_STATUS, Some(id), payload);
        locked.commit(&self.runs.journals).await?;
        commands::find(&self.runs.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Ends a command as its runner says. The run goes on.
    pub async fn finish(
        &self,
        grant: &RunGrant,
        id: CommandId,
        ending: Ending,
        thread_id: Option<&str>,
    ) -> Result<Command, ServiceError> {
        let mut locked = self.fenced(grant).await?;
        let command = self.of_run(&mut locked, id).await?;
        match command::finish(&command.state, grant.epoch, ending.clone())? {
            None => locked.tx.rollback().await?,
            Some(_) => {
                if let Some(thread) = thread_id {
                    sessions::set_thread(&mut locked.tx, locked.run.session, thread).await?;
                }
                leases::extend(&mut locked.tx, grant.run, grant.epoch).await?;
                locked.end_command(id, &ending).await?;
                locked.settle().await?;
                locked.commit(&self.runs.journals).await?;
            }
        }
        commands::find(&self.runs.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Ends the run as its runner says, and every open command with it.
    pub async fn end(&self, grant: &RunGrant, ending: &Ending) -> Result<RunView, ServiceError> {
        let mut locked = self.fenced(grant).await?;
        locked.end(ending).await?;
        locked.commit(&self.runs.journals).await?;
        let run = runs::find(&self.runs.store, grant.run).await?.ok_or(ServiceError::NOT_FOUND)?;
        self.runs.view(run).await
    }

    /// Shows a run to the runner that holds it.
    pub async fn view(&self, run: runs::Run) -> Result<RunView, ServiceError> {
        self.runs.view(run).await
    }

    /// Locks the run of a grant, unless it is held under another epoch or has ended.
    pub(crate) async fn fenced(&self, grant: &RunGrant) -> Result<Locked, ServiceError> {
        let locked = Locked::begin(&self.runs.store, grant.run).await?;
        if lease::holds(locked.head.epoch, grant.epoch, &locked.run.state) {
            return Ok(locked);
        }
        locked.tx.rollback().await?;
        Err(ServiceError::from(RunRefusal::LeaseLost))
    }

    async fn of_run(&self, locked: &mut Locked, id: CommandId) -> Result<Command, ServiceError> {
        let found = commands::load(&mut locked.tx, id).await?;
        found.filter(|found| found.run == locked.run.id).ok_or(ServiceError::NOT_FOUND)
    }
}

/// Binds an enrolment of the pool to the run that it claims. Returns whether it had no other before.
async fn bind(tx: &mut Tx, enrolment: &Enrolment, run: RunId) -> Result<bool, ServiceError> {
    if !enrolment_rows::bind(tx, enrolment.id, run).await? {
        return Ok(false);
    }
    runner_jobs::claimed(tx, enrolment.id, run).await?;
    Ok(true)
}

/// Makes an entry of an event: what looks like a credential goes before anything is kept.
fn entry(run: RunId, mut event: EventAsk) -> Result<NewEntry, ServiceError> {
    event::check_type(&event.kind)?;
    let id = event::entry_id(run, &event.id)?;
    redact_json(&mut event.payload);
    let mark = Some(Mark::of(&event.kind, event.command, &event.payload));
    let body = Body { id: Some(event.id), command_id: event.command, payload: event.payload }.write();
    Ok(NewEntry { id, kind: event.kind.into(), body, mark })
}
