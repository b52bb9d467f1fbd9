//! A server with scripted_server responses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// Sends the next response to each connection, then closes it. Returns the URL, and the head of each request.
pub(crate) fn scripted_server(responses: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for response in responses {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _receiver_gone = sender.send(head(&mut stream));
            let _client_gone = stream.write_all(response.as_bytes());
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

pub(crate) fn response(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// Returns a problem body with additional members.
pub(crate) fn problem(status: u16, kind: &str, extra: &str) -> String {
    format!(
        r#"{{"type":"t","title":"t","status":{status},"detail":"no","failureKind":"{kind}","message":"no","retry":"after-change","traceId":"0"{extra}}}"#
    )
}

pub(crate) fn client(url: &str) -> guildhall_sdk::Client {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    guildhall_sdk::Client::new(url).expect("a client")
}
