//! Finds PostgreSQL and NATS on this machine and runs them as supervised child processes.
//!
//! `guildhall dev`, the tests and `cargo xtask` all start their engines here, in the same way: on free loopback
//! ports, with generated passwords and data in one state directory. The engines end with the process that started
//! them, and the next start kills what a killed process left running.
//!
//! Linux only: the guarantees depend on `/proc`, `setpriv` and the kernel's parent-death signal.
//!
//! This crate does not know what the engines are used for: no tables, no subjects, no server.

mod account;
mod error;
pub mod inspect;
mod leftovers;
mod nats;
mod packages;
mod port;
mod postgres;
mod process;
mod programs;
mod secret_file;
mod state_dir;

pub use error::EngineError;
pub use nats::Nats;
pub use packages::Package;
pub use postgres::Postgres;
pub use process::RestartPolicy;
pub use state_dir::StateDir;
