//! NATS: wake-ups, live fan-out and requests between replicas.
//!
//! NATS may lose messages at any time. A message is never a fact, only a hint that PostgreSQL has news.
//! No other crate depends on async-nats.
//!
//! This crate does not know the meaning of messages, and stores nothing.

mod client;
pub mod diagnostics;
mod options;

pub use client::{Bus, Subscription};
pub use options::{BusError, BusOptions};
