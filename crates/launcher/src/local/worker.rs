//! The thread that starts, monitors and kills the processes of a launcher.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use guildhall_domain::ids::AttemptId;
use guildhall_domain::runners::job::attempt_name;
use rustix::process::Signal;
use tracing::{info, warn};

use super::launcher_dir::{AttemptDir, LauncherDir};
use super::options::{Lifetime, LocalOptions};
use super::process_tree;
use super::processes::{self, ProcessIdentity, ProcessState};
use super::request::WorkerRequest;
use crate::{ExitReason, LaunchError, LaunchRequest, ProcessStatus};

/// How long to wait for another server to record the exit of its child. After that the other server is dead too.
const EXIT_RECORD_TIMEOUT: Duration = Duration::from_secs(3);

/// How long runners may take to exit after SIGTERM when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1500);

#[derive(Debug)]
pub(super) struct Worker {
    dir: LauncherDir,
    options: LocalOptions,
    /// Child processes of this server: only the parent can read an exit status.
    children: HashMap<AttemptId, Child>,
    /// When processes of other servers were first found dead.
    found_dead_at: HashMap<AttemptId, Instant>,
    /// After shutdown nothing is started.
    is_closed: bool,
}

impl Worker {
    pub(super) fn new(dir: LauncherDir, options: LocalOptions) -> Self {
        Self { dir, options, children: HashMap::new(), found_dead_at: HashMap::new(), is_closed: false }
    }

    /// Kills runners that should have ended with a killed server.
    pub(super) fn start(&mut self) {
        if self.options.lifetime == Lifetime::WithServer {
            self.kill_all();
        }
    }

    pub(super) fn handle(&mut self, request: WorkerRequest) {
        match request {
            WorkerRequest::Launch(request, reply) => {
                let _caller_gone = reply.send(self.launch(&request));
            }
            WorkerRequest::Status(attempt, reply) => {
                let _caller_gone = reply.send(self.status(attempt));
            }
            WorkerRequest::Kill(attempt, reply) => {
                let _caller_gone = reply.send(self.kill(attempt));
            }
            WorkerRequest::Close(reply) => {
                if self.options.lifetime == Lifetime::WithServer {
                    self.is_closed = true;
                    self.terminate_all();
                    self.kill_all();
                }
                let _caller_gone = reply.send(());
            }
        }
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), LaunchError> {
        if self.is_closed {
            return Err(LaunchError::Closed);
        }
        let attempt = self.dir.attempt(request.attempt);
        attempt.create().map_err(LaunchError::io("create", "the attempt's directory"))?;
        let _lock = attempt.lock().map_err(|_locked| LaunchError::Busy)?;
        if attempt.exit_reason().is_some() || find_process(&attempt).is_some() {
            return Ok(());
        }
        self.dir.prune();
        attempt.write_enrolment(&request.enrolment).map_err(LaunchError::io("write", "the enrolment"))?;
        let mut child = self
            .command(request, &attempt)?
            .spawn()
            .map_err(LaunchError::io("start", "the runner through prlimit (package util-linux)"))?;
        let identity =
            ProcessIdentity::of(child.id()).ok_or_else(|| std::io::Error::other("the process is gone"));
        if let Err(error) = identity.and_then(|identity| attempt.record_process(&identity)) {
            // A process without a record could not be found again, so it must not run.
            let _already_gone = child.kill();
            let _reaped = child.wait();
            return Err(LaunchError::io("record", "the runner's process")(error));
        }
        info!(attempt = %request.attempt, pid = child.id(), "started a runner for the profile {}", request.profile.as_str());
        self.children.insert(request.attempt, child);
        Ok(())
    }

    fn command(&self, request: &LaunchRequest, attempt: &AttemptDir) -> Result<Command, LaunchError> {
        let options = &self.options;
        // Each program replaces itself by the next with exec. The new session has no terminal: Ctrl-C in the server's
        // terminal does not reach it, and agents cannot write to that terminal.
        let mut prefix = options.limits.command_prefix();
        if options.lifetime == Lifetime::WithServer {
            // The kernel signals the runner when this thread ends.
            prefix.extend(["setpriv", "--pdeathsig=TERM", "--"].map(str::to_owned));
        }
        let mut command = Command::new(&prefix[0]);
        command.args(&prefix[1..]).arg("setsid").arg(&options.runner);
        command.arg("--url").arg(&options.url);
        command.arg("--enrolment-file").arg(attempt.enrolment_file());
        command.arg("--name").arg(request.attempt.to_string());
        command.arg("--profile").arg(request.profile.as_str());
        command.arg("--state").arg(self.dir.storage());
        command.arg("--one-shot").arg("--idle-seconds").arg(options.idle_timeout.as_secs().to_string());
        match request.run {
            Some(run) => command.arg("--run").arg(run.to_string()),
            None => command.arg("--claim-seconds").arg(options.claim_timeout.as_secs().to_string()),
        };
        let launcher_dirs = [Some(self.dir.root()), options.profiles.as_deref()];
        command.args(options.containment.arguments(launcher_dirs.into_iter().flatten()));
        command.args(
            options
                .workspace_roots
                .iter()
                .flat_map(|root| [OsStr::new("--workspace-root"), root.as_os_str()]),
        );
        command.args(options.git.arguments());
        if let Some(source) = self.dir.profile(request.tenant, &request.profile)? {
            command.arg("--profiles").arg(attempt.copy_profile(request, &source)?);
        }
        let log = attempt.log().and_then(|log| Ok((log.try_clone()?, log)));
        let (errors, log) = log.map_err(LaunchError::io("open", "the runner's log"))?;
        // Only selected variables are passed on: the server's environment may contain secrets.
        command.env_clear().envs(options.environment.iter().map(|(name, value)| (name, value)));
        command
            .env(process_tree::ATTEMPT_VARIABLE, attempt_name(request.attempt))
            .env("HOME", attempt.folder());
        command.current_dir(attempt.folder()).stdin(Stdio::null()).stdout(log).stderr(errors);
        Ok(command)
    }

    fn status(&mut self, id: AttemptId) -> Result<ProcessStatus, LaunchError> {
        let attempt = self.dir.attempt(id);
        if let Some(reason) = attempt.exit_reason() {
            self.children.remove(&id);
            self.found_dead_at.remove(&id);
            return Ok(ProcessStatus::Ended(reason));
        }
        let Some(identity) = find_process(&attempt) else { return Ok(ProcessStatus::Absent) };
        let reason = match self.children.get_mut(&id).map(Child::try_wait) {
            Some(Ok(Some(status))) => Some(exit_reason(status)),
            Some(Ok(None)) => None,
            Some(Err(_)) | None => self.foreign_exit(id, &identity),
        };
        let Some(reason) = reason else {
            attempt
                .rotate_log(self.options.log_bytes)
                .map_err(LaunchError::io("rotate", "the runner's log"))?;
            return Ok(ProcessStatus::Running);
        };
        self.finish(id, &attempt, reason)
    }

    /// Returns the exit reason of a process of another server, once it is certain that it ended.
    fn foreign_exit(&mut self, id: AttemptId, identity: &ProcessIdentity) -> Option<ExitReason> {
        match identity.state() {
            ProcessState::Alive => None,
            ProcessState::Zombie | ProcessState::Gone => {
                let since = *self.found_dead_at.entry(id).or_insert_with(Instant::now);
                (since.elapsed() > EXIT_RECORD_TIMEOUT).then_some(ExitReason::Unknown)
            }
        }
    }

    /// Kills the leftover processes of a dead runner, and then records its exit.
    fn finish(
        &mut self,
        id: AttemptId,
        attempt: &AttemptDir,
        reason: ExitReason,
    ) -> Result<ProcessStatus, LaunchError> {
        if !process_tree::kill_leftovers(id, &self.dir.storage(), &self.live_runners()) {
            warn!(attempt = %id, "cannot kill the leftover processes of a dead runner; will retry");
            return Ok(ProcessStatus::Running);
        }
        attempt.record_exit(&reason).map_err(LaunchError::io("record", "the runner's exit"))?;
        self.children.remove(&id);
        self.found_dead_at.remove(&id);
        info!(attempt = %id, ?reason, "a runner has ended");
        Ok(ProcessStatus::Ended(reason))
    }

    fn kill(&mut self, id: AttemptId) -> Result<ProcessStatus, LaunchError> {
        let attempt = self.dir.attempt(id);
        let ended = attempt.exit_reason().is_some();
        let Some(identity) = find_process(&attempt).filter(|_| !ended) else { return self.status(id) };
        if !process_tree::kill_tree(&identity) {
            return Ok(ProcessStatus::Running);
        }
        let status = self.children.get_mut(&id).and_then(|child| child.wait().ok());
        self.finish(id, &attempt, status.map_or(ExitReason::Unknown, exit_reason))
    }

    /// Returns the pids of the live runners of this launcher.
    fn live_runners(&self) -> BTreeSet<u32> {
        let attempts = self.dir.attempts().into_iter().map(|attempt| self.dir.attempt(attempt));
        let open = attempts.filter(|attempt| attempt.exit_reason().is_none());
        let alive =
            open.filter_map(|attempt| attempt.process()).filter(|id| id.state() == ProcessState::Alive);
        alive.map(|identity| identity.pid).collect()
    }

    fn open_attempts(&self) -> Vec<AttemptId> {
        let is_open = |attempt: &AttemptId| self.dir.attempt(*attempt).exit_reason().is_none();
        self.dir.attempts().into_iter().filter(is_open).collect()
    }

    /// Sends SIGTERM to every runner, and waits a moment.
    fn terminate_all(&mut self) {
        let open: Vec<ProcessIdentity> = self
            .open_attempts()
            .iter()
            .filter_map(|attempt| find_process(&self.dir.attempt(*attempt)))
            .collect();
        for identity in &open {
            identity.signal(Signal::TERM);
        }
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while open.iter().any(|identity| identity.state() == ProcessState::Alive) && Instant::now() < deadline
        {
            sleep(Duration::from_millis(10));
        }
    }

    fn kill_all(&mut self) {
        for attempt in self.open_attempts() {
            if let Err(error) = self.kill(attempt) {
                warn!(%attempt, error = &error as &dyn std::error::Error, "cannot kill a runner");
            }
        }
    }
}

/// Finds the process of an attempt: by its record, or by its arguments if the server was killed before it wrote one.
pub(super) fn find_process(attempt: &AttemptDir) -> Option<ProcessIdentity> {
    if let Some(recorded) = attempt.process() {
        return Some(recorded);
    }
    let found = processes::find_by_argument(&attempt.enrolment_file())?;
    let _found_again_next_time = attempt.record_process(&found);
    Some(found)
}

fn exit_reason(status: ExitStatus) -> ExitReason {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitReason::Exited(code),
        (None, Some(signal)) => ExitReason::Killed(signal),
        (None, None) => ExitReason::Unknown,
    }
}
