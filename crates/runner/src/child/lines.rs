//! Lines within a bound: a longer one is left out, and said to be.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A message holds at most a bounded output and a diff. What is longer is no message.
const LINE_BYTES_AT_MOST: usize = 16 * 1024 * 1024;

/// One line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// Longer than the bound. It was read past and is gone.
    TooLong {
        bytes: usize,
    },
}

#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    at_most: usize,
    kept: Vec<u8>,
    bytes: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self::bounded(reader, LINE_BYTES_AT_MOST)
    }

    fn bounded(reader: R, at_most: usize) -> Self {
        Self { reader: BufReader::new(reader), at_most, kept: Vec::new(), bytes: 0 }
    }

    /// Returns the next line, or none at the end. What was read before the wait was given up is kept.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                return Ok((self.bytes > 0).then(|| self.take()));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let piece = &read[..end.unwrap_or(read.len())];
            self.bytes = self.bytes.saturating_add(piece.len());
            if self.bytes <= self.at_most {
                self.kept.extend_from_slice(piece);
            } else {
                self.kept = Vec::new();
            }
            let consumed = piece.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    /// Returns the next piece as it comes, lines or not, or none at the end. At most as much as the reader buffers.
    pub(super) async fn piece(&mut self) -> io::Result<Option<Line>> {
        let read = self.reader.fill_buf().await?.to_vec();
        self.reader.consume(read.len());
        Ok((!read.is_empty()).then_some(Line::Whole(read)))
    }

    fn take(&mut self) -> Line {
        let (kept, bytes) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.bytes));
        if bytes > self.at_most { Line::TooLong { bytes } } else { Line::Whole(kept) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], at_most: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut lines = Lines::bounded(text, at_most);
        let mut all = Vec::new();
        runtime.block_on(async {
            while let Some(line) = lines.next().await.expect("memory can be read") {
                all.push(line);
            }
        });
        all
    }

    #[test]
    fn a_line_over_the_bound_is_left_out_and_the_next_is_whole() {
        let text = [vec![b'x'; 20_000], b"\nshort\n\nno end".to_vec()].concat();
        let whole = |line: &str| Line::Whole(line.as_bytes().to_vec());
        assert_eq!(
            read(&text, 100),
            [Line::TooLong { bytes: 20_000 }, whole("short"), whole(""), whole("no end")]
        );
    }

    proptest! {
        #[test]
        fn lines_within_the_bound_come_as_they_were(lines in proptest::collection::vec("[a-z]{0,30}", 0..20)) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let expected: Vec<_> = lines.iter().map(|line| Line::Whole(line.clone().into_bytes())).collect();
            prop_assert_eq!(read(text.as_bytes(), 30), expected);
        }
    }
}
