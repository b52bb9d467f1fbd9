//! What strangers can take: 10,000 connections from 50 addresses with the default limits, each with an unfinished frame that
//! is as large as the server reads before `auth.connect`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::SinkExt;
use futures::stream::{self, StreamExt};
use guildhall_protocol::rpc::MAX_UNAUTHENTICATED_FRAME_BYTES;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::aun::{AddressLimits, Gateway, Transport};
use crate::memory::{peak_bytes, reset_peak, resident_bytes};

const CONNECTIONS: usize = 10_000;
const ADDRESSES: usize = 50;
const AT_ONCE: usize = 32;

/// Less than the limit, so that the server waits for the rest.
const UNFINISHED_BYTES: usize = MAX_UNAUTHENTICATED_FRAME_BYTES - 16;

/// The server is to be at rest before the first reading.
const SETTLE: Duration = Duration::from_secs(5);

/// The connections that are open at once stay for less time than the server gives them.
const HOLD: Duration = Duration::from_secs(2);

/// What the flood took.
pub(super) struct Flood {
    pub(super) most_accepted: usize,
    pub(super) growth: u64,
}

/// One connection of a stranger.
type Stranger = WebSocketStream<TcpStream>;

pub(super) async fn measure() -> Result<Flood> {
    let gateway = Gateway::start(Transport::Plain, AddressLimits::Default)?;
    let pid = gateway.installation.server_pid();
    let server = gateway.installation.base.trim_start_matches("http://").parse()?;
    // The first connections find the server without its caches.
    drop(open_all(server, 200).await);
    tokio::time::sleep(SETTLE).await;
    let before = resident_bytes(pid)?;
    reset_peak(pid)?;
    let accepted = open_all(server, CONNECTIONS).await;
    tokio::time::sleep(HOLD).await;
    let growth = peak_bytes(pid)?.saturating_sub(before);
    println!("{} of {CONNECTIONS} accepted, {} KiB more", accepted.len(), growth / 1024);
    ensure!(!accepted.is_empty(), "none was accepted");
    Ok(Flood { most_accepted: accepted.len(), growth })
}

/// Opens connections in turns from all addresses. Returns those that were accepted.
async fn open_all(server: SocketAddr, count: usize) -> Vec<Stranger> {
    let opening = (0..count).map(|number| open(server, number % ADDRESSES));
    stream::iter(opening).buffer_unordered(AT_ONCE).filter_map(async |opened| opened.ok()).collect().await
}

async fn open(server: SocketAddr, address: usize) -> Result<Stranger> {
    let socket = TcpSocket::new_v4()?;
    let host = u8::try_from(address + 2).context("few addresses")?;
    socket.bind((Ipv4Addr::new(127, 0, 1, host), 0).into())?;
    let stream = socket.connect(server).await?;
    let (mut stranger, _) = client_async(format!("ws://{server}/aun"), stream).await?;
    let unfinished = Frame::message(vec![b' '; UNFINISHED_BYTES], OpCode::Data(Data::Text), false);
    stranger.send(Message::Frame(unfinished)).await?;
    Ok(stranger)
}
