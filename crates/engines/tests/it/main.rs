//! The engines as real child processes.

#![allow(clippy::expect_used, reason = "a test says what it relied on")]

mod supervision;
