//! Runs: create, read, list, follow and cancel.

mod events;
mod follow;

use guildhall_domain::ids::{CommandId, RunId, TenantId};
use guildhall_protocol::base64_bytes::Base64Bytes;
use guildhall_protocol::rest::runs::bundle::{BundleUploadView, PutBundlePart};
use guildhall_protocol::rest::runs::commands::ResultView;
use guildhall_protocol::rest::runs::diff::{DeletedDiffView, DiffView};
use guildhall_protocol::rest::runs::{CreateRun, RunView, RunsView};
use reqwest::Method;

pub use events::{RunEvent, RunEventPage};
pub use follow::{RunFollower, RunStreamItem};

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

/// Filter of [`Client::list_runs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// Runs that have not ended.
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
        request_body: &CreateRun,
        idempotency_key: Option<&str>,
    ) -> Result<RunView, ClientError> {
        let request = self.request(Method::POST, &["runs"]).json(request_body);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    pub async fn get_run(&self, run: RunId) -> Result<RunView, ClientError> {
        self.call(self.request(Method::GET, &["runs", &run.to_string()])).await
    }

    /// Returns the changes of a run's workspace. Not found if the runner has reported none.
    pub async fn run_diff(&self, run: RunId) -> Result<DiffView, ClientError> {
        self.call(self.request(Method::GET, &["runs", &run.to_string(), "diff"])).await
    }

    /// Deletes the changes of a run's workspace. Idempotent.
    pub async fn delete_run_diff(&self, run: RunId) -> Result<DeletedDiffView, ClientError> {
        self.call(self.request(Method::DELETE, &["runs", &run.to_string(), "diff"])).await
    }

    /// Uploads a part of the Git bundle that is the workspace of a run: 1 MiB each, counted from 0. Idempotent.
    pub async fn put_bundle_part(
        &self,
        run: RunId,
        number: u64,
        content: &[u8],
    ) -> Result<BundleUploadView, ClientError> {
        let segments = ["runs", &run.to_string(), "bundle", "parts", &number.to_string()];
        let body = PutBundlePart { content: Base64Bytes(content.to_vec()) };
        self.call(self.request(Method::PUT, &segments).json(&body)).await
    }

    /// Lists at most 100 runs of a tenant, newest first, optionally only those created before a run.
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

    /// Returns the result of a command; by default of the newest command.
    pub async fn run_result(
        &self,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<ResultView, ClientError> {
        let query: Vec<_> = command.map(|command| ("commandId", command)).into_iter().collect();
        self.call(self.query(&["runs", &run.to_string(), "result"], &query)).await
    }

    /// Ends a run whose work is done. Fails while a command is open. Idempotent.
    pub async fn close_run(&self, run: RunId) -> Result<RunView, ClientError> {
        self.call(self.request(Method::POST, &["runs", &run.to_string(), "close"])).await
    }

    /// Requests the cancellation of a run and all its commands. Idempotent.
    pub async fn cancel_run(&self, run: RunId) -> Result<RunView, ClientError> {
        self.call(self.request(Method::POST, &["runs", &run.to_string(), "cancel"])).await
    }
}
