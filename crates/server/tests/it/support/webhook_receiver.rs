//! A receiver of webhooks that answers as a test tells it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use guildhall_runtime::Tasks;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16),
    /// 429 with `Retry-After`.
    RetryAfter(&'static str),
    Redirect(String),
    /// No answer while the connection is open.
    Silence,
    /// 200 with a body that never ends.
    EndlessBody,
}

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceivedEvent {
    pub(crate) id: String,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) body: String,
}

impl ReceivedEvent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

#[derive(Debug, Default)]
struct ReceiverState {
    answers: VecDeque<Answer>,
    received: Vec<ReceivedEvent>,
}

/// A receiver on loopback. It accepts events (204) where no other answer was requested.
pub(crate) struct WebhookReceiver {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ReceiverState>>,
    _tasks: Tasks,
}

impl WebhookReceiver {
    /// Starts a receiver that gives these answers first.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), answers).await
    }

    pub(crate) async fn start_at(address: SocketAddr, answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(ReceiverState {
            answers: answers.into_iter().collect(),
            received: Vec::new(),
        }));
        let tasks = Tasks::new();
        tasks.spawn("accept", accept(listener, Arc::clone(&state), tasks.clone()));
        Self { address, state, _tasks: tasks }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn received(&self) -> Vec<ReceivedEvent> {
        self.state.lock().expect("no panic inside").received.clone()
    }

    /// Waits until this many requests have come.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<ReceivedEvent> {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            assert!(Instant::now() < deadline, "{} of {count} requests came", received.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<ReceiverState>>, tasks: Tasks) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tasks.spawn("connection", async move {
            let _closed = serve(stream, &state).await;
        });
    }
}

async fn serve(stream: TcpStream, state: &Mutex<ReceiverState>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let received = read(&mut stream).await?;
    let answer = {
        let mut state = state.lock().expect("no panic inside");
        state.received.push(received);
        state.answers.pop_front().unwrap_or(Answer::Status(204))
    };
    let empty = "content-length: 0\r\nconnection: close\r\n\r\n";
    match answer {
        Answer::Status(status) => {
            stream.write_all(format!("HTTP/1.1 {status} Answer\r\n{empty}").as_bytes()).await
        }
        Answer::RetryAfter(pause) => {
            stream.write_all(format!("HTTP/1.1 429 Wait\r\nretry-after: {pause}\r\n{empty}").as_bytes()).await
        }
        Answer::Redirect(to) => {
            stream.write_all(format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\n{empty}").as_bytes()).await
        }
        // Returns when the client closes the connection.
        Answer::Silence => stream.read(&mut [0]).await.map(drop),
        Answer::EndlessBody => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            loop {
                stream.write_all(b"4\r\nmore\r\n").await?;
                stream.flush().await?;
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<ReceivedEvent> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        let values = lines.iter().filter_map(|line| line.split_once(": "));
        values
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
            .unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or_default()];
    stream.read_exact(&mut body).await?;
    Ok(ReceivedEvent {
        id: header("webhook-id").to_owned(),
        timestamp: header("webhook-timestamp").parse().unwrap_or_default(),
        signature: header("webhook-signature").to_owned(),
        body: String::from_utf8(body).unwrap_or_default(),
    })
}
