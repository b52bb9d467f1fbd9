//! Process infrastructure: named and joined tasks, shutdown, a clock, telemetry and reconcilers.
//!
//! This crate contains no concepts of the product.

pub mod clock;
pub mod reconcile;
pub mod tasks;
pub mod telemetry;

pub use clock::Clock;
pub use tasks::Tasks;
