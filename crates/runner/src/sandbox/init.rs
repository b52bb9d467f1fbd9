//! The last stage, inside of the sandbox: sets the limits and the system call filter, and starts the agent.
//!
//! With a model proxy it stays the agent's parent and forwards connections. It is a process of the agent's user, so the
//! agent can stop it, and gains nothing by that.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use nix::sys::prctl;

use super::spec::SandboxSpec;
use super::{OWN_DIR, PROXY_PORT, syscalls};
use crate::exit_code::exit_code;
use crate::forwarder;

/// The argument that selects this stage.
pub const STAGE: &str = "sandbox-init";

/// Runs this stage with its arguments: the sandbox as JSON, `--`, and the command of the agent.
pub fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    let mut arguments = arguments.into_iter();
    let spec = arguments.next().context("the sandbox is missing")?;
    let spec: SandboxSpec = serde_json::from_slice(spec.as_encoded_bytes()).context("invalid sandbox")?;
    let program = arguments.nth(1).context("the program is missing")?;
    prctl::set_no_new_privs()?;
    spec.limits.apply().context("cannot set the limits")?;
    syscalls::apply(spec.can_nest).context("cannot set the system call filter")?;
    let mut command = Command::new(program);
    command.args(arguments);
    if !spec.has_proxy {
        return Err(command.exec()).context("cannot start the program");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run_with_proxy(command))
}

async fn run_with_proxy(command: Command) -> Result<ExitCode> {
    // Listens before the agent starts.
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT)).await?;
    let socket: PathBuf = Path::new(OWN_DIR).join("model.sock");
    let mut agent = tokio::process::Command::from(command).spawn().context("cannot start the program")?;
    tokio::select! {
        status = agent.wait() => Ok(exit_code(status?)),
        () = forwarder::forward(listener, socket) => anyhow::bail!("the forwarder has ended"),
    }
}
