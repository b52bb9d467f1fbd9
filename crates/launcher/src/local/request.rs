//! Requests to the launcher thread.

use guildhall_domain::ids::AttemptId;
use tokio::sync::oneshot;

use crate::{LaunchError, LaunchRequest, ProcessStatus};

/// A request, and the channel for its response.
pub(super) enum WorkerRequest {
    Launch(Box<LaunchRequest>, oneshot::Sender<Result<(), LaunchError>>),
    Status(AttemptId, oneshot::Sender<Result<ProcessStatus, LaunchError>>),
    Kill(AttemptId, oneshot::Sender<Result<ProcessStatus, LaunchError>>),
    Close(oneshot::Sender<()>),
}
