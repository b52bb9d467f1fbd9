//! Finds PostgreSQL and NATS on this machine and runs them as supervised children.
//!
//! `guildhall dev`, the tests and `cargo xtask` all start their engines here, in the same way: on free loopback
//! ports, behind generated passwords, with data in one state folder. The engines die with the process that
//! started them, and whatever a killed process could leave behind is ended by the next start.
//!
//! Linux only: the guarantees rest on `/proc`, `setpriv` and the kernel's parent-death signal.
//!
//! This crate deliberately does not know what the engines are used for: no table, no subject, no server.

mod account;
mod error;
mod find;
mod home;
mod leftovers;
pub mod look;
mod nats;
mod port;
mod postgres;
mod process;
mod secret_file;

pub use error::EngineError;
pub use home::Home;
pub use nats::Nats;
pub use postgres::Postgres;
pub use process::Restart;
