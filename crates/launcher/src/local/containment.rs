//! The sandbox of agents on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// A sandbox starts within milliseconds, even on a busy machine within seconds. The runner itself gives up earlier: a
/// program that takes longer is not a runner.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether runners start their agents in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    Sandboxed(SandboxOptions),
    /// The operator allows agents without a sandbox.
    Uncontained,
}

/// Options of the sandbox, which runners enforce.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxOptions {
    /// Paths that no workspace may contain, besides the launcher's own directories. Absolute: runners have another
    /// working directory than the server.
    pub protected_paths: Vec<PathBuf>,
    /// Directories of tools that agents may read and execute, besides those on the search path.
    pub tools: Vec<PathBuf>,
    /// Hosts that runs with network `allow-list` reach.
    pub allowed_hosts: Vec<String>,
    /// Numbers, by the name of their option.
    pub numbers: Vec<(&'static str, u64)>,
}

impl Containment {
    /// Returns the command-line arguments for the runner. `launcher_dirs` are protected as well.
    pub(super) fn arguments<'a>(&self, launcher_dirs: impl IntoIterator<Item = &'a Path>) -> Vec<OsString> {
        let options = match self {
            Self::Sandboxed(options) => options,
            Self::Uncontained => return vec!["--uncontained".into()],
        };
        let paths =
            launcher_dirs.into_iter().map(Path::to_owned).chain(options.protected_paths.iter().cloned());
        let paths = paths.flat_map(|path| [OsString::from("--protected-path"), path.into_os_string()]);
        let tools = options.tools.iter().flat_map(|path| [OsString::from("--tool"), path.clone().into()]);
        let hosts = options.allowed_hosts.iter().flat_map(|host| ["--allowed-host".into(), host.into()]);
        let numbers = options.numbers.iter();
        let numbers = numbers.flat_map(|(name, number)| [(*name).into(), number.to_string().into()]);
        paths.chain(tools).chain(hosts).chain(numbers).collect()
    }
}

/// Starts a sandbox once with the runner's program. Returns why that fails.
pub async fn probe_sandbox(runner: &Path) -> Result<(), String> {
    let runner_text = runner.display();
    let output = Command::new(runner).arg("sandbox-probe").stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(PROBE_TIMEOUT, output).await.map_err(|_| {
        format!("`{runner_text} sandbox-probe` did not end within {} s", PROBE_TIMEOUT.as_secs())
    })?;
    let output = output.map_err(|error| format!("cannot start {runner_text}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(text.strip_prefix("error: ").map(str::to_owned).unwrap_or(text))
}
