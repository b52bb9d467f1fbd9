//! The client against servers that misbehave on purpose.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod answers;
mod follow;
mod run_follow;
mod runner;
mod support;
