//! The sandbox of agents: an allow-list of files, no network but the model proxy, and limits.
//!
//! An agent runs under bubblewrap (`bwrap`) in its own user, mount, PID, IPC, UTS, cgroup and network namespaces,
//! without capabilities and with a system call filter. It sees the system's programs and the tools of the operator
//! read-only, its workspace, and a private home. Three stages start it, all in this program:
//!
//! 1. The runner describes the sandbox in a [`SandboxSpec`] and starts the stage [`enter`].
//! 2. [`enter`] joins the cgroups, and changes to an unprivileged user if the runner is root. It replaces itself by
//!    `bwrap`.
//! 3. Inside, [`init`] sets the limits and the filter, forwards connections to the model proxy, and starts the agent.

mod agent_dir;
mod bwrap;
mod cgroup;
mod command;
pub mod enter;
pub mod init;
mod limits;
mod probe;
mod program;
mod spec;
mod syscalls;
mod tools;
mod user;
mod watchdog;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use agent_dir::{AgentDir, create_dir};
pub use cgroup::Cgroups;
pub(crate) use command::find_system_program;
pub use limits::SandboxLimits;
pub use probe::{PROBE_STAGE, ProbeError, find_bwrap, probe};
pub use program::{program_mounts, resolve_node_link};
pub use spec::{Mount, MountAccess, SandboxSpec};
pub use tools::{ToolMounts, ToolVariables, find_tools};
pub use user::{AgentUser, UserError, give_to_agent};
pub use watchdog::{ExceededLimit, Watchdog};

/// The port on which the model proxy is reached inside a sandbox. Each sandbox has its own loopback interface.
pub const PROXY_PORT: u16 = 3117;

/// The folder of this program's own files inside a sandbox.
pub(crate) const OWN_DIR: &str = "/run/guildhall";

/// Whether agents run in a sandbox.
#[derive(Debug, Clone)]
pub enum Containment {
    Sandboxed(Arc<Sandbox>),
    /// Agents can reach everything that this process can, credentials included.
    Uncontained,
}

/// What is the same for all agents of a runner.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// Path of the program `bwrap`.
    pub bwrap: PathBuf,
    /// Path of this program, which runs the stages.
    pub helper: PathBuf,
    pub tools: ToolMounts,
    pub limits: SandboxLimits,
    /// Paths that no sandbox may contain: the state of the runner, credentials, the configuration of the server.
    pub protected: Vec<PathBuf>,
}

/// What one process may access.
#[derive(Debug, Clone, Default)]
pub struct ProcessAccess {
    /// Directories that it may write to.
    pub writable: Vec<PathBuf>,
    /// Files and directories that it may read.
    pub readable: Vec<PathBuf>,
    /// Directories that it sees at other paths.
    pub mounts: Vec<Mount>,
    /// The socket of the model proxy.
    pub proxy: Option<PathBuf>,
    /// Whether it may create user namespaces, for a sandbox of its own.
    pub can_nest: bool,
    /// The user that it runs as; `None` is the user of the runner.
    pub user: Option<AgentUser>,
}

impl ProcessAccess {
    /// Returns the directories whose size the process can change.
    pub(crate) fn writable_dirs(&self) -> Vec<PathBuf> {
        let mounts = self.mounts.iter().filter(|mount| mount.access == MountAccess::Write);
        self.writable.iter().chain(mounts.map(|mount| &mount.source)).cloned().collect()
    }
}

impl Sandbox {
    /// Refuses access to a directory that contains a protected path.
    pub(crate) fn check(&self, access: &ProcessAccess) -> io::Result<()> {
        let protected: Vec<PathBuf> =
            self.protected.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mounted = access.mounts.iter().map(|mount| &mount.source);
        for dir in access.writable.iter().chain(&access.readable).chain(mounted) {
            let dir = dir.canonicalize()?;
            if protected.iter().any(|path| path.starts_with(&dir)) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "a directory of the agent contains a protected path: keep the runner's state and the \
                     credentials outside of the workspace",
                ));
            }
        }
        Ok(())
    }

    /// Describes the sandbox of one process.
    #[must_use]
    pub fn spec(&self, access: &ProcessAccess, dir: &Path, cgroups: &Cgroups) -> SandboxSpec {
        let mount = |path: &PathBuf, access| Mount { source: path.clone(), target: path.clone(), access };
        let tools = self.tools.readable.iter().map(|path| mount(path, MountAccess::Read));
        let readable = access.readable.iter().map(|path| mount(path, MountAccess::Read));
        let writable = access.writable.iter().map(|path| mount(path, MountAccess::Write));
        let helper = Mount {
            source: self.helper.clone(),
            target: Path::new(OWN_DIR).join("runner"),
            access: MountAccess::Read,
        };
        let proxy = access.proxy.iter().map(|socket| Mount {
            source: socket.clone(),
            target: Path::new(OWN_DIR).join("model.sock"),
            access: MountAccess::Write,
        });
        SandboxSpec {
            bwrap: self.bwrap.clone(),
            mounts: tools
                .chain(readable)
                .chain(writable)
                .chain([helper])
                .chain(access.mounts.iter().cloned())
                .chain(proxy)
                .collect(),
            masked: self.tools.masked.clone(),
            dir: dir.to_owned(),
            has_proxy: access.proxy.is_some(),
            can_nest: access.can_nest,
            user: access.user,
            cgroups: cgroups.dirs().to_vec(),
            limits: self.limits,
        }
    }
}
