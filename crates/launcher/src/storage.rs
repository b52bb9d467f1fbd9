//! Storage of sessions, where a backend keeps its threads: who owns it removes it.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use guildhall_domain::ids::SessionId;

/// Why the storage of a session could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove {}", path.display())]
pub struct StorageError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// Removes the storage of sessions. A folder on this machine today; a claim of Kubernetes behind the same trait.
pub trait SessionStorage: fmt::Debug + Send + Sync {
    /// Removes what a session's backend kept; never its workspace. That nothing is there is no error.
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StorageError>>;
}

/// The state folder of runners on this machine: `sessions/<id>` in it is a session's storage, `workspaces/<id>` beside it
/// is not touched.
#[derive(Debug, Clone)]
pub struct StateFolder {
    state: PathBuf,
}

impl StateFolder {
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }
}

impl SessionStorage for StateFolder {
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StorageError>> {
        let path = self.state.join("sessions").join(session.to_string());
        Box::pin(async move {
            // What is a link is removed itself, and nothing that it points to.
            let removed = match tokio::fs::symlink_metadata(&path).await {
                Ok(found) if found.is_dir() => tokio::fs::remove_dir_all(&path).await,
                Ok(_) => tokio::fs::remove_file(&path).await,
                Err(error) => Err(error),
            };
            match removed {
                Err(source) if source.kind() != ErrorKind::NotFound => Err(StorageError { path, source }),
                Ok(()) | Err(_) => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    // covers: R21
    #[tokio::test]
    async fn the_storage_goes_and_the_workspace_and_other_sessions_stay() {
        let state = tempfile::tempdir().expect("a folder");
        let (gone, linked, stays) = (SessionId::generate(), SessionId::generate(), SessionId::generate());
        let at = |kind: &str, id: SessionId| state.path().join(kind).join(id.to_string());
        for folder in [at("sessions", gone), at("sessions", stays), at("workspaces", gone)] {
            fs::create_dir_all(folder.join("codex")).expect("a folder");
        }
        symlink(at("workspaces", gone), at("sessions", linked)).expect("a link");
        let storage = StateFolder::new(state.path());
        for id in [gone, gone, linked, SessionId::generate()] {
            storage.remove(id).await.expect("removed, or nothing there");
        }
        assert!(!at("sessions", gone).exists() && fs::symlink_metadata(at("sessions", linked)).is_err());
        assert!(at("sessions", stays).exists() && at("workspaces", gone).join("codex").exists());
    }
}
