use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Asks the kernel for a loopback port that is free now. Someone else may take it before its user does;
/// whoever starts an engine tries again with another.
pub(crate) fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
