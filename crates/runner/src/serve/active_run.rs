//! A run that is being served, from its claim until it is released, ends, or is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::TerminalStatus;
use guildhall_domain::runs::policy::ExecutionPolicy;
use guildhall_egress::{AddressRules, Connector};
use guildhall_protocol::rest::runners::WorkView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_runtime::Tasks;
use guildhall_sdk::runner::{Grant, LeasedRun, PollCursor};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::changes::WorkspaceChanges;
use super::options::{POLL_TIMEOUT, RETRY_DELAY, ServeError, ServeOptions, ServeOutcome};
use super::session_backend::SessionBackend;
use crate::backend::setup::{ProjectSetup, SetupError, WorkspaceSetup};
use crate::backend::{Backend, BackendConfig, ThreadId};
use crate::lease::is_lease_lost;
use crate::pump::event_pump::{EventPump, FlushResult, PumpMessage};
use crate::pump::redact::RunSecrets;
use crate::pump::runner_status::RunnerStatus;
use crate::run_log::RunLog;
use crate::sandbox::{AgentUser, Containment, SandboxLimits, UserError, give_to_agent};
use crate::spool::{self, Spool};
use crate::storage::SessionStorage;
use crate::workspace::{self, Baseline, GitRemotes, WorkspaceDirs, WorkspaceLimits};

/// Tool calls allowed in one turn.
const MAX_TOOL_CALLS: u32 = 200;

/// Messages that wait for the pump.
const PUMP_CAPACITY: usize = 256;

/// A run that is being served.
pub(super) struct ActiveRun {
    pub(super) held: LeasedRun,
    pub(super) backend: Box<dyn Backend>,
    pub(super) thread: Option<ThreadId>,
    /// Whether the backend's process runs and has the thread open.
    pub(super) is_started: bool,
    /// Names the backend's process in questions: a new one for each start.
    pub(super) process: String,
    /// Whether the last turn ended because its question waits for an answer.
    pub(super) is_parked: bool,
    pub(super) pump: mpsc::Sender<PumpMessage>,
    /// What the pump redacts.
    pub(super) secrets: RunSecrets,
    pub(super) lost: CancellationToken,
    pub(super) poll_from: PollCursor,
    pub(super) queue: Vec<CommandView>,
    storage: SessionStorage,
    /// None if the workspace has no baseline.
    pub(super) changes: Option<WorkspaceChanges>,
    pub(super) epoch: i64,
    pub(super) drain_timeout: Duration,
}

impl ActiveRun {
    /// Prepares the workspace and the backend, and starts the pump.
    pub(super) async fn start(
        held: LeasedRun,
        grant: &Grant,
        options: &ServeOptions,
        tasks: &Tasks,
        lost: CancellationToken,
    ) -> Result<Self, ServeError> {
        let run = &grant.run;
        let policy: ExecutionPolicy = serde_json::from_value(run.execution_policy.clone())
            .map_err(|_| ServeError::InvalidResponse("execution policy"))?;
        let selected = options.backends.select(&run.backend_profile)?;
        let containment = options.containment.clone().map_err(ServeError::Sandbox)?;
        let dirs = workspace_dirs(grant, options, &containment)?;
        workspace::download_bundle(&dirs, &held, &run.session_id, &run.workspace_ref).await?;
        let workspace = workspace::prepare(&dirs, &run.session_id, &run.workspace_ref).await?;
        let baseline = Baseline::open(&dirs, &run.session_id, &run.workspace_ref);
        let user = agent_user(&containment, &dirs, &workspace)?;
        let storage = SessionStorage::new(grant, &options.state);
        let mut config = BackendConfig {
            workspace,
            state: storage.dir.clone(),
            sandbox: policy.sandbox,
            approval: policy.approval,
            network: policy.network,
            secrets: selected.secrets(),
            turn_timeout: policy.timeout.get(),
            containment,
            user,
            allowed_hosts: options.allowed_hosts.clone(),
            model_caps: options.model_caps,
            instructions: grant.instructions.clone(),
            cache: None,
            max_tool_calls: MAX_TOOL_CALLS,
        };
        let setup = open_setup(grant, options, &config)?;
        config.cache = setup.as_ref().map(WorkspaceSetup::agent_cache);
        let secrets = RunSecrets::new(config.secrets.iter().map(|(_, value)| value.clone()));
        let pump = start_pump(&held, secrets.clone(), grant.epoch, options, tasks, &lost).await?;
        Ok(Self {
            held,
            changes: baseline.map(|baseline| WorkspaceChanges { baseline, dir: config.workspace.clone() }),
            backend: Box::new(SessionBackend {
                workspace: config.workspace.clone(),
                storage: storage.clone(),
                setup,
                backend: selected.build(config),
            }),
            storage,
            thread: grant.thread_id.clone().map(ThreadId),
            is_started: false,
            process: String::new(),
            is_parked: false,
            pump,
            secrets,
            lost,
            poll_from: PollCursor::default(),
            queue: Vec::new(),
            epoch: grant.epoch,
            drain_timeout: options.drain_timeout,
        })
    }

    /// Processes commands until the run is idle for too long, ends, or is lost.
    pub(super) async fn process_commands(
        mut self,
        options: &ServeOptions,
        stop: &CancellationToken,
    ) -> ServeOutcome {
        let mut idle_since = Instant::now();
        loop {
            if self.lost.is_cancelled() {
                return ServeOutcome::LeaseLost;
            }
            if stop.is_cancelled() {
                // Queued commands are not acknowledged yet: the next runner gets them.
                return self.release("told-to-stop").await;
            }
            if !self.queue.is_empty() {
                let command = self.queue.remove(0);
                if self.run_command(command, stop).await == FlushResult::LeaseLost {
                    return ServeOutcome::LeaseLost;
                }
                self.storage.report(&self.held).await;
                idle_since = Instant::now();
                if self.is_parked && self.queue.is_empty() {
                    return self.release("parked").await;
                }
                continue;
            }
            if idle_since.elapsed() >= options.idle_timeout {
                return self.release("idle").await;
            }
            let wait = POLL_TIMEOUT.min(options.idle_timeout.saturating_sub(idle_since.elapsed()));
            let response = tokio::select! {
                response = self.held.poll(self.poll_from, wait) => response,
                () = stop.cancelled() => continue,
                () = self.lost.cancelled() => continue,
            };
            match response {
                Ok(work) => {
                    if is_run_ended(&work) {
                        return ServeOutcome::RunEnded;
                    }
                    if work.should_release {
                        return self.release("needed-elsewhere").await;
                    }
                    self.enqueue(work);
                }
                Err(error) if is_lease_lost(&error) => return ServeOutcome::LeaseLost,
                Err(error) => {
                    warn!("cannot poll for commands: {error}");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    fn enqueue(&mut self, work: WorkView) {
        self.poll_from = PollCursor::after(&work);
        self.queue.extend(work.commands);
        // No turn runs, so these will be rejected.
        self.queue.extend(work.steers);
    }

    /// Releases the run, so that the next runner need not wait for the lease to expire.
    async fn release(self, reason: &'static str) -> ServeOutcome {
        let status = RunnerStatus::leaving(self.epoch, reason);
        let _pump_gone = self.pump.send(PumpMessage::RunnerStatus(status)).await;
        if self.flush().await == FlushResult::LeaseLost {
            return ServeOutcome::LeaseLost;
        }
        self.backend.shutdown().await;
        if let Err(error) = self.held.release().await {
            warn!("cannot release the run: {error}");
        }
        ServeOutcome::Released
    }
}

/// Returns where the workspace of a run may be, and come from.
fn workspace_dirs(
    grant: &Grant,
    options: &ServeOptions,
    containment: &Containment,
) -> Result<WorkspaceDirs, ServeError> {
    let tenant: TenantId =
        grant.run.tenant_id.parse().map_err(|_| ServeError::InvalidResponse("tenant id"))?;
    let limits = match containment {
        Containment::Sandboxed(sandbox) => sandbox.limits,
        Containment::Uncontained => SandboxLimits::default(),
    };
    Ok(WorkspaceDirs {
        containment: containment.clone(),
        managed: options.state.join("workspaces"),
        baselines: options.state.join("baselines"),
        allowed_roots: options.workspace_roots.clone(),
        tenant_patterns: grant.directories.clone(),
        remotes: GitRemotes {
            hosts: options.git.hosts.clone(),
            credentials: options.git.credentials.clone(),
            known_hosts: options.git.known_hosts.clone(),
            tenant,
            connector: Connector::new(AddressRules {
                allow_loopback: false,
                allow: options.git.networks.clone(),
            }),
            mirrors: options.state.join("git-mirrors").join(tenant.to_string()),
            max_bytes: usize::try_from(limits.disk_bytes).unwrap_or(usize::MAX),
        },
        bundles: options.state.join("bundles"),
        limits: WorkspaceLimits { bytes: limits.disk_bytes, files: limits.files },
    })
}

/// Returns the user that an agent runs as. A workspace that this runner created is given to that user.
fn agent_user(
    containment: &Containment,
    dirs: &WorkspaceDirs,
    workspace: &Path,
) -> Result<Option<AgentUser>, UserError> {
    match containment {
        Containment::Uncontained => Ok(None),
        Containment::Sandboxed(_) => {
            if workspace.starts_with(&dirs.managed) {
                give_to_agent(workspace, AgentUser::default())?;
            }
            AgentUser::for_workspace(workspace)
        }
    }
}

/// Returns the setup of the run's project, where it declares one.
fn open_setup(
    grant: &Grant,
    options: &ServeOptions,
    config: &BackendConfig,
) -> Result<Option<WorkspaceSetup>, SetupError> {
    let Some(setup) = grant.setup.clone() else { return Ok(None) };
    let setup = ProjectSetup {
        tenant: grant.run.tenant_id.clone(),
        project: grant.run.project_id.clone(),
        command: setup.command,
        allowed_hosts: setup.allowed_hosts,
        cache_files: setup.cache_files.into_iter().map(PathBuf::from).collect(),
    };
    WorkspaceSetup::open(setup, &grant.run.session_id, &options.state, config).map(Some)
}

/// Starts the pump. Reports the spool files that earlier runners left, and an agent that is not contained.
async fn start_pump(
    held: &LeasedRun,
    secrets: RunSecrets,
    epoch: i64,
    options: &ServeOptions,
    tasks: &Tasks,
    lost: &CancellationToken,
) -> Result<mpsc::Sender<PumpMessage>, ServeError> {
    let dir = options.state.join("spool");
    let leftover = spool::find_leftover(&dir, held.run()).await;
    let spool = Spool::open(&dir, held.run(), epoch).await?;
    let (sender, messages) = mpsc::channel(PUMP_CAPACITY);
    let pump = EventPump::new(held.clone(), spool, secrets, epoch, lost.clone());
    tasks.spawn("pump", pump.run(messages));
    tasks.spawn("run log", forward_log(RunLog::open(), sender.clone(), tasks.stop()));
    for spool in leftover {
        warn!(file = spool.file, events = spool.events, "an earlier runner left unsent events");
        let status = RunnerStatus::leftover_spool(&spool);
        let _pump_gone = sender.send(PumpMessage::RunnerStatus(status)).await;
    }
    if let Ok(Containment::Uncontained) = options.containment {
        let status = RunnerStatus::uncontained(epoch);
        let _pump_gone = sender.send(PumpMessage::RunnerStatus(status)).await;
    }
    Ok(sender)
}

/// Sends the lines of the runner's log to the run, until the run is given up.
async fn forward_log(mut log: RunLog, pump: mpsc::Sender<PumpMessage>, stop: CancellationToken) {
    loop {
        let line = tokio::select! { line = log.next() => line, () = stop.cancelled() => None };
        let Some(line) = line else { return };
        let _pump_gone = pump.send(PumpMessage::Log(line)).await;
    }
}

fn is_run_ended(work: &WorkView) -> bool {
    TerminalStatus::from_name(&work.run_status).is_ok()
}
