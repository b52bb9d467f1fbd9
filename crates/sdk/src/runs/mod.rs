//! Runs: made, read and followed by those who want something done.

mod events;
mod follow;

use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_protocol::rest::runs::commands::ResultView;
use guildhall_protocol::rest::runs::{CreateRun, RunView, RunsView};
use reqwest::Method;

pub use events::{RunEvent, RunEventPage};
pub use follow::{RunFollowed, RunFollower};

use crate::client::keyed;
use crate::{Client, ClientError};

/// Which runs to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// Those that have not ended.
    Open,
    All,
}

impl RunScope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::All => "all",
        }
    }
}

impl Client {
    pub async fn create_run(
        &self,
        wanted: &CreateRun,
        idempotency_key: Option<&str>,
    ) -> Result<RunView, ClientError> {
        let request = self.request(Method::POST, &["runs"]).json(wanted);
        self.call(keyed(request, idempotency_key)).await
    }

    pub async fn show_run(&self, run: RunId) -> Result<RunView, ClientError> {
        self.call(self.request(Method::GET, &["runs", &run.to_string()])).await
    }

    /// Lists runs of a tenant, newest first: those made before one, or the newest. 100 is the most that a page holds.
    pub async fn list_runs(
        &self,
        tenant: TenantId,
        scope: RunScope,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<RunsView, ClientError> {
        let mut query = vec![
            ("tenantId", tenant.to_string()),
            ("state", scope.as_str().to_owned()),
            ("limit", limit.to_string()),
        ];
        query.extend(before.map(|run| ("cursor", run.to_string())));
        self.call(self.query(&["runs"], &query)).await
    }

    /// Reads the result of a command of a run; of the newest without one.
    pub async fn run_result(
        &self,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<ResultView, ClientError> {
        let query: Vec<_> = command.map(|command| ("commandId", command)).into_iter().collect();
        self.call(self.query(&["runs", &run.to_string(), "result"], &query)).await
    }

    /// Asks a run to end, with all its commands. Asking again changes nothing.
    pub async fn cancel_run(&self, run: RunId) -> Result<RunView, ClientError> {
        self.call(self.request(Method::POST, &["runs", &run.to_string(), "cancel"])).await
    }
}
