//! The history of a thread: a file in the session's storage.

use std::path::{Path, PathBuf};

use guildhall_domain::FailureKind;
use serde::{Deserialize, Serialize};

use crate::backend::{BackendConfig, BackendFailure, ThreadId};

/// Number of prompts to keep; the oldest are dropped first.
const MAX_PROMPTS: usize = 50;

/// Length of one prompt.
const MAX_PROMPT_BYTES: usize = 4 * 1024;

/// The history of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadHistory {
    pub(super) turns: u32,
    #[serde(rename = "heard")]
    prompts: Vec<String>,
}

impl ThreadHistory {
    /// Loads the history of a thread. A thread without one cannot be resumed.
    pub(super) async fn load(config: &BackendConfig, thread: &ThreadId) -> Result<Self, BackendFailure> {
        let failed = || {
            let message = format!("the session's storage has no thread {}", thread.0);
            BackendFailure::new(FailureKind::ThreadResumeFailed, message)
        };
        let text = tokio::fs::read_to_string(file(&config.state, thread)).await.map_err(|_| failed())?;
        serde_json::from_str(&text).map_err(|_| failed())
    }

    pub(super) fn add_prompt(&mut self, prompt: &str) {
        self.prompts.push(prompt[..prompt.floor_char_boundary(MAX_PROMPT_BYTES)].to_owned());
        let excess = self.prompts.len().saturating_sub(MAX_PROMPTS);
        self.prompts.drain(..excess);
    }

    pub(super) async fn save(&self, config: &BackendConfig, thread: &ThreadId) -> Result<(), BackendFailure> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot save the thread: {}", error.kind());
            BackendFailure::new(FailureKind::BackendFailed, message)
        };
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        tokio::fs::create_dir_all(&config.state).await.map_err(failed)?;
        tokio::fs::write(file(&config.state, thread), text).await.map_err(failed)
    }
}

/// Returns the file of a thread. Other characters of its id are replaced, so that it names no file elsewhere.
fn file(state: &Path, thread: &ThreadId) -> PathBuf {
    let name = thread.0.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    state.join(format!("{}.thread", name.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded() {
        let mut history = ThreadHistory::default();
        for _ in 0..200 {
            history.add_prompt(&"é".repeat(5000));
        }
        assert_eq!(history.prompts.len(), MAX_PROMPTS);
        assert!(history.prompts.iter().all(|prompt| prompt.len() <= MAX_PROMPT_BYTES));
    }

    #[test]
    fn thread_id_cannot_name_a_file_outside_of_the_storage() {
        let path = file(Path::new("/state"), &ThreadId("../../etc/passwd".to_owned()));
        assert_eq!(path, Path::new("/state/______etc_passwd.thread"));
    }
}
