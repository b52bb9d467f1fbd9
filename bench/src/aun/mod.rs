//! Servers that issue AIDs, and clients of their sockets.

mod clients;
mod gateway;

pub(crate) use clients::{LoggedInAid, connect_all, register_all};
pub(crate) use gateway::{AddressLimits, Gateway, Transport};
