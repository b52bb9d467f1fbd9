//! A redacted text stream with a size limit.

use super::redact::{RunSecrets, StreamRedactor};

#[derive(Debug)]
pub(super) struct BoundedStream {
    redactor: StreamRedactor,
    /// Bytes that were released.
    pub(super) sent: usize,
    /// Bytes over the limit.
    pub(super) dropped: usize,
}

impl BoundedStream {
    pub(super) fn new(secrets: &RunSecrets) -> Self {
        Self { redactor: StreamRedactor::new(secrets.clone()), sent: 0, dropped: 0 }
    }

    /// Adds a chunk. Returns the redacted text that can be released.
    pub(super) fn push(&mut self, text: &str, max_bytes: usize) -> String {
        let redacted = self.redactor.push(text);
        self.truncate(redacted, max_bytes)
    }

    /// Returns the text that was held back, at the end of the stream.
    pub(super) fn finish(&mut self, max_bytes: usize) -> String {
        let redacted = self.redactor.finish();
        self.truncate(redacted, max_bytes)
    }

    fn truncate(&mut self, mut text: String, max_bytes: usize) -> String {
        let cut = text.floor_char_boundary(max_bytes.saturating_sub(self.sent));
        self.dropped += text.len() - cut;
        text.truncate(cut);
        self.sent += cut;
        text
    }
}
