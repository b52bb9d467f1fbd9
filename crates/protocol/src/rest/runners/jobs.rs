//! Runner jobs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Starts a runner for a pending command of a run. Defaults to the oldest pending command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRunnerJob {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "cmd_01920000000070008000000000000000", pattern = "^cmd_[0-9a-f]{32}$")]
    pub command_id: Option<String>,
    /// Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    pub idempotency_key: Option<String>,
}

/// Query parameters of the job list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RunnerJobsQuery {
    /// Only jobs for this command. By default all.
    #[param(pattern = "^cmd_[0-9a-f]{32}$")]
    pub command_id: Option<String>,
}

/// A job that starts a runner: its location and the state of its process. The outcome of the command is part of the
/// command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerJobView {
    #[schema(example = "rjb_01920000000070008000000000000000")]
    pub runner_job_id: String,
    pub run_id: Option<String>,
    /// The command that it was started for; null for a warm runner.
    pub command_id: Option<String>,
    #[schema(example = "atp_01920000000070008000000000000000")]
    pub attempt_id: String,
    #[schema(example = "guildhall-runner-000000000000")]
    pub job_name: String,
    /// Namespace of the job; null for a process on the server's machine.
    pub namespace: Option<String>,
    /// asked (requested by a client), cold (started for a waiting run) or warm.
    #[schema(example = "asked")]
    pub kind: String,
    #[schema(example = "local")]
    pub launcher: String,
    pub backend_profile: String,
    /// pending, launching, running, succeeded, failed or lost.
    #[schema(example = "pending")]
    pub phase: String,
    /// The runner that the job registered.
    pub runner_id: Option<String>,
    pub log: JobLogView,
    /// How the process ended; null while it is active.
    pub terminal: Option<JobTerminalView>,
    /// Status of its command.
    pub command_status: Option<String>,
    /// URL to poll.
    pub poll: String,
    pub created_at: Timestamp,
    pub launched_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Location of the log, for operators of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobLogView {
    /// file: a file below the state directory of the launcher.
    #[schema(example = "file")]
    pub kind: String,
    /// Null until a launcher has started the job.
    pub identity: Option<String>,
}

/// Terminal state of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobTerminalView {
    /// succeeded, failed or lost.
    pub status: String,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
}

/// Jobs, newest first, at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerJobsView {
    pub runner_jobs: Vec<RunnerJobView>,
}
