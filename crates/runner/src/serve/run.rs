//! A run that is served: from its claim until it is given back, ends, or is lost.

use std::time::Duration;

use guildhall_domain::runs::TerminalStatus;
use guildhall_domain::runs::policy::ExecutionPolicy;
use guildhall_protocol::rest::runners::WorkView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_runtime::Tasks;
use guildhall_sdk::runner::{Grant, HeldRun, PollFrom};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Options, POLL_WAIT, REST, ServeError, Served};
use crate::backend::kept::Kept;
use crate::backend::{Backend, Setting, Thread};
use crate::pump::note::Note;
use crate::pump::send::{Flushed, Pump, Told, is_over};
use crate::pump::veil::Known;
use crate::spool::{self, Spool};
use crate::storage::Storage;
use crate::workspace::{self, Places};

/// Tool calls in one turn.
const TOOL_CALLS_AT_MOST: u32 = 200;

/// A run that is being served.
pub(super) struct Serving {
    pub(super) held: HeldRun,
    pub(super) backend: Box<dyn Backend>,
    pub(super) thread: Option<Thread>,
    pub(super) begun: bool,
    pub(super) told: mpsc::Sender<Told>,
    pub(super) lost: CancellationToken,
    pub(super) from: PollFrom,
    pub(super) waiting: Vec<CommandView>,
    storage: Storage,
    pub(super) epoch: i64,
    pub(super) drain_within: Duration,
}

impl Serving {
    pub(super) async fn begin(
        held: HeldRun,
        grant: &Grant,
        options: &Options,
        tasks: &Tasks,
        lost: CancellationToken,
    ) -> Result<Self, ServeError> {
        let run = &grant.run;
        let policy: ExecutionPolicy = serde_json::from_value(run.execution_policy.clone())
            .map_err(|_| ServeError::Answer("an execution policy"))?;
        let chosen = options.backends.choose(&run.backend_profile)?;
        let places =
            Places { made: options.state.join("workspaces"), roots: options.workspace_roots.clone() };
        let workspace = workspace::prepare(&places, &run.session_id, &run.workspace_ref).await?;
        let storage = Storage::of(grant, &options.state);
        let setting = Setting {
            workspace,
            state: storage.folder.clone(),
            sandbox: policy.sandbox,
            approval: policy.approval,
            network: policy.network,
            secrets: chosen.secrets(),
            turn_timeout: policy.timeout.get(),
            out_of_reach: options.out_of_reach.clone(),
            tool_calls_at_most: TOOL_CALLS_AT_MOST,
        };
        let spools = options.state.join("spool");
        let left = spool::left(&spools, held.run()).await;
        let spool = Spool::open(&spools, held.run(), grant.epoch).await?;
        let (told, tellings) = mpsc::channel(256);
        let known = Known::new(setting.secrets.iter().map(|(_, value)| value.clone()));
        let pump = Pump::new(held.clone(), spool, known, grant.epoch, lost.clone());
        tasks.spawn("pump", pump.run(tellings));
        for left in left {
            warn!(file = left.file, events = left.events, "an earlier runner left events that were not sent");
            let _pump_gone = told.send(Told::Note(Note::left_behind(&left))).await;
        }
        Ok(Self {
            held,
            backend: Box::new(Kept {
                workspace: setting.workspace.clone(),
                storage: storage.clone(),
                backend: chosen.make(setting),
            }),
            storage,
            thread: grant.thread_id.clone().map(Thread),
            begun: false,
            told,
            lost,
            from: PollFrom::default(),
            waiting: Vec::new(),
            epoch: grant.epoch,
            drain_within: options.drain_within,
        })
    }

    /// Works through commands until there are none for too long, the run ends, or it is lost.
    pub(super) async fn work(mut self, options: &Options, stop: &CancellationToken) -> Served {
        let mut idle_since = Instant::now();
        loop {
            if self.lost.is_cancelled() {
                return Served::Lost;
            }
            if stop.is_cancelled() {
                // What waits is left to the next runner: nobody has taken it.
                return self.give_back("told-to-stop").await;
            }
            if !self.waiting.is_empty() {
                let command = self.waiting.remove(0);
                if self.turn(command, stop).await == Flushed::Lost {
                    return Served::Lost;
                }
                self.storage.report(&self.held).await;
                idle_since = Instant::now();
                continue;
            }
            if idle_since.elapsed() >= options.idle {
                return self.give_back("idle").await;
            }
            let wait = POLL_WAIT.min(options.idle.saturating_sub(idle_since.elapsed()));
            let polled = tokio::select! {
                polled = self.held.poll(self.from, wait) => polled,
                () = stop.cancelled() => continue,
                () = self.lost.cancelled() => continue,
            };
            match polled {
                Ok(work) => {
                    if is_ended(&work) {
                        return Served::Ended;
                    }
                    self.take(work);
                }
                Err(error) if is_over(&error) => return Served::Lost,
                Err(error) => {
                    warn!("cannot poll: {error}");
                    sleep(REST).await;
                }
            }
        }
    }

    fn take(&mut self, work: WorkView) {
        self.from = PollFrom::after(&work);
        self.waiting.extend(work.commands);
        // A steer without a turn has nothing to go into.
        self.waiting.extend(work.steers);
    }

    /// Gives the run back, so that the next runner need not wait.
    async fn give_back(self, why: &'static str) -> Served {
        let _pump_gone = self.told.send(Told::Note(Note::leaving(self.epoch, why))).await;
        if self.flush().await == Flushed::Lost {
            return Served::Lost;
        }
        self.backend.finish().await;
        if let Err(error) = self.held.release().await {
            warn!("cannot give the run back: {error}");
        }
        Served::Released
    }
}

fn is_ended(work: &WorkView) -> bool {
    TerminalStatus::from_name(&work.run_status).is_ok()
}
