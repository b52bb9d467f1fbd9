//! Counts the tokens of a response while it passes.
//!
//! Providers report usage in the body: in server-sent events or in one JSON document. Records of one response repeat
//! and extend each other, so the largest value of each field counts.

use serde_json::Value;

use super::headers::contains;

/// A longer line or document is not parsed. The last event of the Responses API repeats the whole output.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;

const USAGE_KEYS: [&[u8]; 2] = [b"\"usage\"", b"\"usageMetadata\""];

/// Input, output and total in the Gemini API.
const GEMINI_FIELDS: [&str; 3] = ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"];

/// Tokens of one response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    /// Includes tokens read from and written to a cache.
    pub(super) input: u64,
    pub(super) output: u64,
}

/// The format of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFormat {
    Events,
    Json,
    /// Not scanned.
    Other,
}

/// Reads usage records from the chunks of a response body. Chunks may end anywhere.
#[derive(Debug)]
pub(super) struct UsageScanner {
    format: BodyFormat,
    /// The current line, or the whole JSON document.
    buffer: Vec<u8>,
    /// The current line is too long and is skipped up to its end.
    is_overlong: bool,
    usage: TokenUsage,
    has_final_record: bool,
    /// Events with data. Streaming providers send about one token in each.
    events: u64,
}

impl UsageScanner {
    pub(super) fn new(format: BodyFormat) -> Self {
        Self {
            format,
            buffer: Vec::new(),
            is_overlong: false,
            usage: TokenUsage::default(),
            has_final_record: false,
            events: 0,
        }
    }

    /// Scans a chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        match self.format {
            BodyFormat::Events => self.push_lines(chunk),
            BodyFormat::Json => self.append(chunk),
            BodyFormat::Other => {}
        }
    }

    /// Scans what follows the last line break.
    pub(super) fn finish(&mut self) {
        match self.format {
            BodyFormat::Events => self.end_line(),
            BodyFormat::Json => {
                let document = std::mem::take(&mut self.buffer);
                if !self.is_overlong {
                    self.read_document(&document);
                }
            }
            BodyFormat::Other => {}
        }
    }

    /// Returns the tokens reported so far. No field ever decreases.
    pub(super) fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Returns whether the provider reported the usage of the whole response.
    pub(super) fn has_final_record(&self) -> bool {
        self.has_final_record
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    fn push_lines(&mut self, mut chunk: &[u8]) {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = chunk.split_at(end);
            if self.buffer.is_empty() && !self.is_overlong {
                // A whole line in one chunk needs no copy.
                self.read_line(line);
            } else {
                self.append(line);
                self.end_line();
            }
            chunk = &rest[1..];
        }
        self.append(chunk);
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.is_overlong || self.buffer.len() + bytes.len() > MAX_DOCUMENT_BYTES {
            self.is_overlong = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.buffer);
        if std::mem::take(&mut self.is_overlong) {
            self.events += 1;
        } else {
            self.read_line(&line);
            line.clear();
            self.buffer = line;
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        let Some(data) = line.strip_prefix(b"data:") else { return };
        self.events += 1;
        if line.len() <= MAX_DOCUMENT_BYTES && USAGE_KEYS.iter().any(|key| contains(data, key)) {
            self.read_document(data);
        }
    }

    /// Reads `usage` of the document, or of the `response` or `message` in an event. Elsewhere it is text of the model.
    fn read_document(&mut self, document: &[u8]) {
        let Ok(document) = serde_json::from_slice::<Value>(document) else { return };
        let holders = [&document, &document["response"], &document["message"]];
        let records = holders.map(|holder| &holder["usage"]).into_iter().chain([&document["usageMetadata"]]);
        for record in records {
            if let Some(record) = read_record(record) {
                self.usage.input = self.usage.input.max(record.input);
                self.usage.output = self.usage.output.max(record.output);
                self.has_final_record |= is_final(&document);
            }
        }
    }
}

/// Returns whether the record in a document is complete. The first event of a message has the input only; each event of the
/// Gemini API has a record, and the last one says why the model stopped.
fn is_final(document: &Value) -> bool {
    match document["usageMetadata"].is_object() {
        true => document["candidates"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|candidate| !candidate["finishReason"].is_null()),
        false => document["type"] != "message_start",
    }
}

/// Reads a record of the Chat (`prompt_tokens`), Responses or Anthropic (`input_tokens`), or Gemini API
/// (`promptTokenCount`).
fn read_record(usage: &Value) -> Option<TokenUsage> {
    let fields = usage.as_object()?;
    let count = |name: &str| fields.get(name).and_then(Value::as_u64);
    let sum = |names: &[&str]| names.iter().filter_map(|name| count(name)).fold(0, u64::saturating_add);
    let named = ["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens"];
    named.iter().chain(&GEMINI_FIELDS).find_map(|name| count(name))?;
    let [gemini_input, gemini_output, gemini_total] = GEMINI_FIELDS;
    // Anthropic counts cached tokens apart; the OpenAI APIs include them.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let input = count("prompt_tokens")
        .or_else(|| count(gemini_input))
        .unwrap_or_else(|| count("input_tokens").unwrap_or_default().saturating_add(sum(&cached)));
    let output = sum(&["completion_tokens"]).max(sum(&["output_tokens"])).max(sum(&[gemini_output]));
    // Some providers count reasoning in the total only.
    let total = count("total_tokens").or_else(|| count(gemini_total));
    let rest = total.unwrap_or_default().saturating_sub(input);
    Some(TokenUsage { input, output: output.max(rest) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"total_tokens\":18}}\r\n\r\n\
        data: [DONE]\n\n";
    const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n\
        event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"\\\"usage\\\":{\\\"input_tokens\\\":900}\"}\n\n\
        event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":11,\"input_tokens_details\":{\"cached_tokens\":3},\"output_tokens\":7,\"total_tokens\":18}}}\n\n";
    const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":4,\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n";
    const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]}}],\"usageMetadata\":{\"promptTokenCount\":11}}\n\n\
        data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":11,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":3,\"totalTokenCount\":18}}\n\n";
    const EXPECTED: TokenUsage = TokenUsage { input: 11, output: 7 };

    fn scan(format: BodyFormat, chunks: &[&[u8]]) -> UsageScanner {
        let mut scanner = UsageScanner::new(format);
        chunks.iter().for_each(|chunk| scanner.push(chunk));
        scanner.finish();
        scanner
    }

    fn scan_text(format: BodyFormat, text: &str) -> TokenUsage {
        scan(format, &[text.as_bytes()]).usage()
    }

    #[test]
    fn streams_of_all_wire_apis_are_counted() {
        for stream in [CHAT, RESPONSES, ANTHROPIC, GEMINI] {
            let scanner = scan(BodyFormat::Events, &[stream.as_bytes()]);
            assert_eq!((scanner.usage(), scanner.has_final_record()), (EXPECTED, true), "{stream}");
        }
    }

    #[test]
    fn json_bodies_of_all_wire_apis_are_counted() {
        for usage in [
            r#"{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}"#,
            r#"{"input_tokens":11,"output_tokens":7,"total_tokens":18}"#,
            r#"{"input_tokens":1,"cache_read_input_tokens":10,"output_tokens":7}"#,
            r#"{"prompt_tokens":11,"completion_tokens":2,"total_tokens":18}"#,
        ] {
            let body = format!("{{\n  \"id\": \"x\",\n  \"usage\": {usage}\n}}");
            assert_eq!(scan_text(BodyFormat::Json, &body), EXPECTED, "{usage}");
        }
    }

    #[test]
    fn text_of_the_model_is_not_counted() {
        let text = r#"data: {"choices":[{"delta":{"content":{"usage":{"prompt_tokens":900}}}}]}"#;
        assert_eq!(scan_text(BodyFormat::Events, text), TokenUsage::default());
        assert!(!scan(BodyFormat::Events, &[b"data: {\"usage\":{}}\n"]).has_final_record());
    }

    #[test]
    fn first_event_of_a_message_is_not_the_final_record() {
        let start = ANTHROPIC.split("\n\n").next().expect("an event");
        let scanner = scan(BodyFormat::Events, &[start.as_bytes()]);
        assert_eq!(scanner.usage(), TokenUsage { input: 11, output: 1 });
        assert!(!scanner.has_final_record());
    }

    #[test]
    fn first_event_of_gemini_is_not_the_final_record() {
        let start = GEMINI.split("\n\n").next().expect("an event");
        let scanner = scan(BodyFormat::Events, &[start.as_bytes(), b"\n\n"]);
        assert_eq!((scanner.usage().input, scanner.has_final_record()), (11, false));
    }

    #[test]
    fn cumulative_records_are_counted_once() {
        let record = |output: u64| {
            format!("data: {{\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{output}}}}}\n\n")
        };
        let stream = [record(1), record(2), record(9), record(4)].concat();
        assert_eq!(scan_text(BodyFormat::Events, &stream), TokenUsage { input: 3, output: 9 });
    }

    #[test]
    fn huge_counts_do_not_overflow() {
        let max = u64::MAX;
        let body = format!(
            r#"{{"usage":{{"input_tokens":{max},"cache_read_input_tokens":{max},"output_tokens":{max},"total_tokens":{max}}}}}"#
        );
        assert_eq!(scan_text(BodyFormat::Json, &body), TokenUsage { input: max, output: max });
    }

    #[test]
    fn overlong_line_is_skipped_in_bounded_memory() {
        let mut scanner = UsageScanner::new(BodyFormat::Events);
        scanner.push(b"data: {\"usage\":{\"prompt_tokens\":900},\"x\":\"");
        for _ in 0..64 {
            scanner.push(&[b'x'; 64 * 1024]);
            assert!(scanner.buffer.capacity() <= 2 * MAX_DOCUMENT_BYTES);
        }
        scanner.push(b"\"}\n\n");
        assert_eq!(scanner.usage(), TokenUsage::default());
        scanner.push(CHAT.as_bytes());
        assert_eq!(scanner.usage(), EXPECTED);
        assert_eq!(scanner.events(), 4);
    }

    #[test]
    fn overlong_document_is_not_parsed() {
        let body = format!(r#"{{"x":"{}","usage":{{"prompt_tokens":9}}}}"#, "x".repeat(MAX_DOCUMENT_BYTES));
        let mut scanner = UsageScanner::new(BodyFormat::Json);
        body.as_bytes().chunks(4096).for_each(|chunk| scanner.push(chunk));
        scanner.finish();
        assert_eq!((scanner.usage(), scanner.buffer.len()), (TokenUsage::default(), 0));
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_count(
            stream in prop::sample::select(vec![CHAT, RESPONSES, ANTHROPIC, GEMINI]),
            cuts in prop::collection::vec(0_usize..700, 0..12),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut start = 0;
            let chunks: Vec<&[u8]> = cuts.iter().map(|end| &bytes[std::mem::replace(&mut start, *end)..*end]).collect();
            let scanner = scan(BodyFormat::Events, &chunks);
            let whole = scan(BodyFormat::Events, &[bytes]);
            prop_assert_eq!(scanner.usage(), EXPECTED);
            prop_assert_eq!(scanner.events(), whole.events());
        }

        #[test]
        fn any_bytes_are_scanned_without_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
            for format in [BodyFormat::Events, BodyFormat::Json, BodyFormat::Other] {
                let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
                scan(format, &chunks);
            }
        }
    }
}
