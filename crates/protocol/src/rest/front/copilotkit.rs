//! The wire of CopilotKit's runtime, as far as its front ends need it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query parameters of CopilotKit's routes.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CopilotKitQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
}

/// What the server offers to CopilotKit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopilotKitInfo {
    /// The version of this server.
    pub version: String,
    /// The agents that take turns, by name. `default` is the default agent of the tenant.
    pub agents: BTreeMap<String, CopilotKitAgent>,
    /// Always `sse`.
    #[schema(example = "sse")]
    pub mode: String,
    /// Always false.
    pub audio_file_transcription_enabled: bool,
    pub thread_endpoints: CopilotKitThreadEndpoints,
    /// Always true: front ends send nothing to CopilotKit.
    pub telemetry_disabled: bool,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopilotKitAgent {
    pub name: String,
    pub description: String,
    /// Always `HttpAgent`.
    #[schema(example = "HttpAgent")]
    pub class_name: String,
}

/// Which routes there are for lists of threads. None: `connect` reads one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopilotKitThreadEndpoints {
    pub list: bool,
    pub inspect: bool,
    pub mutations: bool,
    pub realtime_metadata: bool,
}

/// The run to stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopCopilotKitRun {
    /// The client's id of one run. By default all.
    #[schema(max_length = 128)]
    pub run_id: Option<String>,
}
