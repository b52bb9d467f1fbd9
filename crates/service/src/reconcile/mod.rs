//! Work that runs on a signal and on a timer, and may be repeated at will.

mod audit_seal;
mod idempotency_keys;
mod rate_windows;
mod replicas;
mod runner_jobs;
mod runs;
mod session_storage;

pub use audit_seal::{AuditSeal, AuditSealError};
pub use idempotency_keys::{FORGET_EVERY, IdempotencyKeys};
pub use rate_windows::RateWindows;
pub use replicas::Replicas;
pub use runner_jobs::{Pool, TendRunnerJobs};
pub use runs::{RunParts, TendRuns};
pub use session_storage::CollectSessionStorage;
