//! Runner jobs: runners that the server launches for runs.

use guildhall_domain::ids::{CommandId, RunId, RunnerJobId};
use guildhall_protocol::rest::runners::jobs::{CreateRunnerJob, RunnerJobView, RunnerJobsView};
use reqwest::Method;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    /// Requests a runner for a run. Requests with the same idempotency key return the same job.
    pub async fn create_runner_job(
        &self,
        run: RunId,
        command: Option<CommandId>,
        idempotency_key: Option<&str>,
    ) -> Result<RunnerJobView, ClientError> {
        let command_id = command.map(|command| command.to_string());
        let body = CreateRunnerJob { command_id, idempotency_key: None };
        let request = self.request(Method::POST, &["runs", &run.to_string(), "runner-jobs"]);
        self.call(with_idempotency_key(request, idempotency_key).json(&body)).await
    }

    /// Lists the runner jobs of a run, or of one of its commands, newest first.
    pub async fn list_runner_jobs(
        &self,
        run: RunId,
        command: Option<CommandId>,
    ) -> Result<Vec<RunnerJobView>, ClientError> {
        let query: Vec<_> = command.map(|command| ("commandId", command)).into_iter().collect();
        let request = self.query(&["runs", &run.to_string(), "runner-jobs"], &query);
        Ok(self.call::<RunnerJobsView>(request).await?.runner_jobs)
    }

    pub async fn get_runner_job(&self, run: RunId, job: RunnerJobId) -> Result<RunnerJobView, ClientError> {
        let path = ["runs", &run.to_string(), "runner-jobs", &job.to_string()];
        self.call(self.request(Method::GET, &path)).await
    }
}
