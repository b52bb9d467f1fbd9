//! Keeps the end of what a process writes to stderr.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Enough for the error message of a process that fails.
const MAX_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// Reads to the end, so that the process never blocks on a full pipe.
    pub(crate) async fn follow(self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.push(&buffer[..count]);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(MAX_BYTES);
        tail.drain(..excess);
    }

    pub(crate) fn read(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stderr_tail_keeps_only_the_last_bytes() {
        let tail = StderrTail::default();
        let text = [vec![b'x'; 100_000], b"the last words".to_vec()].concat();
        tail.clone().follow(text.as_slice()).await;
        let read = tail.read();
        assert!(read.ends_with("xthe last words"));
        assert_eq!(read.len(), MAX_BYTES);
    }
}
