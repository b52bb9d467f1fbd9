//! A flood of requests from one loopback address over keep-alive connections.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// The address of the attacker. Tests sign in from 127.0.0.1.
pub(crate) const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The load: each connection sends its next request after the response, but not before its turn.
#[derive(Debug, Clone)]
pub(crate) struct Flood {
    pub(crate) target: SocketAddr,
    pub(crate) connections: u32,
    /// Over all connections.
    pub(crate) per_second: u32,
    /// Over all connections.
    pub(crate) requests: u32,
}

/// What the attacker saw.
#[derive(Debug, Default)]
pub(crate) struct FloodResult {
    pub(crate) statuses: BTreeMap<u16, u32>,
    pub(crate) elapsed: Duration,
}

impl FloodResult {
    pub(crate) fn total(&self) -> u32 {
        self.statuses.values().sum()
    }

    pub(crate) fn count(&self, status: u16) -> u32 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }

    /// Returns the rate that was reached, which depends on the machine.
    pub(crate) fn per_second(&self) -> f64 {
        f64::from(self.total()) / self.elapsed.as_secs_f64()
    }
}

impl Flood {
    /// Sends the requests. `request` returns the method, the path and the body of a request by its number.
    pub(crate) async fn send(
        &self,
        request: impl Fn(u32) -> (&'static str, String, String) + Sync,
    ) -> FloodResult {
        let began = Instant::now();
        let connections = (0..self.connections).map(|first| self.send_from(first, began, &request));
        let mut result = FloodResult::default();
        for status in join_all(connections).await.into_iter().flatten() {
            *result.statuses.entry(status).or_default() += 1;
        }
        result.elapsed = began.elapsed();
        result
    }

    async fn send_from(
        &self,
        first: u32,
        began: Instant,
        request: &(impl Fn(u32) -> (&'static str, String, String) + Sync),
    ) -> Vec<u16> {
        let (mut stream, mut statuses) = (None, Vec::new());
        let step = usize::try_from(self.connections).expect("small");
        for number in (first..self.requests).step_by(step) {
            let turn = began + Duration::from_secs(1) * number / self.per_second;
            tokio::time::sleep_until(turn.into()).await;
            let mut open = match stream.take() {
                Some(open) => open,
                None => connect(self.target).await,
            };
            let (method, path, body) = request(number);
            let head = format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                self.target,
                body.len()
            );
            if open.write_all(format!("{head}{body}").as_bytes()).await.is_ok()
                && let Some(status) = read_status(&mut open).await
            {
                statuses.push(status);
                stream = Some(open);
            }
        }
        statuses
    }
}

async fn connect(target: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((ATTACKER, 0).into()).expect("a loopback address");
    socket.connect(target).await.expect("a connection")
}

/// Reads a response. Returns its status, or none if the connection was closed.
async fn read_status(stream: &mut TcpStream) -> Option<u16> {
    let (mut response, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let head_end = response.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4);
        if let Some(head_end) = head_end {
            let head = String::from_utf8_lossy(&response[..head_end]).to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
            if response.len() >= head_end + length {
                return head.split(' ').nth(1).and_then(|status| status.parse().ok());
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(received) => response.extend_from_slice(&chunk[..received]),
        }
    }
}
