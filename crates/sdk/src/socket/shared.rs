//! What the clones of a client and their event streams share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::calls::Call;
use super::events::EventBus;
use super::state::SocketState;

/// Keeps the connection open: it closes with the last one who holds this.
#[derive(Debug)]
pub(super) struct SharedClient {
    pub(super) calls: mpsc::Sender<Call>,
    pub(super) events: Arc<EventBus>,
    pub(super) state: watch::Receiver<SocketState>,
    pub(super) call_timeout: Duration,
    pub(super) stop: CancellationToken,
}

impl Drop for SharedClient {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
