//! Integration tests of the backends: real agents, a fake model.
#![expect(clippy::expect_used, reason = "clippy allows it in test functions only, not in their helpers")]

mod acp;
mod acp_protocol;
mod claude;
mod codex;
mod codex_protocol;
mod codex_questions;
mod gemini;
mod git_over_ssh;
mod sample_repositories;
mod script;
mod setup;
mod suite;
