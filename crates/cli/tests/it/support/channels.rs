//! Everything that leaves a server, kept to be searched: whatever a secret could leak through.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// What came out, by the way on which it did.
#[derive(Debug, Default)]
pub(crate) struct Channels(BTreeMap<&'static str, Vec<u8>>);

impl Channels {
    pub(crate) fn add(&mut self, channel: &'static str, bytes: impl AsRef<[u8]>) {
        let kept = self.0.entry(channel).or_default();
        kept.extend_from_slice(bytes.as_ref());
        kept.push(b'\n');
    }

    /// Returns where a text stands: as it is, or as hexadecimal digits, as PostgreSQL shows bytes.
    pub(crate) fn holding(&self, text: &str) -> Vec<&'static str> {
        let forms = [text.as_bytes().to_vec(), hex::encode(text).into_bytes()];
        let holds =
            |kept: &[u8]| forms.iter().any(|form| kept.windows(form.len()).any(|window| window == form));
        self.0.iter().filter(|(_, kept)| holds(kept)).map(|(channel, _)| *channel).collect()
    }
}

/// Bytes that arrive in the background.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("nobody panicked").clone()
    }

    fn push(&self, bytes: &[u8]) {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
    }
}

/// Hears every message on a NATS, whatever its subject.
pub(crate) fn tap_nats(url: &SecretString) -> Heard {
    let url = Url::parse(url.expose_secret()).expect("an address");
    let (host, port) = (url.host_str().expect("a host"), url.port().expect("a port"));
    let mut stream = TcpStream::connect((host, port)).expect("NATS answers");
    let mut lines = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("it greets");
    let (user, password) = (url.username(), url.password().expect("a password"));
    let hello =
        format!(r#"CONNECT {{"verbose":false,"pedantic":false,"user":"{user}","pass":"{password}"}}"#);
    write!(stream, "{hello}\r\nSUB > 1\r\nPING\r\n").expect("sent");
    line.clear();
    lines.read_line(&mut line).expect("it answers");
    assert_eq!(line, "PONG\r\n");
    let heard = Heard::default();
    let kept = heard.clone();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if line == b"PING\r\n" {
                let _closing = stream.write_all(b"PONG\r\n");
            }
            kept.push(&line);
            line.clear();
        }
    });
    heard
}

/// Takes what a server sends to a collector of traces. Returns its address too.
pub(crate) fn collector() -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
    let heard = Heard::default();
    let kept = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = kept.clone();
            std::thread::spawn(move || take_requests(stream, &kept));
        }
    });
    (endpoint, heard)
}

fn take_requests(mut stream: TcpStream, kept: &Heard) {
    // A request is over when nothing follows for a moment: nobody here needs to know where one ends.
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    let (mut piece, mut answered) = ([0; 8192], true);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => {
                kept.push(&piece[..count]);
                answered = false;
            }
            Err(_) if answered => {}
            Err(_) => {
                answered = true;
                if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                    return;
                }
            }
        }
    }
}
