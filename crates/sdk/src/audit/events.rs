//! A decoder for the subset of server-sent events that Guildhall servers use.

/// Maximum size of an event: an audit entry has at most 64 KiB.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) data: String,
    pub(super) id: Option<String>,
}

/// The event exceeds [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLarge;

/// Assembles events from chunks.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    line: Vec<u8>,
    event: Event,
    size: usize,
}

impl Decoder {
    /// Adds a chunk and returns the events that it completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut complete = Vec::new();
        for byte in chunk {
            if *byte != b'\n' {
                self.size += 1;
                if self.size > MAX_EVENT_BYTES {
                    return Err(EventTooLarge);
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
        // Each data line added a newline; the last one is not part of the data.
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
            // A comment (empty name), a retry time, or a field of a newer server.
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
        fn events_do_not_depend_on_chunk_boundaries(cuts in proptest::collection::vec(0..STREAM.len(), 0..12)) {
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
    fn oversized_event_is_rejected() {
        let mut decoder = Decoder::default();
        let chunk = vec![b'x'; MAX_EVENT_BYTES];
        assert_eq!(decoder.push(&chunk), Ok(Vec::new()));
        assert_eq!(decoder.push(b"x"), Err(EventTooLarge));
    }
}
