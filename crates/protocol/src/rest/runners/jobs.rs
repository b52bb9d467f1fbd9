//! Runners that are started for runs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Asks for a runner. It is started for one command: the one that has waited longest where none is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRunnerJob {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "cmd_01920000000070008000000000000000", pattern = "^cmd_[0-9a-f]{32}$")]
    pub command_id: Option<String>,
}

/// Which jobs of a run.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RunnerJobsQuery {
    /// Those that were started for one command; all without it.
    #[param(pattern = "^cmd_[0-9a-f]{32}$")]
    pub command_id: Option<String>,
}

/// A runner that is started, or was: where it is found, and how its process does. How the command does is said by the
/// command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerJobView {
    #[schema(example = "rjb_01920000000070008000000000000000")]
    pub runner_job_id: String,
    pub run_id: Option<String>,
    /// What it was started for; none for a warm runner, which was there before.
    pub command_id: Option<String>,
    #[schema(example = "att_01920000000070008000000000000000")]
    pub attempt_id: String,
    #[schema(example = "guildhall-runner-000000000000")]
    pub job_name: String,
    /// Where the name is looked up; none for a process of the server's own machine.
    pub namespace: Option<String>,
    /// asked, cold (the run had waited) or warm.
    #[schema(example = "asked")]
    pub kind: String,
    #[schema(example = "local")]
    pub launcher: String,
    pub backend_profile: String,
    /// pending, launching, running, succeeded, failed or lost.
    #[schema(example = "pending")]
    pub phase: String,
    /// The runner that registered from it.
    pub runner_id: Option<String>,
    pub log: JobLogView,
    /// How it ended; none while it has not.
    pub terminal: Option<JobTerminalView>,
    /// Where its command stands.
    pub command_status: Option<String>,
    /// Where to look again.
    pub poll: String,
    pub created_at: Timestamp,
    pub launched_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Where the log is, for those who run the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobLogView {
    /// file, below the launcher's folder of the place.
    #[schema(example = "file")]
    pub kind: String,
    /// None until a place has taken the job.
    pub identity: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobTerminalView {
    /// succeeded, failed or lost.
    pub status: String,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
}

/// The newest first, at most 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerJobsView {
    pub runner_jobs: Vec<RunnerJobView>,
}
