//! Server-sent events, as far as our servers use them.

/// The largest event that is read: an audit entry of 64 KiB, with room.
const EVENT_BYTES: usize = 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) data: String,
    pub(super) id: Option<String>,
}

/// An event that is too large to be one of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Puts events together from the pieces in which they arrive.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    line: Vec<u8>,
    event: Event,
    size: usize,
}

impl Decoder {
    /// Takes a piece and returns the events that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut complete = Vec::new();
        for byte in piece {
            if *byte != b'\n' {
                self.size += 1;
                if self.size > EVENT_BYTES {
                    return Err(TooLarge);
                }
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                complete.extend(self.finish());
            } else {
                self.field(&String::from_utf8_lossy(line));
            }
        }
        Ok(complete)
    }

    fn finish(&mut self) -> Option<Event> {
        self.size = 0;
        let mut event = std::mem::take(&mut self.event);
        // Each line of data ended with one; the last is not part of it.
        event.data.pop()?;
        Some(event)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.kind),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            "id" => self.event.id = Some(value.to_owned()),
            // A comment (an empty name), a retry time, or something newer.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "event: entry\ndata: {\"seq\":1}\nid: 00-1\n\n:\n\nevent: entry\r\ndata: a\r\ndata: b\r\n\r\nid: 9\n\nevent: closed\ndata:x\n\ndata: unfinished";

    fn expected() -> Vec<Event> {
        let event = |kind: &str, data: &str, id: Option<&str>| Event {
            kind: kind.to_owned(),
            data: data.to_owned(),
            id: id.map(str::to_owned),
        };
        vec![
            event("entry", "{\"seq\":1}", Some("00-1")),
            event("entry", "a\nb", None),
            event("closed", "x", None),
        ]
    }

    proptest! {
        #[test]
        fn events_are_the_same_however_the_stream_is_cut(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let mut decoder = Decoder::default();
            let mut events = Vec::new();
            for pair in cuts.windows(2) {
                events.extend(decoder.push(&STREAM.as_bytes()[pair[0]..pair[1]]).expect("small"));
            }
            prop_assert_eq!(events, expected());
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::default();
        let piece = vec![b'x'; EVENT_BYTES];
        assert_eq!(decoder.push(&piece), Ok(Vec::new()));
        assert_eq!(decoder.push(b"x"), Err(TooLarge));
    }
}
