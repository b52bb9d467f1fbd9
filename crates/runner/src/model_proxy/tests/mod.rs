//! Tests of the proxy over real sockets.

mod attacks;
mod caps;
mod fixture;
mod other_hosts;
mod provider;
