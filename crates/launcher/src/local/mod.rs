//! Runners as local processes.
//!
//! Each attempt has its own directory with mode 0700: the enrolment token, a copy of its profile, its log, and a record
//! to find the process again. The storage of sessions is shared by all attempts, so that the next runner continues
//! where the last one stopped; the lease of a run prevents two runners from using it at the same time.
//!
//! One thread does all the work. The kernel's parent-death signal is bound to the thread that started a process, so
//! that thread must live as long as the server.

mod containment;
mod launcher_dir;
mod limits;
mod options;
mod process_tree;
mod processes;
mod request;
mod worker;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::ids::{AttemptId, LauncherId, SessionId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use tokio::sync::oneshot;

pub use containment::{Containment, SandboxOptions, probe_sandbox};
pub use launcher_dir::runner_state;
pub use limits::Limits;
pub use options::{GitOptions, Lifetime, LocalOptions};

use crate::directories::check_creatable;
use crate::storage::session_folder;
use crate::{LaunchError, LaunchRequest, Launcher, ProcessStatus, ProfileUnavailable};
use launcher_dir::LauncherDir;
use request::WorkerRequest;
use worker::Worker;

/// Starts runners as local processes.
#[derive(Debug)]
pub struct LocalLauncher {
    id: LauncherId,
    dir: LauncherDir,
    is_contained: bool,
    requests: mpsc::Sender<WorkerRequest>,
    is_closed: AtomicBool,
}

impl LocalLauncher {
    pub const KIND: &'static str = "local";

    /// Opens the state directory of a launcher. Kills the runners that should have ended with a killed server.
    pub fn open(mut options: LocalOptions) -> Result<Self, LaunchError> {
        let dir = LauncherDir::open(&options.state, options.profiles.clone(), options.secrets.clone())?;
        // Absolute: the runner starts in another working directory.
        options.runner = find_runner(&options)?;
        let (id, is_contained) = (dir.id()?, options.containment != Containment::Uncontained);
        let mut worker = Worker::new(dir.clone(), options);
        let (requests, receiver) = mpsc::channel();
        std::thread::Builder::new()
            .name("launcher".to_owned())
            .spawn(move || {
                worker.start();
                for request in receiver {
                    worker.handle(request);
                }
            })
            .map_err(LaunchError::io("start", "the launcher's thread"))?;
        Ok(Self { id, dir, is_contained, requests, is_closed: AtomicBool::new(false) })
    }

    /// Checks that [`LocalLauncher::open`] finds what it needs. Creates nothing.
    pub fn check(options: &LocalOptions) -> Result<(), LaunchError> {
        check_creatable(&options.state).map_err(LaunchError::io("create", "the launcher's directory"))?;
        find_runner(options).map(drop)
    }

    async fn send<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> WorkerRequest,
    ) -> Result<T, LaunchError> {
        let (sender, response) = oneshot::channel();
        self.requests.send(request(sender)).map_err(|_closed| LaunchError::Closed)?;
        response.await.map_err(|_closed| LaunchError::Closed)
    }
}

fn find_runner(options: &LocalOptions) -> Result<PathBuf, LaunchError> {
    options.runner.canonicalize().map_err(LaunchError::io("find", "the runner's program"))
}

impl Launcher for LocalLauncher {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn id(&self) -> LauncherId {
        self.id
    }

    fn check_profile(
        &self,
        tenant: Option<TenantId>,
        profile: &BackendProfile,
    ) -> Result<(), ProfileUnavailable> {
        self.dir.profile(tenant, profile).map(|_source| ())
    }

    fn has_session_storage(&self, session: SessionId) -> bool {
        session_folder(&self.dir.storage(), session).is_dir()
    }

    fn is_contained(&self) -> bool {
        self.is_contained
    }

    fn launch(&self, request: LaunchRequest) -> BoxFuture<'_, Result<(), LaunchError>> {
        async { self.send(|reply| WorkerRequest::Launch(Box::new(request), reply)).await? }.boxed()
    }

    fn status(&self, attempt: AttemptId) -> BoxFuture<'_, Result<ProcessStatus, LaunchError>> {
        async move { self.send(|reply| WorkerRequest::Status(attempt, reply)).await? }.boxed()
    }

    fn kill(&self, attempt: AttemptId) -> BoxFuture<'_, Result<ProcessStatus, LaunchError>> {
        async move { self.send(|reply| WorkerRequest::Kill(attempt, reply)).await? }.boxed()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // First: whoever notices the end of a runner must know why.
        self.is_closed.store(true, Ordering::SeqCst);
        async { self.send(WorkerRequest::Close).await.unwrap_or(()) }.boxed()
    }
}

#[cfg(test)]
mod tests;
