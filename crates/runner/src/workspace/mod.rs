//! The directory that an agent works in, prepared from the run's workspace reference.
//!
//! An empty workspace or a checkout is created once per session and reused by its next run. A directory or repository
//! of this machine is used only below a root that the operator allowed (`--workspace-root`) and if the tenant of the run
//! may use it. A repository of another machine is fetched by HTTPS or SSH from a host that the operator allowed
//! (`--git-host`). The server compares paths only; here both are checked after resolving symbolic links.

mod allowed_path;
mod baseline;
mod changes;
mod copy;
mod error;
mod git;
mod git_command;
mod mirror;
#[cfg(test)]
mod tests;
mod uploaded_bundle;

use std::path::{Path, PathBuf};

use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::policy::{GitRevision, GitSource, WorkspaceRef};
use guildhall_egress::Connector;
use serde_json::Value;
use tokio::fs;

pub use baseline::Baseline;
pub(crate) use changes::{Snapshot, change_events};
pub use error::WorkspaceError;
pub(crate) use uploaded_bundle::download as download_bundle;

use crate::model_proxy::HostPattern;
use crate::sandbox::Containment;

/// Where workspaces are created, and which directories of this machine they may come from.
#[derive(Debug, Clone)]
pub struct WorkspaceDirs {
    /// Parent of the created workspaces, one per session.
    pub managed: PathBuf,
    /// Parent of their baselines, which agents cannot access.
    pub baselines: PathBuf,
    /// A run may name paths below these.
    pub allowed_roots: Vec<PathBuf>,
    /// The patterns of the paths that the tenant of the run may use; `None` if the server did not name any.
    pub tenant_patterns: Option<Vec<String>>,
    /// The sandbox of git: a repository is untrusted data.
    pub containment: Containment,
    /// Repositories that are not on this machine.
    pub remotes: GitRemotes,
    /// Where uploaded bundles are kept until the workspace is created.
    pub bundles: PathBuf,
    pub limits: WorkspaceLimits,
}

/// How large a workspace may be.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceLimits {
    pub bytes: u64,
    pub files: u64,
}

impl WorkspaceDirs {
    fn bundle_file(&self, session: &str) -> PathBuf {
        self.bundles.join(format!("{session}.bundle"))
    }
}

/// Which repositories of other machines a run may use, and where fetched objects are kept.
#[derive(Debug, Clone)]
pub struct GitRemotes {
    /// Hosts that the operator allows.
    pub hosts: Vec<HostPattern>,
    /// The folders of the credentials.
    pub credentials: Vec<PathBuf>,
    /// The SSH keys of the hosts.
    pub known_hosts: Option<PathBuf>,
    /// The tenant of the run.
    pub tenant: TenantId,
    pub connector: Connector,
    /// Parent of the tenant's mirrors.
    pub mirrors: PathBuf,
    /// Bytes of one fetch.
    pub max_bytes: usize,
}

/// Prepares the workspace of a session.
pub async fn prepare(
    dirs: &WorkspaceDirs,
    session: &str,
    reference: &Value,
) -> Result<PathBuf, WorkspaceError> {
    let unsupported = || {
        let kind = reference.get("kind").and_then(Value::as_str).unwrap_or_default();
        let is_plain = kind.len() <= 20 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        WorkspaceError::UnsupportedKind(if is_plain { kind } else { "unknown" }.to_owned())
    };
    // Validated again here: the server may be of another version, or not the one that we trust.
    let reference: WorkspaceRef = serde_json::from_value(reference.clone()).map_err(|_| unsupported())?;
    let dir = dirs.managed.join(session);
    match reference {
        WorkspaceRef::Empty => {
            fs::create_dir_all(&dir).await?;
            Ok(dir)
        }
        WorkspaceRef::Directory { path } => allowed_path::resolve_dir(dirs, &path),
        WorkspaceRef::Copy { path } => {
            let source = allowed_path::resolve_working_tree(dirs, &path)?;
            let baseline = dirs.baselines.join(session);
            create_once(&dir, async |new| {
                git::copy_working_tree(&dirs.containment, &source, new, &baseline).await
            })
            .await
        }
        WorkspaceRef::Git { source, revision: at } => {
            let baseline = dirs.baselines.join(session);
            create_once(&dir, async |new| {
                clone_source(dirs, &source, &at, new).await?;
                let baseline = Baseline::create(&dirs.containment, &baseline, None).await?;
                baseline.record(new, None).await
            })
            .await
        }
        WorkspaceRef::Bundle(bundle) => {
            let path =
                create_once(&dir, async |new| uploaded_bundle::unpack(dirs, session, &bundle, new).await)
                    .await;
            if path.is_err() {
                remove_dir_if_exists(&dirs.baselines.join(session)).await?;
            }
            match fs::remove_file(dirs.bundle_file(session)).await {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                Ok(()) | Err(_) => path,
            }
        }
        WorkspaceRef::GitBundle { source, revision: at, bundles } => {
            create_once(&dir, async |new| {
                let checkout = new.with_extension("checkout");
                remove_dir_if_exists(&checkout).await?;
                let copy = async {
                    clone_source(dirs, &source, &at, &checkout).await?;
                    fs::create_dir_all(new).await?;
                    copy::copy_bundles(&checkout, &bundles, new).await
                };
                let copied = copy.await;
                remove_dir_if_exists(&checkout).await?;
                copied
            })
            .await
        }
    }
}

/// Clones a repository of this machine, or a mirror of another one after fetching what is missing.
async fn clone_source(
    dirs: &WorkspaceDirs,
    source: &GitSource,
    at: &GitRevision,
    into: &Path,
) -> Result<(), WorkspaceError> {
    match source {
        GitSource::Path(path) => {
            let source = allowed_path::resolve_repository(dirs, path)?;
            git::clone_at(&dirs.containment, &source, at, into).await
        }
        GitSource::Url(url) => {
            let mirror = mirror::fetch(dirs, url, at).await?;
            git::clone_at(&dirs.containment, mirror.path(), at, into).await
        }
    }
}

/// Creates a directory atomically: under a temporary name first, then by renaming. An existing directory is left as it
/// is, since an earlier run of the session created it.
async fn create_once(
    dir: &Path,
    create: impl AsyncFnOnce(&Path) -> Result<(), WorkspaceError>,
) -> Result<PathBuf, WorkspaceError> {
    if fs::try_exists(dir).await? {
        return Ok(dir.to_owned());
    }
    let new = dir.with_extension("new");
    remove_dir_if_exists(&new).await?;
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).await?;
    }
    match create(&new).await {
        Ok(()) => {
            fs::rename(&new, dir).await?;
            Ok(dir.to_owned())
        }
        Err(error) => {
            remove_dir_if_exists(&new).await?;
            Err(error)
        }
    }
}

/// Removes a directory, such as an incomplete one that a killed runner left.
async fn remove_dir_if_exists(dir: &Path) -> Result<(), WorkspaceError> {
    match fs::remove_dir_all(dir).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
