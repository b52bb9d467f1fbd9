//! Reports what an agent changed in its workspace.

use std::path::PathBuf;

use guildhall_domain::ids::CommandId;
use guildhall_sdk::runner::LeasedRun;
use tokio::time::sleep;
use tracing::warn;

use super::options::RETRY_DELAY;
use crate::workspace::Baseline;

/// A workspace and its files at the start.
#[derive(Debug)]
pub(super) struct WorkspaceChanges {
    pub(super) baseline: Baseline,
    pub(super) dir: PathBuf,
}

impl WorkspaceChanges {
    /// Sends the changes after a command to the server. Retries while the server is unreachable, because the changes of
    /// an earlier turn would stay there otherwise. The command ends the same way if it fails.
    pub(super) async fn report(&self, held: &LeasedRun, command: CommandId) {
        let diff = match self.baseline.diff(&self.dir).await {
            Ok(diff) => diff,
            Err(error) => return warn!("cannot collect the changes of the workspace: {error}"),
        };
        while let Err(error) = held.put_diff(command, diff.clone()).await {
            warn!("cannot report the changes of the workspace: {error}");
            if !error.is_transient() {
                return;
            }
            sleep(RETRY_DELAY).await;
        }
    }
}
