//! Tests of the proxy over real sockets.

mod attacks;
mod caps;
mod fixture;
mod logs;
mod other_hosts;
mod provider;
