use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use guildhall_testkit::{Stopwatch, TestDb, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;

use crate::support::{ChildProcess, free_port, guildhall, http_get};

struct ServeFixture {
    process: ChildProcess,
    url: String,
    _db: TestDb,
}

async fn start_serve(extra: &[(&str, String)]) -> ServeFixture {
    let (db, port) = (TestDb::new().await, free_port());
    let mut command = guildhall();
    command
        .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
        .env("GUILDHALL_POSTGRES_URL", db.url().expose_secret())
        .env("GUILDHALL_NATS_URL", nats_url().expose_secret())
        .env("GUILDHALL_NATS_SUBJECT_PREFIX", subject_prefix())
        .env("GUILDHALL_HTTP_DRAIN_DELAY", "0s")
        .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64))
        .envs(extra.iter().map(|(name, value)| (*name, value)));
    let process = ChildProcess::start(&mut command);
    let deadline = Instant::now() + Duration::from_secs(120);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen after 120 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    ServeFixture { process, url: format!("http://127.0.0.1:{port}"), _db: db }
}

#[tokio::test]
async fn serve_exits_cleanly_on_sigterm() {
    let mut server = start_serve(&[]).await;
    assert_eq!(http_get(&format!("{}/health", server.url), &[]).0, 200);
    server.process.signal(Signal::TERM);
    assert!(server.process.wait().success());
}

#[test]
fn serve_without_postgres_fails_fast_with_a_clear_error() {
    let started = Stopwatch::start();
    let output = guildhall()
        .args(["serve", "--listen", "127.0.0.1:0", "--pg-url", "postgres://nobody@127.0.0.1:1/nothing"])
        .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "ab".repeat(32))
        .output()
        .expect("the command runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && started.elapsed() < Duration::from_secs(15));
    assert!(message.contains("PostgreSQL does not respond"), "{message}");
}

#[tokio::test]
async fn spans_reach_the_collector_with_the_callers_trace_id() {
    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}/v1/traces", collector.local_addr().expect("an address"));
    let received = std::thread::spawn(move || receive_one(&collector));
    let mut server = start_serve(&[("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", endpoint)]).await;
    let parent = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let (status, body) = http_get(&format!("{}/nowhere", server.url), &[parent]);
    assert_eq!((status, body["traceId"].as_str()), (404, Some("4bf92f3577b34da6a3ce929d0e0e4736")));
    server.process.signal(Signal::TERM);
    assert!(server.process.wait().success());
    let sent = received.join().expect("the collector received a request");
    let trace_id = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
    assert!(sent.starts_with(b"POST /v1/traces"), "{}", String::from_utf8_lossy(&sent));
    assert!(sent.windows(16).any(|window| window == trace_id), "the span of the request is missing");
}

/// Accepts one HTTP request and returns its bytes.
fn receive_one(collector: &TcpListener) -> Vec<u8> {
    let (mut stream, _) = collector.accept().expect("a client");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let (mut sent, mut chunk) = (Vec::new(), [0u8; 4096]);
    loop {
        let count = stream.read(&mut chunk).expect("readable");
        sent.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&sent).to_ascii_lowercase();
        let head = text.split_once("\r\n\r\n").map(|(head, _)| head.to_owned());
        let length = head.as_deref().and_then(|head| {
            head.split("content-length: ").nth(1)?.lines().next()?.trim().parse::<usize>().ok()
        });
        let head_bytes = sent.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
        if let (Some(length), Some(head_bytes)) = (length, head_bytes)
            && sent.len() >= head_bytes + length
        {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("a result");
    sent
}
