//! The folder that an agent works in, prepared from what the run refers to.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::fs;

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("this runner cannot prepare a workspace of kind `{0}`")]
    Unable(String),
    #[error("the workspace's folder is not there")]
    Missing,
    #[error("cannot prepare the workspace")]
    Io(#[from] std::io::Error),
}

/// Prepares the workspace of a session. An empty one is made below `root` and found again by the next run.
pub async fn prepare(root: &Path, session: &str, reference: &Value) -> Result<PathBuf, WorkspaceError> {
    let kind = reference.get("kind").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "empty" => {
            let folder = root.join(session);
            fs::create_dir_all(&folder).await?;
            Ok(folder)
        }
        "directory" => {
            let path = reference.get("path").and_then(Value::as_str).unwrap_or_default();
            let folder = PathBuf::from(path);
            if fs::metadata(&folder).await.is_ok_and(|found| found.is_dir()) {
                Ok(folder)
            } else {
                Err(WorkspaceError::Missing)
            }
        }
        other => Err(WorkspaceError::Unable(other.to_owned())),
    }
}
