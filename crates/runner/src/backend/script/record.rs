//! What a script remembers of a thread: a file in the session's storage.

use std::path::{Path, PathBuf};

use guildhall_domain::FailureKind;
use serde::{Deserialize, Serialize};

use crate::backend::{BackendFailure, Setting, Thread};

/// What was said longest ago is forgotten first.
const HEARD_AT_MOST: usize = 50;

/// Of one thing that was said.
const WORDS_BYTES_AT_MOST: usize = 4 * 1024;

/// The past of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) turns: u32,
    heard: Vec<String>,
}

impl Record {
    /// Takes up a thread. One without a record is lost.
    pub(super) async fn open(setting: &Setting, thread: &Thread) -> Result<Self, BackendFailure> {
        let lost = || {
            let words = format!("no thread {} in the session's storage", thread.0);
            BackendFailure::new(FailureKind::ThreadResumeFailed, words)
        };
        let kept = tokio::fs::read_to_string(file(&setting.state, thread)).await.map_err(|_| lost())?;
        serde_json::from_str(&kept).map_err(|_| lost())
    }

    /// Remembers what was said.
    pub(super) fn hear(&mut self, words: &str) {
        self.heard.push(words[..words.floor_char_boundary(WORDS_BYTES_AT_MOST)].to_owned());
        let over = self.heard.len().saturating_sub(HEARD_AT_MOST);
        self.heard.drain(..over);
    }

    pub(super) async fn keep(&self, setting: &Setting, thread: &Thread) -> Result<(), BackendFailure> {
        let failed = |error: std::io::Error| {
            let words = format!("cannot keep the thread: {}", error.kind());
            BackendFailure::new(FailureKind::BackendFailed, words)
        };
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        tokio::fs::create_dir_all(&setting.state).await.map_err(failed)?;
        tokio::fs::write(file(&setting.state, thread), text).await.map_err(failed)
    }
}

fn file(state: &Path, thread: &Thread) -> PathBuf {
    // A name that came from elsewhere names no file elsewhere.
    let plain = thread.0.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    state.join(format!("{}.thread", plain.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut record = Record::default();
        for _ in 0..200 {
            record.hear(&"é".repeat(5000));
        }
        assert_eq!(record.heard.len(), HEARD_AT_MOST);
        assert!(record.heard.iter().all(|words| words.len() <= WORDS_BYTES_AT_MOST));
    }

    #[test]
    fn no_name_of_a_thread_leads_out_of_the_storage() {
        let path = file(Path::new("/state"), &Thread("../../etc/passwd".to_owned()));
        assert_eq!(path, Path::new("/state/______etc_passwd.thread"));
    }
}
