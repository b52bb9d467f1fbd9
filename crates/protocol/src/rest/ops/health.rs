//! What the probes answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process runs and answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveView {
    #[schema(example = "live")]
    pub status: String,
    #[schema(example = "guildhall")]
    pub service_id: String,
    pub build: BuildView,
}

/// Which build this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildView {
    #[schema(example = "0.1.0")]
    pub version: String,
    /// The commit it was built from; `unknown` outside a checkout.
    pub commit: String,
}

/// Whether a replica should get traffic, and why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessView {
    /// ready, degraded (serves, and something wants attention) or unready.
    #[schema(example = "ready")]
    pub status: String,
    /// Every cause for a status below ready, as a sentence.
    pub reasons: Vec<String>,
    #[schema(example = "guildhall")]
    pub service_id: String,
    pub build: BuildView,
    /// The replica that answered.
    pub replica: String,
    pub started_at: Timestamp,
    pub postgres: EngineView,
    pub migrations: MigrationsView,
    pub nats: EngineView,
    /// The secrets that this server was given: whether each is set, never its value.
    pub secrets: Vec<SecretView>,
    pub housekeeping: Vec<HousekeepingView>,
    /// The kind of failure, when unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// The first reason, when unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Finds this request in logs and traces, when unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// What was last seen of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineView {
    pub reachable: bool,
    /// When it was last looked at.
    pub observed_at: Option<Timestamp>,
}

/// How far the database's schema is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationsView {
    pub ready: bool,
    /// The highest migration that this server knows.
    pub known: i64,
}

/// A secret setting, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    #[schema(example = "postgres.url")]
    pub name: String,
    pub set: bool,
    /// Always `[redacted]`.
    #[schema(example = "[redacted]")]
    pub value: String,
}

/// A background task that keeps things in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HousekeepingView {
    pub name: String,
    pub every_ms: u64,
    pub last_run_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub next_run_at: Timestamp,
    pub last_error: Option<String>,
    pub late: bool,
}

/// The whole installation, read from PostgreSQL for this answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthView {
    /// ready, degraded or unready: the readiness of the replica that answered.
    #[schema(example = "ready")]
    pub status: String,
    #[schema(example = "guildhall")]
    pub service_id: String,
    pub build: BuildView,
    /// The replica that answered.
    pub replica: String,
    /// Every server process on this database that was heard of lately.
    pub replicas: Vec<ReplicaView>,
}

/// One server process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaView {
    pub id: String,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}
