//! Calls over real sockets: what must arrive, and what must never leave.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod addresses;
mod answers;
mod environment;
mod logs;
mod names;
mod redirects;
mod support;
mod tls;
