//! Serving one run: claim it, hold it, work through its commands, give it back.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId, RunnerId};
use guildhall_domain::run::{Blocker, Ending, TerminalStatus};
use guildhall_domain::run_policy::ExecutionPolicy;
use guildhall_protocol::rest::commands::CommandView;
use guildhall_protocol::rest::runners::{RegisterRunner, WorkView};
use guildhall_runtime::Tasks;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::{Claim, ClaimAgain, Grant, HeldRun, PollFrom, RunnerClient};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backend::choose::{Backends, ChooseError};
use crate::backend::{
    Backend, BackendEvent, BackendFailure, Begin, Control, Refusal, Setting, Sink, Thread, TurnEnd,
};
use crate::hold;
use crate::pump::send::{Flushed, Pump, Told, is_over};
use crate::pump::veil::Known;
use crate::spool::{self, Spool};
use crate::workspace::{self, WorkspaceError};

/// One poll waits this long; the server answers earlier when there is something.
const POLL_WAIT: Duration = Duration::from_secs(8);

/// After a failed request.
const REST: Duration = Duration::from_millis(300);

/// Tool calls in one turn.
const TOOL_CALLS_AT_MOST: u32 = 200;

/// How long a backend may take to say whether it took words into a turn.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// How long a turn may go on when the runner was told to stop.
const DRAIN_WITHIN: Duration = Duration::from_secs(25);

/// How a runner serves.
#[derive(Debug, Clone)]
pub struct Options {
    pub name: String,
    /// The profiles whose runs it serves.
    pub profiles: Vec<String>,
    /// What it drives for them.
    pub backends: Backends,
    /// The one run to serve; without it whichever has waited longest.
    pub run: Option<RunId>,
    /// Workspaces, sessions' storage and the spool.
    pub state: PathBuf,
    /// A run without a command for this long is given back.
    pub idle: Duration,
    /// How long to wait for a run, or for the lease of a lost runner.
    pub claim_within: Duration,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The run has ended.
    Ended,
    /// It was given back: it had nothing to do, or the runner was told to stop.
    Released,
    /// It belongs to somebody else now.
    Lost,
    /// There was nothing to claim in time.
    Nothing,
}

/// Why a runner could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the server refused the runner")]
    Client(#[from] ClientError),
    #[error("the workspace cannot be used")]
    Workspace(#[from] WorkspaceError),
    #[error("the state folder cannot be used")]
    State(#[from] std::io::Error),
    #[error("the server's answer cannot be understood: {0}")]
    Answer(&'static str),
    #[error(transparent)]
    Backend(#[from] ChooseError),
}

impl ServeError {
    /// Returns what a run fails with that could not be served.
    fn kind(&self) -> FailureKind {
        match self {
            Self::Backend(error) => error.kind(),
            Self::Client(_) | Self::Workspace(_) | Self::State(_) | Self::Answer(_) => {
                FailureKind::InfraFailed
            }
        }
    }
}

/// Registers, claims one run and serves it to its end.
pub async fn serve(
    client: &RunnerClient,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Served, ServeError> {
    let about = RegisterRunner {
        name: options.name.clone(),
        placement: json!({ "pid": std::process::id() }),
        backend_profiles: options.profiles.clone(),
    };
    let runner: RunnerId =
        client.register(&about).await?.runner_id.parse().map_err(|_| ServeError::Answer("a runner's id"))?;
    let Some((held, grant)) = claim(client, runner, options, stop).await? else { return Ok(Served::Nothing) };
    info!(run.id = %held.run(), runner.id = %runner, "serving {}", held.run());
    let tasks = Tasks::new();
    let serving = match Serving::begin(held.clone(), &grant, options, &tasks).await {
        Ok(serving) => serving,
        Err(error) => {
            // Without a word the run would go from runner to runner, and nobody would know why.
            let words = format!("the runner cannot serve this run: {error}");
            if let Err(error) = held.end(&Ending::failed(error.kind(), words)).await {
                warn!("cannot say that {} cannot be served: {error}", held.run());
            }
            return Err(error);
        }
    };
    let served = serving.work(options, stop).await;
    tasks.shutdown(Duration::from_secs(10)).await;
    Ok(served)
}

/// Claims the run that is asked for, or the one that has waited longest.
async fn claim(
    client: &RunnerClient,
    runner: RunnerId,
    options: &Options,
    stop: &CancellationToken,
) -> Result<Option<(HeldRun, Box<Grant>)>, ServeError> {
    let give_up = Instant::now() + options.claim_within;
    loop {
        let claimed = match options.run {
            Some(run) => client.claim(run, runner, ClaimAgain::Yes).await,
            None => client.claim_next(runner, POLL_WAIT).await,
        };
        match claimed {
            Ok(Claim::Granted { held, grant }) => return Ok(Some((held, grant))),
            Ok(Claim::Ended) if options.run.is_some() => return Ok(None),
            Ok(Claim::Ended | Claim::Held { .. }) => {}
            Err(error) if is_over(&error) => return Err(error.into()),
            Err(error) => warn!("cannot claim: {error}"),
        }
        if Instant::now() >= give_up || stop.is_cancelled() {
            return Ok(None);
        }
        tokio::select! {
            () = sleep(if options.run.is_some() { Duration::from_secs(1) } else { REST }) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

/// A run that is being served.
struct Serving {
    held: HeldRun,
    backend: Box<dyn Backend>,
    thread: Option<Thread>,
    begun: bool,
    told: mpsc::Sender<Told>,
    lost: CancellationToken,
    from: PollFrom,
    waiting: Vec<CommandView>,
}

impl Serving {
    async fn begin(
        held: HeldRun,
        grant: &Grant,
        options: &Options,
        tasks: &Tasks,
    ) -> Result<Self, ServeError> {
        let run = &grant.run;
        let policy: ExecutionPolicy = serde_json::from_value(run.execution_policy.clone())
            .map_err(|_| ServeError::Answer("an execution policy"))?;
        let chosen = options.backends.choose(&run.backend_profile)?;
        let folder = options.state.join("workspaces");
        let workspace = workspace::prepare(&folder, &run.session_id, &run.workspace_ref).await?;
        let setting = Setting {
            workspace,
            state: options.state.join("sessions").join(&run.session_id),
            sandbox: policy.sandbox,
            approval: policy.approval,
            network: policy.network,
            secrets: chosen.secrets(),
            turn_timeout: policy.timeout.get(),
            tool_calls_at_most: TOOL_CALLS_AT_MOST,
        };
        let spools = options.state.join("spool");
        let left = spool::left(&spools, held.run()).await;
        let spool = Spool::open(&spools, held.run(), grant.epoch).await?;
        let lost = CancellationToken::new();
        let (told, tellings) = mpsc::channel(256);
        let known = Known::new(setting.secrets.iter().map(|(_, value)| value.clone()));
        let pump = Pump::new(held.clone(), spool, known, grant.epoch, lost.clone());
        tasks.spawn("pump", pump.run(tellings));
        tasks.spawn("lease", hold::keep(held.clone(), grant.lease, lost.clone(), tasks.stop()));
        for left in left {
            warn!(file = left.file, events = left.events, "an earlier runner left events that were not sent");
        }
        Ok(Self {
            held,
            backend: chosen.make(setting),
            thread: grant.thread_id.clone().map(Thread),
            begun: false,
            told,
            lost,
            from: PollFrom::default(),
            waiting: Vec::new(),
        })
    }

    /// Works through commands until there are none for too long, the run ends, or it is lost.
    async fn work(mut self, options: &Options, stop: &CancellationToken) -> Served {
        let mut idle_since = Instant::now();
        loop {
            if self.lost.is_cancelled() {
                return Served::Lost;
            }
            if !self.waiting.is_empty() {
                let command = self.waiting.remove(0);
                if self.turn(command, stop).await == Flushed::Lost {
                    return Served::Lost;
                }
                idle_since = Instant::now();
                continue;
            }
            if stop.is_cancelled() || idle_since.elapsed() >= options.idle {
                return self.give_back().await;
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
    async fn give_back(self) -> Served {
        self.backend.finish().await;
        if let Err(error) = self.held.release().await {
            warn!("cannot give the run back: {error}");
        }
        Served::Released
    }

    /// Works through one command, and says how it ended when the server has all of its events.
    async fn turn(&mut self, command: CommandView, stop: &CancellationToken) -> Flushed {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return Flushed::Whole };
        if command.r#type != "turn" {
            let words = "no turn runs that this could go into";
            return self.end(id, &Ending::failed(FailureKind::Conflict, words)).await;
        }
        match take_command(&self.held, id, &self.lost).await {
            Taken::Ours => {}
            // It was cancelled before it began.
            Taken::Gone => return Flushed::Whole,
            Taken::Lost => return Flushed::Lost,
        }
        let (sink, reports) = Sink::new();
        let ended = match self.ready(&sink).await {
            Ok(()) => self.play(id, &words(&command.payload), &sink, reports, stop).await,
            Err(failure) => TurnEnd::Failed(failure),
        };
        if self.flush().await == Flushed::Lost {
            return Flushed::Lost;
        }
        if let TurnEnd::Failed(failure) = &ended {
            self.begun &= !failure.died;
        }
        self.end(id, &ending(ended)).await
    }

    /// Begins or resumes the thread, once for each life of the backend.
    async fn ready(&mut self, sink: &Sink) -> Result<(), BackendFailure> {
        if self.begun {
            return Ok(());
        }
        let begin = self.thread.clone().map_or(Begin::New, Begin::Resume);
        self.thread = Some(self.backend.begin(begin, sink).await?);
        self.begun = true;
        Ok(())
    }

    /// Plays a turn: its events go to the pump, and what the server asks for meanwhile goes to the backend.
    async fn play(
        &mut self,
        id: CommandId,
        words: &str,
        sink: &Sink,
        mut reports: mpsc::Receiver<BackendEvent>,
        stop: &CancellationToken,
    ) -> TurnEnd {
        let (controls, mut control) = mpsc::channel(8);
        let Self { backend, told, held, lost, from, waiting, .. } = self;
        let mut watch = pin!(Watch { held, from, waiting, id, controls: &controls, lost }.run(stop));
        let mut turn = backend.turn(words, sink, &mut control);
        let end = loop {
            tokio::select! {
                biased;
                () = lost.cancelled() => break TurnEnd::Failed(BackendFailure::dead("the run was lost")),
                Some(event) = reports.recv() => {
                    let _pump_gone = told.send(Told::Event(id, event)).await;
                }
                end = &mut turn => break end,
                // It watches for as long as the turn runs.
                () = &mut watch => {}
            }
        };
        drop(turn);
        while let Ok(event) = reports.try_recv() {
            let _pump_gone = told.send(Told::Event(id, event)).await;
        }
        end
    }

    async fn flush(&self) -> Flushed {
        let (answer, flushed) = oneshot::channel();
        if self.told.send(Told::Flush(answer)).await.is_err() {
            return Flushed::Lost;
        }
        flushed.await.unwrap_or(Flushed::Lost)
    }

    /// Says how a command ended, until the server has heard it.
    async fn end(&self, id: CommandId, ending: &Ending) -> Flushed {
        loop {
            let thread = self.thread.as_ref().map(|thread| thread.0.as_str());
            match self.held.finish(id, ending, thread).await {
                Ok(_) => return Flushed::Whole,
                Err(error) if is_over(&error) => return Flushed::Lost,
                Err(error) if error.kind() == Some(FailureKind::Conflict) => return Flushed::Whole,
                Err(error) => warn!("cannot say how {id} ended: {error}"),
            }
            tokio::select! {
                () = sleep(REST) => {}
                () = self.lost.cancelled() => return Flushed::Lost,
            }
        }
    }
}

/// What became of taking a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Ours,
    /// It has ended already.
    Gone,
    /// The run is not ours any more.
    Lost,
}

/// Takes a command, and asks until there is an answer: a command that was seen and not taken would wait for ever.
async fn take_command(held: &HeldRun, id: CommandId, lost: &CancellationToken) -> Taken {
    loop {
        match held.ack(id).await {
            Ok(_) => return Taken::Ours,
            Err(error) if error.kind() == Some(FailureKind::Conflict) => return Taken::Gone,
            Err(error) if is_over(&error) => return Taken::Lost,
            Err(error) => warn!("cannot take {id}: {error}"),
        }
        tokio::select! {
            () = sleep(REST) => {}
            () = lost.cancelled() => return Taken::Lost,
        }
    }
}

/// Looks what the server asks for while a turn runs.
struct Watch<'a> {
    held: &'a HeldRun,
    from: &'a mut PollFrom,
    waiting: &'a mut Vec<CommandView>,
    id: CommandId,
    controls: &'a mpsc::Sender<Control>,
    lost: &'a CancellationToken,
}

impl Watch<'_> {
    /// Never ends by itself: a run that is lost is noticed by whoever holds it.
    async fn run(mut self, stop: &CancellationToken) {
        let mut told_to_stop = false;
        loop {
            let polled = tokio::select! {
                polled = self.held.poll(*self.from, POLL_WAIT) => polled,
                () = drained(stop), if !told_to_stop => {
                    told_to_stop = true;
                    self.interrupt().await;
                    continue;
                }
            };
            match polled {
                Ok(work) => self.heed(work).await,
                Err(error) => {
                    warn!("cannot look for what the server asks: {error}");
                    sleep(REST).await;
                }
            }
        }
    }

    async fn heed(&mut self, work: WorkView) {
        *self.from = PollFrom::after(&work);
        let is_ours = work.cancel_command_ids.iter().any(|id| *id == self.id.to_string());
        if is_ours || work.run_status == "cancelling" {
            self.interrupt().await;
        }
        for steer in work.steers {
            self.steer(steer).await;
        }
        for command in work.commands {
            if command.r#type == "interrupt" {
                self.interrupt().await;
                self.settle(&command, &Ending::COMPLETED).await;
            } else {
                self.waiting.push(command);
            }
        }
    }

    async fn interrupt(&self) {
        let _turn_over = self.controls.send(Control::Interrupt).await;
    }

    /// Puts words into the turn. The command completes only when the backend has taken them.
    async fn steer(&self, command: CommandView) {
        let (taken, answer) = oneshot::channel();
        let control = Control::Steer { words: words(&command.payload), taken };
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        if take_command(self.held, id, self.lost).await != Taken::Ours {
            return;
        }
        let sent = self.controls.send(control).await.is_ok();
        let outcome = if sent { timeout(STOP_WITHIN, answer).await } else { Ok(Ok(Err(Refusal::NoTurn))) };
        let ending = match outcome {
            Ok(Ok(Ok(()))) => Ending::COMPLETED,
            Ok(Ok(Err(refusal))) => Ending::failed(FailureKind::BackendFailed, refusal.to_string()),
            Ok(Err(_)) | Err(_) => Ending::failed(FailureKind::BackendFailed, Refusal::Silent.to_string()),
        };
        self.settle(&command, &ending).await;
    }

    async fn settle(&self, command: &CommandView, ending: &Ending) {
        let Ok(id) = command.command_id.parse::<CommandId>() else { return };
        let taken = self.held.ack(id).await;
        let settled = match taken {
            Ok(_) => self.held.finish(id, ending, None).await,
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            warn!("cannot say how {id} ended: {error}");
        }
    }
}

/// Waits until the runner was told to stop and the turn has had its time to finish.
async fn drained(stop: &CancellationToken) {
    stop.cancelled().await;
    sleep(DRAIN_WITHIN).await;
}

fn is_ended(work: &WorkView) -> bool {
    TerminalStatus::from_name(&work.run_status).is_ok()
}

/// Returns the words of a command.
fn words(payload: &Value) -> String {
    let word = |name: &str| payload.get(name).and_then(Value::as_str);
    word("prompt").or_else(|| word("message")).or_else(|| word("text")).unwrap_or_default().to_owned()
}

fn ending(end: TurnEnd) -> Ending {
    match end {
        TurnEnd::Completed => Ending::COMPLETED,
        TurnEnd::Interrupted => Ending::cancelled("the turn was interrupted"),
        TurnEnd::Failed(failure) => Ending {
            status: TerminalStatus::Failed,
            failure: Some(Blocker { kind: failure.kind, message: failure.message }),
        },
    }
}
