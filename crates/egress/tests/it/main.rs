//! Tests of outbound calls over real sockets.

#![allow(clippy::expect_used, reason = "a failing helper fails its test")]

mod addresses;
mod connect;
mod environment;
mod logs;
mod names;
mod redirects;
mod responses;
mod support;
mod tls;
