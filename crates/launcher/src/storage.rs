//! Session storage: the files in which a backend keeps its threads.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use guildhall_domain::ids::SessionId;

/// The storage of a session could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove {}", path.display())]
pub struct StorageError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// Removes the storage of sessions: a local directory, later also a Kubernetes volume claim.
pub trait SessionStorage: fmt::Debug + Send + Sync {
    /// Removes the storage of a session, never its workspace. Missing storage is not an error.
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StorageError>>;
}

/// Returns the folder with the storage of a session, in the state directory of its runners.
pub(crate) fn session_folder(state: &Path, session: SessionId) -> PathBuf {
    state.join("sessions").join(session.to_string())
}

/// The state directory of local runners: removes `sessions/<id>`, never `workspaces/<id>`.
#[derive(Debug, Clone)]
pub struct LocalSessionStorage {
    state: PathBuf,
}

impl LocalSessionStorage {
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }
}

impl SessionStorage for LocalSessionStorage {
    fn remove(&self, session: SessionId) -> BoxFuture<'_, Result<(), StorageError>> {
        let path = session_folder(&self.state, session);
        Box::pin(async move {
            // A symbolic link is removed itself, not its target.
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
    async fn only_the_storage_of_the_session_is_removed() {
        let state = tempfile::tempdir().expect("a folder");
        let (removed, linked, kept) = (SessionId::generate(), SessionId::generate(), SessionId::generate());
        let at = |kind: &str, id: SessionId| state.path().join(kind).join(id.to_string());
        for folder in [at("sessions", removed), at("sessions", kept), at("workspaces", removed)] {
            fs::create_dir_all(folder.join("codex")).expect("a folder");
        }
        symlink(at("workspaces", removed), at("sessions", linked)).expect("a link");
        let storage = LocalSessionStorage::new(state.path());
        for id in [removed, removed, linked, SessionId::generate()] {
            storage.remove(id).await.expect("removed or missing");
        }
        assert!(!at("sessions", removed).exists() && fs::symlink_metadata(at("sessions", linked)).is_err());
        assert!(at("sessions", kept).exists() && at("workspaces", removed).join("codex").exists());
    }
}
