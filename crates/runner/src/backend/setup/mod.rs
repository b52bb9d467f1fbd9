//! The setup of a project: a command that prepares a workspace once, before its agent starts.
//!
//! It runs in the sandbox of the agent, without the provider's credential, and reaches only the hosts that both the
//! project and the operator allow. What it downloads goes into a cache. Workspaces with the same setup and the same
//! cache files share it: the next setup starts from a copy, and agents can only read it.

mod caches;
mod mount;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::Network;
use guildhall_runtime::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::time::timeout;

pub use mount::CacheMount;

use super::model::AgentModelProxy;
use super::shell;
use super::tool_output::ToolOutputBuffer;
use super::{BackendConfig, BackendEvent, BackendFailure, EventSink};
use crate::model_proxy::{HostPattern, HostPatternError};
use crate::sandbox::{AgentDir, Containment, MountAccess};
use caches::SetupCaches;

/// Bytes of one cache file. Lock files of large projects have a few megabytes.
const MAX_CACHE_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// The name of the tool in the events of the run.
const TOOL: &str = "setup";

/// What a project declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSetup {
    pub tenant: String,
    pub project: String,
    pub command: String,
    /// Patterns of hosts.
    pub allowed_hosts: Vec<String>,
    /// Files of the workspace whose content is a part of the cache key.
    pub cache_files: Vec<PathBuf>,
}

/// Why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("the setup of the project names an invalid host: {0}")]
    Host(#[from] HostPatternError),
    #[error(
        "the setup of the project needs the host {0}, which the operator does not allow: add it to sandbox.allowed_hosts"
    )]
    HostNotAllowed(String),
    #[error("cannot read the cache file {} of the project's setup: {error}", path.display())]
    CacheFile { path: PathBuf, error: io::Error },
}

/// A setup that has been done in a workspace.
#[derive(Debug, Serialize, Deserialize)]
struct SetupRecord {
    /// Hash of the setup as the project declared it.
    setup: String,
    cache_key: String,
}

/// The setup of one workspace.
#[derive(Debug)]
pub struct WorkspaceSetup {
    command: String,
    /// The configuration of the setup's process.
    config: BackendConfig,
    record: SetupRecord,
    record_path: PathBuf,
    caches: SetupCaches,
    is_done: bool,
}

impl WorkspaceSetup {
    /// Reads whether the setup has been done. `state` is the runner's directory, and `agent` the configuration of the
    /// agent, whose `allowed_hosts` are those of the operator.
    pub fn open(
        setup: ProjectSetup,
        session: &str,
        state: &Path,
        agent: &BackendConfig,
    ) -> Result<Self, SetupError> {
        let mut hosts = Vec::new();
        for host in &setup.allowed_hosts {
            let pattern: HostPattern = host.parse()?;
            if !agent.allowed_hosts.iter().any(|allowed| allowed.covers(&pattern)) {
                return Err(SetupError::HostNotAllowed(host.clone()));
            }
            hosts.push(pattern);
        }
        let record_path = state.join("setups").join(format!("{session}.json"));
        let setup_hash = hash_setup(&setup);
        let caches = SetupCaches::new(state.join("setup-caches"));
        // A cache that was deleted is filled again.
        let has_cache = |record: &SetupRecord| match agent.containment {
            Containment::Sandboxed(_) => caches.path(&record.cache_key).is_dir(),
            Containment::Uncontained => true,
        };
        let done = read_record(&record_path).filter(|record| record.setup == setup_hash).filter(has_cache);
        let is_done = done.is_some();
        let record = match done {
            Some(record) => record,
            None => {
                let cache_key = cache_key(&setup_hash, &agent.workspace, &setup.cache_files)?;
                SetupRecord { setup: setup_hash, cache_key }
            }
        };
        let network = if hosts.is_empty() { Network::Disabled } else { Network::AllowList };
        let config = BackendConfig {
            network,
            allowed_hosts: hosts,
            secrets: Vec::new(),
            cache: None,
            ..agent.clone()
        };
        Ok(Self { command: setup.command, config, record, record_path, caches, is_done })
    }

    /// Returns the cache for the agent, which exists once the setup is done.
    #[must_use]
    pub fn agent_cache(&self) -> CacheMount {
        let dir = self.caches.path(&self.record.cache_key);
        CacheMount { dir, access: MountAccess::Read, base: None }
    }

    /// Runs the command, unless it has been done in this workspace.
    pub async fn run(&mut self, sink: &EventSink) -> Result<(), BackendFailure> {
        if self.is_done {
            return self.caches.touch(&self.record.cache_key).map_err(infra_failed);
        }
        let (caches, now) = (self.caches.clone(), SystemTime::from(Clock::system().now()));
        let cleaned = tokio::task::spawn_blocking(move || caches.delete_unused(now)).await;
        if let Ok(Err(error)) = cleaned {
            tracing::warn!("cannot delete unused caches: {error}");
        }
        let filled = self.caches.create_unfinished(self.config.user).map_err(infra_failed)?;
        self.run_command(&filled, sink).await?;
        self.finish(filled).map_err(infra_failed)
    }

    /// Publishes the cache and remembers that the setup is done.
    fn finish(&mut self, filled: TempDir) -> io::Result<()> {
        match self.config.containment {
            Containment::Sandboxed(_) => {
                self.caches.publish(filled, &self.record.cache_key)?;
                self.caches.touch(&self.record.cache_key)?;
            }
            // The command used the caches of the runner's account.
            Containment::Uncontained => filled.close()?,
        }
        if let Some(dir) = self.record_path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&self.record_path, serde_json::to_string(&self.record)?)?;
        self.is_done = true;
        Ok(())
    }

    /// Runs the command and reports it as a tool call.
    async fn run_command(&self, filled: &TempDir, sink: &EventSink) -> Result<(), BackendFailure> {
        let shared = self.caches.path(&self.record.cache_key);
        let base = shared.is_dir().then_some(shared);
        let command = match base {
            Some(_) => format!(
                "cp -a --reflink=auto {}/. \"$GUILDHALL_CACHE\" || exit\n{}",
                mount::BASE_DIR,
                self.command
            ),
            None => self.command.clone(),
        };
        let cache = CacheMount { dir: filled.path().to_owned(), access: MountAccess::Write, base };
        let config = BackendConfig { cache: Some(cache), ..self.config.clone() };
        let (call, tool, shown) = (TOOL.to_owned(), TOOL.to_owned(), Some(self.command.clone()));
        sink.report(BackendEvent::ToolStarted {
            call: call.clone(),
            tool: tool.clone(),
            command: shown.clone(),
            arguments: None,
        })
        .await;
        let result = run_shell(&config, &command, sink).await;
        let status = if matches!(result, Ok(Some(0))) { "completed" } else { "failed" }.to_owned();
        let exit_code = result.as_ref().ok().copied().flatten().map(i64::from);
        let (command, arguments) = (shown, None);
        sink.report(BackendEvent::ToolFinished { call, tool, status, exit_code, command, arguments }).await;
        match result? {
            Some(0) => Ok(()),
            Some(code) => Err(failed(format!("the setup of the project ended with exit code {code}"))),
            None => Err(failed("the setup of the project was killed".to_owned())),
        }
    }
}

/// Runs a command and returns its exit code; `None` if it was killed.
async fn run_shell(
    config: &BackendConfig,
    command: &str,
    sink: &EventSink,
) -> Result<Option<i32>, BackendFailure> {
    let mut proxy = AgentModelProxy::default();
    let endpoint = proxy.endpoint(config, None).await?;
    let mut child = shell::start(config, &endpoint, command).map_err(infra_failed)?;
    let mut output = ToolOutputBuffer::default();
    let limit = config.turn_timeout;
    let read = timeout(limit, shell::report_output(&mut child, &mut output, sink, TOOL));
    let read = tokio::select! {
        read = read => read,
        failure = proxy.exceeded() => return Err(failure),
    };
    if let Some(rest) = output.finish(TOOL, None) {
        sink.report(rest).await;
    }
    if read.is_err() {
        let message = format!("the setup of the project took longer than {} s", limit.as_secs());
        return Err(failed(message));
    }
    if let Some(exceeded) = child.exceeded_limit() {
        let message = format!("the setup of the project was killed: {exceeded}");
        return Err(BackendFailure::new(FailureKind::BudgetExceeded, message));
    }
    Ok(child.exit_code())
}

fn failed(message: String) -> BackendFailure {
    BackendFailure::new(FailureKind::BackendFailed, message)
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn infra_failed(error: io::Error) -> BackendFailure {
    let message = format!("cannot prepare the setup of the project: {}", error.kind());
    BackendFailure::new(FailureKind::InfraFailed, message)
}

fn read_record(path: &Path) -> Option<SetupRecord> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Hashes parts unambiguously: each with its length.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash_setup(setup: &ProjectSetup) -> String {
    let hosts = setup.allowed_hosts.join("\n");
    let files: Vec<u8> = setup
        .cache_files
        .iter()
        .flat_map(|path| [path.as_os_str().as_encoded_bytes(), b"\0"].concat())
        .collect();
    let texts = [&setup.tenant, &setup.project, &setup.command, &hosts];
    hash(texts.into_iter().map(|text| text.as_bytes()).chain([files.as_slice()]))
}

/// Returns the key of a workspace's cache. A missing file counts, too: it may appear later.
fn cache_key(setup: &str, workspace: &Path, files: &[PathBuf]) -> Result<String, SetupError> {
    let read = |path: &PathBuf| -> Result<Vec<u8>, SetupError> {
        // The workspace is untrusted: its links are not followed.
        let text = AgentDir::open(workspace, None).and_then(|dir| dir.read(path, MAX_CACHE_FILE_BYTES));
        let text = text.map_err(|error| SetupError::CacheFile { path: path.clone(), error })?;
        Ok(text.map_or_else(|| b"missing".to_vec(), |text| [b"content ", text.as_bytes()].concat()))
    };
    let contents: Vec<Vec<u8>> = files.iter().map(read).collect::<Result<_, _>>()?;
    Ok(hash([setup.as_bytes()].into_iter().chain(contents.iter().map(Vec::as_slice))))
}
