//! Steps on a run under the lock of its journal head. Every group may call them.

pub(crate) mod approval_notices;
mod approval_states;
pub mod held_runs;
pub(crate) mod insert;
pub(crate) mod launcher_files;
pub(crate) mod locked_run;
pub(crate) mod lost_runner;
pub(crate) mod metrics;
pub mod offers;
pub(crate) mod runner_queues;
pub mod timeouts;

pub(crate) use locked_run::LockedRun;
