//! For tests alone: real engines, a database and a subject prefix for each test, engines to kill, a model to drive agents.
//!
//! Whole servers are built in `crates/server/tests`; this crate deliberately does not know them.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up must stop, saying why"
)]

mod agents;
mod database;
mod engines;
mod fake_model;
mod history;
mod node;
mod rounds;
mod sql;
mod template;

pub use agents::{codex, qwen};
pub use database::TestDb;
pub use engines::{Addresses, PrivateEngines, nats_url, subject_prefix};
pub use fake_model::{BIG_OUTPUT_BYTES, FakeModel, ModelRequest};
pub use history::{Fault, History, Sighting};
pub use node::{Node, Script};
pub use rounds::Rounds;
pub use sql::Sql;
