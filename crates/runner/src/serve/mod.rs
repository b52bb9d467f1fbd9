//! Serving one run: claim it, hold it, work through its commands, give it back.

mod claim;
mod run;
mod take;
mod turn;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::Ending;
use guildhall_runtime::Tasks;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::RunnerClient;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backend::choose::{Backends, ChooseError};
use crate::child;
use crate::child::OutOfReach;
use crate::guard::Leash;
use crate::hold::Hold;
use crate::workspace::WorkspaceError;
use claim::{Claimed, claim, register};
use run::Serving;

/// One poll waits this long; the server answers earlier when there is something.
const POLL_WAIT: Duration = Duration::from_secs(8);

/// After a failed request.
const REST: Duration = Duration::from_millis(300);

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
    /// What agents cannot read or connect to.
    pub out_of_reach: OutOfReach,
    /// Folders of this machine below which a run may name its workspace.
    pub workspace_roots: Vec<PathBuf>,
    /// A run without a command for this long is given back.
    pub idle: Duration,
    /// How long to wait for a run, or for the lease of a lost runner.
    pub claim_within: Duration,
    /// How long a turn may go on when the runner was told to stop.
    pub drain_within: Duration,
    /// What is told to the guard, where there is one.
    pub leash: Leash,
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
    let Some(runner) = register(client, options, stop).await? else { return Ok(Served::Nothing) };
    let Some(Claimed { held, grant, asked }) = claim(client, runner, options, stop).await? else {
        return Ok(Served::Nothing);
    };
    info!(run.id = %held.run(), runner.id = %runner, "serving {}", held.run());
    let (tasks, lost, leash) = (Tasks::new(), CancellationToken::new(), options.leash);
    let hold = Hold { held: held.clone(), lease: grant.lease, since: asked, leash, lost: lost.clone() };
    tasks.spawn("lease", hold.keep(tasks.stop()));
    tasks.spawn("end of the backend", end_when_lost(lost.clone(), leash, tasks.stop()));
    let served = match Serving::begin(held.clone(), &grant, options, &tasks, lost).await {
        Ok(serving) => Ok(serving.work(options, stop).await),
        Err(error) => {
            // Without a word the run would go from runner to runner, and nobody would know why.
            let words = format!("the runner cannot serve this run: {error}");
            if let Err(error) = held.end(&Ending::failed(error.kind(), words)).await {
                warn!("cannot say that {} cannot be served: {error}", held.run());
            }
            Err(error)
        }
    };
    tasks.shutdown(Duration::from_secs(10)).await;
    leash.free();
    served
}

/// Ends the backend the moment that the run is lost, whatever everybody else waits for then.
async fn end_when_lost(lost: CancellationToken, leash: Leash, stop: CancellationToken) {
    tokio::select! {
        () = lost.cancelled() => {
            child::end_backends();
            leash.free();
        }
        () = stop.cancelled() => {}
    }
}
