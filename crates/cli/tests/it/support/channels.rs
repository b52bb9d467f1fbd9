//! Captures everything that a server outputs, to search it for leaked secrets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Captured output, by channel.
#[derive(Debug, Default)]
pub(crate) struct CapturedOutput(BTreeMap<&'static str, Vec<u8>>);

impl CapturedOutput {
    pub(crate) fn add(&mut self, channel: &'static str, bytes: impl AsRef<[u8]>) {
        let buffer = self.0.entry(channel).or_default();
        buffer.extend_from_slice(bytes.as_ref());
        buffer.push(b'\n');
    }

    /// Returns the channels that contain a text: verbatim, hex-encoded (as PostgreSQL prints bytes), or within something in base64.
    pub(crate) fn channels_containing(&self, text: &str) -> Vec<&'static str> {
        let mut forms = vec![text.to_owned(), hex::encode(text)];
        forms.extend((0..3).flat_map(|offset| base64_forms(text, offset)));
        let contains = |buffer: &[u8]| {
            let buffer = String::from_utf8_lossy(buffer);
            forms.iter().any(|form| buffer.contains(form.as_str()))
        };
        self.0.iter().filter(|(_, buffer)| contains(buffer)).map(|(channel, _)| *channel).collect()
    }
}

/// Returns what base64 makes of a text in the middle of others, `offset` bytes after a group of three, without the characters that depend on
/// its neighbours.
fn base64_forms(text: &str, offset: usize) -> [String; 2] {
    let bytes = [&b"???"[..offset], text.as_bytes()].concat();
    let whole = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
    [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|base64| base64.encode(&bytes)[whole.clone()].to_owned())
}

/// A buffer that a background thread fills.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaptureBuffer(Arc<Mutex<Vec<u8>>>);

impl CaptureBuffer {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("the lock is not poisoned").clone()
    }

    fn push(&self, bytes: &[u8]) {
        self.0.lock().expect("the lock is not poisoned").extend_from_slice(bytes);
    }
}

/// Captures every NATS message, on all subjects.
pub(crate) fn capture_nats(url: &SecretString) -> CaptureBuffer {
    let url = Url::parse(url.expose_secret()).expect("an address");
    let (host, port) = (url.host_str().expect("a host"), url.port().expect("a port"));
    let mut stream = TcpStream::connect((host, port)).expect("NATS accepts connections");
    let mut lines = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("NATS sends INFO");
    let (user, password) = (url.username(), url.password().expect("a password"));
    let connect =
        format!(r#"CONNECT {{"verbose":false,"pedantic":false,"user":"{user}","pass":"{password}"}}"#);
    write!(stream, "{connect}\r\nSUB > 1\r\nPING\r\n").expect("sent");
    line.clear();
    lines.read_line(&mut line).expect("NATS responds");
    assert_eq!(line, "PONG\r\n");
    let captured = CaptureBuffer::default();
    let buffer = captured.clone();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if line == b"PING\r\n" {
                let _closing = stream.write_all(b"PONG\r\n");
            }
            buffer.push(&line);
            line.clear();
        }
    });
    captured
}

/// Starts a trace collector. Returns its URL and what it receives.
pub(crate) fn start_trace_collector() -> (String, CaptureBuffer) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
    let captured = CaptureBuffer::default();
    let buffer = captured.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let buffer = buffer.clone();
            std::thread::spawn(move || record_requests(stream, &buffer));
        }
    });
    (endpoint, captured)
}

fn record_requests(mut stream: TcpStream, buffer: &CaptureBuffer) {
    // A request is complete when no bytes arrive for 300 ms; this collector does not parse HTTP.
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    let (mut chunk, mut responded) = ([0; 8192], true);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                buffer.push(&chunk[..count]);
                responded = false;
            }
            Err(_) if responded => {}
            Err(_) => {
                responded = true;
                if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn text_is_found_plain_in_hex_and_anywhere_in_base64() {
    let text = "Canary?~secret";
    let around = |before: &str| format!("{before}{text}, and more");
    let base64 = ["", "1", "12"].map(|before| STANDARD_NO_PAD.encode(around(before)));
    let url_safe = ["", "1", "12"].map(|before| URL_SAFE_NO_PAD.encode(around(before)));
    for found in [around("a "), hex::encode(text)].into_iter().chain(base64).chain(url_safe) {
        let mut channels = CapturedOutput::default();
        channels.add("logs", "something else");
        channels.add("tables", &found);
        assert_eq!(channels.channels_containing(text), ["tables"], "{found}");
    }
}
