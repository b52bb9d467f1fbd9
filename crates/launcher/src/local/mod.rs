//! Runners as processes of this machine.
//!
//! Each attempt has a folder of its own, 0700: the enrolment token, a copy of its one profile, its log, and a note by which
//! the process is found again. Sessions' storage is shared by all attempts and divided by session, so that the next
//! runner goes on where the last one stopped; the lease of a run keeps two from working in one at a time.
//!
//! One thread does everything. The kernel's parent-death signal follows the thread that started a process, so that thread
//! has to live as long as the server.

mod contain;
mod files;
mod limits;
mod processes;
mod tree;
mod worker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_domain::ids::{AttemptId, PlaceId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use tokio::sync::oneshot;

pub use contain::{OutOfReach, can_contain};
pub use limits::Limits;

use crate::secrets::FileStore;
use crate::{Launch, LaunchError, Launcher, NoProfile, Seen};
use files::Files;
use worker::Worker;

/// How runners are started here.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub runner: PathBuf,
    /// Where everything is kept.
    pub state: PathBuf,
    /// The operator's profiles, a folder each.
    pub profiles: Option<PathBuf>,
    /// The profiles that were set over the API: they come before the operator's folders.
    pub secrets: Option<FileStore>,
    /// What agents cannot reach, beside this launcher's own folders; none where nothing keeps them from it.
    pub out_of_reach: Option<OutOfReach>,
    /// Where runners reach the server.
    pub url: String,
    /// A run without a command for this long is given back, and its runner ends.
    pub idle: Duration,
    /// A runner that got no run for this long ends, and is replaced.
    pub claim_within: Duration,
    pub limits: Limits,
    /// A log that has grown past this is cut.
    pub log_bytes: u64,
    pub lifetime: Lifetime,
    /// What of the server's own environment a runner gets.
    pub environment: Vec<(String, OsString)>,
}

/// What happens to runners when the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// They go on: a run outlives every process.
    Own,
    /// They end with it, killed or not: for a developer's machine.
    OfServer,
}

/// Starts runners as processes of this machine.
#[derive(Debug)]
pub struct Local {
    place: PlaceId,
    files: Files,
    is_contained: bool,
    asks: mpsc::Sender<Ask>,
}

/// Returns where the runners of a place keep sessions and workspaces.
#[must_use]
pub fn runner_state(state: &Path) -> PathBuf {
    state.join("storage")
}

/// Something for the thread to do, and where to say how it went.
enum Ask {
    Launch(Box<Launch>, oneshot::Sender<Result<(), LaunchError>>),
    Look(AttemptId, oneshot::Sender<Result<Seen, LaunchError>>),
    End(AttemptId, oneshot::Sender<Result<Seen, LaunchError>>),
    Close(oneshot::Sender<()>),
}

impl Local {
    pub const KIND: &'static str = "local";

    /// Takes a place. What a killed server left that should have ended with it ends now.
    pub fn open(mut options: Options) -> Result<Self, LaunchError> {
        let files = Files::open(&options.state, options.profiles.clone(), options.secrets.clone())?;
        // It is started in another folder than this one.
        options.runner =
            options.runner.canonicalize().map_err(LaunchError::io("find", "the runner's program"))?;
        let (place, is_contained) = (files.place()?, options.out_of_reach.is_some());
        let mut worker = Worker::new(files.clone(), options);
        let (asks, asked) = mpsc::channel();
        std::thread::Builder::new()
            .name("launcher".to_owned())
            .spawn(move || {
                worker.begin();
                for ask in asked {
                    worker.answer(ask);
                }
            })
            .map_err(LaunchError::io("start", "the launcher's thread"))?;
        Ok(Self { place, files, is_contained, asks })
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, LaunchError> {
        let (sender, answer) = oneshot::channel();
        self.asks.send(ask(sender)).map_err(|_ended| LaunchError::Closed)?;
        answer.await.map_err(|_ended| LaunchError::Closed)
    }
}

impl Launcher for Local {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn place(&self) -> PlaceId {
        self.place
    }

    fn check(&self, tenant: Option<TenantId>, profile: &BackendProfile) -> Result<(), NoProfile> {
        self.files.profile(tenant, profile).map(|_source| ())
    }

    fn is_contained(&self) -> bool {
        self.is_contained
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<(), LaunchError>> {
        async { self.ask(|answer| Ask::Launch(Box::new(launch), answer)).await? }.boxed()
    }

    fn look(&self, attempt: AttemptId) -> BoxFuture<'_, Result<Seen, LaunchError>> {
        async move { self.ask(|answer| Ask::Look(attempt, answer)).await? }.boxed()
    }

    fn end(&self, attempt: AttemptId) -> BoxFuture<'_, Result<Seen, LaunchError>> {
        async move { self.ask(|answer| Ask::End(attempt, answer)).await? }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async { self.ask(Ask::Close).await.unwrap_or(()) }.boxed()
    }
}

#[cfg(test)]
mod tests;
