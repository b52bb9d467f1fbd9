//! A server that answers from a script.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// Gives each connection the next answer and then closes it. Returns the address, and the head of each request.
pub(crate) fn scripted(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _nobody_reads = sender.send(head(&mut stream));
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    (url, heads)
}

fn head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.extend_from_slice(&byte);
    }
    String::from_utf8_lossy(&head).to_ascii_lowercase()
}

pub(crate) fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// The body of a failure, with what it tells besides.
pub(crate) fn problem(status: u16, kind: &str, besides: &str) -> String {
    format!(
        r#"{{"type":"t","title":"t","status":{status},"detail":"no","failureKind":"{kind}","message":"no","retry":"after-change","traceId":"0"{besides}}}"#
    )
}

pub(crate) fn client(url: &str) -> guildhall_sdk::Client {
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    guildhall_sdk::Client::new(url).expect("a client")
}
