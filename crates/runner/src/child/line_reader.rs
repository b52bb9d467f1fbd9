//! Reads lines up to a maximum length; a longer line is discarded and reported by its size.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Larger than any valid message, which holds at most a bounded output and a diff.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// One line, without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Complete(Vec<u8>),
    /// Longer than the limit; its content was discarded.
    TooLong {
        bytes: usize,
    },
}

#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    max_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes of the current line so far, including discarded ones.
    bytes: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self::with_limit(reader, MAX_LINE_BYTES)
    }

    fn with_limit(reader: R, max_bytes: usize) -> Self {
        Self { reader: BufReader::new(reader), max_bytes, buffer: Vec::new(), bytes: 0 }
    }

    /// Returns the next line, or `None` at the end. Cancel safe.
    pub(super) async fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                return Ok((self.bytes > 0).then(|| self.take_line()));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            self.bytes = self.bytes.saturating_add(part.len());
            if self.bytes <= self.max_bytes {
                self.buffer.extend_from_slice(part);
            } else {
                self.buffer = Vec::new();
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            if end.is_some() {
                return Ok(Some(self.take_line()));
            }
        }
    }

    /// Returns the next chunk as it arrives, regardless of line breaks, or `None` at the end. A chunk is at most as
    /// large as the reader's buffer.
    pub(super) async fn next_chunk(&mut self) -> io::Result<Option<Line>> {
        let read = self.reader.fill_buf().await?.to_vec();
        self.reader.consume(read.len());
        Ok((!read.is_empty()).then_some(Line::Complete(read)))
    }

    fn take_line(&mut self) -> Line {
        let (buffer, bytes) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.bytes));
        if bytes > self.max_bytes { Line::TooLong { bytes } } else { Line::Complete(buffer) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], max_bytes: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        let mut reader = LineReader::with_limit(text, max_bytes);
        let mut lines = Vec::new();
        runtime.block_on(async {
            while let Some(line) = reader.next_line().await.expect("memory can be read") {
                lines.push(line);
            }
        });
        lines
    }

    #[test]
    fn line_over_the_limit_is_discarded_and_the_next_is_complete() {
        let text = [vec![b'x'; 20_000], b"\nshort\n\nno end".to_vec()].concat();
        let complete = |line: &str| Line::Complete(line.as_bytes().to_vec());
        assert_eq!(
            read(&text, 100),
            [Line::TooLong { bytes: 20_000 }, complete("short"), complete(""), complete("no end")]
        );
    }

    proptest! {
        #[test]
        fn lines_within_the_limit_are_unchanged(lines in proptest::collection::vec("[a-z]{0,30}", 0..20)) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let expected: Vec<_> = lines.iter().map(|line| Line::Complete(line.clone().into_bytes())).collect();
            prop_assert_eq!(read(text.as_bytes(), 30), expected);
        }
    }
}
