//! Free ports.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Returns a free loopback port. Another process may take it before it is used; callers retry with another one.
pub(crate) fn find_free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
