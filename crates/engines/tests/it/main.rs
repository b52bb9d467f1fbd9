//! Tests with real child processes.

#![allow(clippy::expect_used, reason = "a failing helper fails its test")]

mod supervision;
