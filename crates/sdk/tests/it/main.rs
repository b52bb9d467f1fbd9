//! Tests of the client against scripted servers.

#![allow(clippy::expect_used, reason = "a failing helper fails its test")]

mod follow;
mod pki;
mod responses;
mod run_follow;
mod runner;
mod socket;
mod support;
