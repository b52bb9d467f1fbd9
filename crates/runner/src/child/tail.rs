//! The end of what a process writes to stderr.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Enough for the last words of a process that fails.
const BYTES_AT_MOST: usize = 16 * 1024;

#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads until the end, so that the process never waits for a reader.
    pub(super) async fn follow(self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.push(&buffer[..count]);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let over = kept.len().saturating_sub(BYTES_AT_MOST);
        kept.drain(..over);
    }

    pub(super) fn read(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_and_no_more() {
        let tail = Tail::default();
        let text = [vec![b'x'; 100_000], b"the last words".to_vec()].concat();
        tail.clone().follow(text.as_slice()).await;
        let read = tail.read();
        assert!(read.ends_with("xthe last words"));
        assert_eq!(read.len(), BYTES_AT_MOST);
    }
}
