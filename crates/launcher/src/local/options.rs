//! Options of the local launcher.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::containment::Containment;
use super::limits::Limits;
use crate::secrets::FileStore;

/// Options of [`LocalLauncher`](super::LocalLauncher).
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The runner program.
    pub runner: PathBuf,
    /// The directory for all files of the launcher.
    pub state: PathBuf,
    /// The operator's profiles: one directory per profile.
    pub profiles: Option<PathBuf>,
    /// Profiles that were set over the API; they take precedence over the operator's directories.
    pub secrets: Option<FileStore>,
    pub containment: Containment,
    /// Directories below which runs may name directories and repositories. Absolute.
    pub workspace_roots: Vec<PathBuf>,
    pub git: GitOptions,
    /// The URL under which runners reach the server.
    pub url: String,
    /// A runner releases its run and ends after this time without a command.
    pub idle_timeout: Duration,
    /// A runner without a run ends after this time, and is replaced.
    pub claim_timeout: Duration,
    pub limits: Limits,
    /// A log is rotated when it exceeds this size.
    pub log_bytes: u64,
    pub lifetime: Lifetime,
    /// Environment variables of the runner.
    pub environment: Vec<(String, OsString)>,
}

/// Repositories of other machines that runners may fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitOptions {
    /// Patterns of their hosts.
    pub hosts: Vec<String>,
    /// Folders with a credential for each tenant and host. Absolute.
    pub credentials: Vec<PathBuf>,
    /// File with the SSH keys of the hosts. Absolute.
    pub known_hosts: Option<PathBuf>,
    /// Private networks that the hosts may be in.
    pub networks: Vec<String>,
}

impl GitOptions {
    /// Returns the command-line arguments for the runner.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let hosts = self.hosts.iter().flat_map(|host| ["--git-host".into(), host.into()]);
        let networks = self.networks.iter().flat_map(|network| ["--git-network".into(), network.into()]);
        let credentials = self.credentials.iter().map(|path| ("--git-credentials", path));
        let known_hosts = self.known_hosts.iter().map(|path| ("--git-known-hosts", path));
        let paths = credentials.chain(known_hosts);
        let paths = paths.flat_map(|(option, path)| [option.into(), path.clone().into_os_string()]);
        hosts.chain(networks).chain(paths).collect()
    }
}

/// What happens to runners when the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// They keep running: a run outlives the server process.
    Independent,
    /// They end with the server, even if it is killed: for development.
    WithServer,
}
