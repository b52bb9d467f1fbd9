//! Runner processes, one for each of the first tenants, each behind a proxy that can stop it at a moment of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use rustix::process::Signal;

use super::StormTenant;
use super::small_disk::SmallDisk;
use crate::runner_faults::agent::Agent;
use crate::support::proxy::{self, Gate, ProxyAction, ProxyRequest};
use crate::support::runner_process::{RunnerProcess, children, send_signal};

/// Spools, workspaces and logs of all runners, and what Codex keeps of each session: 3 MB.
const DISK_MIB: u32 = 4096;

/// A request of a runner around which it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Claim,
    Acknowledge,
    FirstAppend,
    Finish,
}

/// A moment at which the next runner that reaches it is held.
struct ArmedMoment {
    moment: Moment,
    /// Whether the server has processed the request when the runner is killed.
    is_processed: bool,
    gate: Arc<Gate>,
    reached: mpsc::Sender<usize>,
}

pub(super) struct StormRunners {
    slots: Vec<RunnerSlot>,
    pub(super) disk: SmallDisk,
    armed: Arc<Mutex<Option<ArmedMoment>>>,
    pub(super) restarts: AtomicUsize,
}

struct RunnerSlot {
    process: Mutex<Option<RunnerProcess>>,
    proxy_url: String,
    agent: Agent,
    enrolment: PathBuf,
    state: PathBuf,
    profiles: PathBuf,
}

impl StormRunners {
    /// Starts a runner for each tenant, and the supervisor. `model` is the URL of the model of real agents.
    pub(super) fn start(
        folder: &Path,
        servers: &[String],
        tenants: &[StormTenant],
        model: &str,
    ) -> Arc<Self> {
        let profiles = folder.join("profiles");
        Agent::Codex.write_profile(&profiles, model);
        let disk = SmallDisk::mount(&folder.join("runners"), DISK_MIB);
        let armed = Arc::new(Mutex::new(None));
        let slots = tenants.iter().enumerate().map(|(number, tenant)| {
            let enrolment = folder.join(format!("enrolment-{number}"));
            crate::support::agent::write_private(&enrolment, &tenant.enrolment);
            let proxy_url = start_proxy(number, servers, Arc::clone(&armed));
            let state = disk.path().join(format!("state-{number}"));
            let (agent, profiles) = (tenant.agent, profiles.clone());
            RunnerSlot { process: Mutex::default(), proxy_url, agent, enrolment, state, profiles }
        });
        let runners = Arc::new(Self { slots: slots.collect(), disk, armed, restarts: AtomicUsize::new(0) });
        let supervised = Arc::downgrade(&runners);
        guildhall_testkit::spawn_task(async move {
            while let Some(runners) = supervised.upgrade() {
                runners.restart_exited();
                drop(runners);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        runners
    }

    fn restart_exited(&self) {
        for (number, slot) in self.slots.iter().enumerate() {
            let mut process = slot.process.lock().expect("the lock is not poisoned");
            if process.as_mut().is_none_or(|runner| runner.process.has_exited()) {
                self.restarts.fetch_add(usize::from(process.is_some()), Ordering::SeqCst);
                *process = Some(slot.start(number));
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the pids of the guard and of the worker of a runner, if it runs.
    pub(super) fn pids(&self, number: usize) -> (Option<u32>, Option<u32>) {
        let process = self.slots[number].process.lock().expect("the lock is not poisoned");
        let guard = process.as_ref().map(RunnerProcess::guard_pid);
        (guard, guard.and_then(|guard| children(guard).first().copied()))
    }

    /// Kills guard and worker.
    pub(super) fn kill(&self, number: usize) {
        let (guard, worker) = self.pids(number);
        [worker, guard].into_iter().flatten().for_each(|pid| send_signal(pid, Signal::KILL));
    }

    /// Waits for the next runner that reaches a moment, and kills it there. Returns whether one did in time.
    pub(super) fn kill_at(&self, moment: Moment, is_processed: bool, timeout: Duration) -> bool {
        let (reached, is_reached) = mpsc::channel();
        let gate = Arc::new(Gate::default());
        let armed = ArmedMoment { moment, is_processed, gate: Arc::clone(&gate), reached };
        *self.armed.lock().expect("the lock is not poisoned") = Some(armed);
        let number = is_reached.recv_timeout(timeout);
        *self.armed.lock().expect("the lock is not poisoned") = None;
        // It may have been reached between the timeout and the lock.
        let number = number.or_else(|_| is_reached.try_recv());
        if let Ok(number) = number {
            if is_processed {
                gate.wait_until_held();
            }
            self.kill(number);
        }
        gate.open();
        number.is_ok()
    }
}

impl RunnerSlot {
    fn start(&self, number: usize) -> RunnerProcess {
        let mut command = Command::new(crate::support::agent::runner_program());
        command
            .args(["--url", &self.proxy_url, "--name", &format!("storm-{number}"), "--enrolment-file"])
            .arg(&self.enrolment)
            .arg("--state")
            .arg(&self.state)
            .args(["--idle-seconds", "1", "--profile", self.agent.profile_name(), "--profiles"])
            .arg(&self.profiles)
            .arg("--codex")
            .arg(guildhall_testkit::codex_program())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        let log = self.enrolment.with_extension("log");
        // The log of the last process is enough to see why it failed.
        let _no_log_yet = fs::rename(&log, log.with_extension("log.1"));
        RunnerProcess::start(&mut command, log)
    }
}

fn start_proxy(number: usize, servers: &[String], armed: Arc<Mutex<Option<ArmedMoment>>>) -> String {
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let has_appended = AtomicBool::new(true);
    proxy::start_on("127.0.0.1", &servers, move |request| {
        let Some(moment) = moment_of(request, &has_appended) else { return ProxyAction::Forward };
        let mut armed = armed.lock().expect("the lock is not poisoned");
        let Some(held) = armed.take_if(|armed| armed.moment == moment) else { return ProxyAction::Forward };
        let _injector_timed_out = held.reached.send(number);
        if held.is_processed {
            ProxyAction::HoldResponse(held.gate, "")
        } else {
            ProxyAction::HoldRequest(held.gate)
        }
    })
}

/// Returns the moment of a request. The first append is the first one after an acknowledgement.
fn moment_of(request: &ProxyRequest, has_appended: &AtomicBool) -> Option<Moment> {
    let line = &request.line;
    if line.starts_with("POST ") && line.contains("/claim ") {
        Some(Moment::Claim)
    } else if line.starts_with("POST ") && line.contains("/ack ") {
        has_appended.store(false, Ordering::SeqCst);
        Some(Moment::Acknowledge)
    } else if line.starts_with("POST ") && line.contains("/events ") {
        (!has_appended.swap(true, Ordering::SeqCst)).then_some(Moment::FirstAppend)
    } else if line.starts_with("PATCH ") && line.contains("/commands/") && line.contains("/status ") {
        Some(Moment::Finish)
    } else {
        None
    }
}
