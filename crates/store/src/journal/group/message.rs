//! The messages into and out of a lane.

use guildhall_domain::journal::{AppendedEntry, Seq, Stream};
use tokio::sync::oneshot;

use crate::journal::request::{AppendError, AppendRequest};

/// Reports that a stream has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamUpdate {
    pub stream: Stream,
    pub last_seq: Seq,
}

/// An append that waits in a lane, and the channel for its result.
pub(super) struct PendingAppend {
    pub(super) append: AppendRequest,
    pub(super) reply: oneshot::Sender<Result<Vec<AppendedEntry>, AppendError>>,
}
