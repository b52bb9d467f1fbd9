//! Test support: real engines, a database and a NATS subject prefix for each test, engines that a test may kill, and a
//! fake model that drives real agents.
//!
//! This crate deliberately does not depend on the server; `crates/server/tests` starts whole servers.

#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "test setup panics with a message")]

mod agents;
mod aun;
mod database;
mod engines;
mod fake_model;
mod forwarder;
mod git_server;
mod history;
mod node;
mod postgres_url;
mod rounds;
mod s3_server;
pub mod schema;
mod sql;
mod ssh_server;
mod stopwatch;
mod task;
mod template;
mod tls_files;

pub use agents::{claude_program, codex_program, gemini_program, node_modules, python, qwen_program};
pub use aun::AunClient;
pub use database::TestDb;
pub use engines::{EngineUrls, PrivateEngines, nats_url, subject_prefix};
pub use fake_model::{BIG_OUTPUT_BYTES, FakeModel, ModelRequest};
pub use forwarder::{EarlierConnections, Forwarder};
pub use git_server::GitServer;
pub use history::{EntryPosition, History, HistoryViolation};
pub use node::{NodeProcess, NodeScript};
pub use rounds::Rounds;
pub use s3_server::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY, S3Server};
pub use sql::SqlConnection;
pub use ssh_server::SshServer;
pub use stopwatch::Stopwatch;
pub use task::spawn_task;
pub use tls_files::TlsFiles;
