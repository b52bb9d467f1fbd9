//! What every process of Guildhall needs to run well: named and joined tasks, shutdown, a clock, telemetry,
//! and the frame in which reconcilers run.
//!
//! This crate deliberately knows nothing of Guildhall: no noun of the product stands here.

pub mod clock;
pub mod reconcile;
pub mod tasks;
pub mod telemetry;

pub use clock::Clock;
pub use tasks::Tasks;
