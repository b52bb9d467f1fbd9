//! Throughput of streamed responses through forwarder, socket and model proxy, compared with a direct connection.
//!
//! Provider, forwarder, proxy and client run in this process; direct and proxied rounds alternate. Two loads:
//!
//! - paced: concurrent streams with one event each millisecond, faster than today's providers generate tokens;
//! - unpaced: one stream as fast as loopback carries it. Two more hops copy every byte, so this ratio shows the cost of
//!   the proxy beside a provider that costs nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use guildhall_runner::forwarder;
use guildhall_runner::model_proxy::{
    CHAT_ROUTES, CredentialHeader, HostRules, ModelCaps, ModelProxy, ModelProxyConfig,
};
use guildhall_runtime::Tasks;
use reqwest::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::interval;

const ROUNDS: usize = 5;
const STREAMS: usize = 16;
const PACED_EVENTS: usize = 2000;
const UNPACED_EVENTS: usize = 200_000;
const EVENT_INTERVAL: Duration = Duration::from_millis(1);

/// Events that an unpaced provider writes at once.
const EVENTS_PER_WRITE: usize = 64;

const EVENT: &str = "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":1,\
    \"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\ndata: [DONE]\n\n";

/// How fast the provider sends.
#[derive(Debug, Clone, Copy)]
enum Load {
    Paced,
    Unpaced,
}

/// Throughput through the proxy, divided by the direct one.
pub(crate) struct ProxyRatios {
    pub(crate) paced: f64,
    pub(crate) unpaced: f64,
}

pub(crate) async fn measure() -> Result<ProxyRatios> {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let tasks = Tasks::new();
    let unpaced = compare(Load::Unpaced, &tasks).await?;
    let paced = compare(Load::Paced, &tasks).await?;
    tasks.stop().cancel();
    Ok(ProxyRatios { paced, unpaced })
}

/// Returns the throughput through the proxy, divided by the direct one.
async fn compare(load: Load, tasks: &Tasks) -> Result<f64> {
    let provider = start_provider(load, tasks).await?;
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").permissions(private_mode()).tempdir()?;
    let socket = folder.path().join("model.sock");
    let began = Instant::now();
    let proxy = ModelProxy::start(config(provider)?, &socket).await?;
    println!("{load:?}: the proxy started in {:.1?}", began.elapsed());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let forwarder = listener.local_addr()?;
    let stop = tasks.stop();
    tasks.spawn("forwarder", async move {
        stop.run_until_cancelled(forwarder::forward(listener, socket)).await;
    });
    let (mut direct, mut proxied) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        direct.push(measure_round(load, provider).await?);
        proxied.push(measure_round(load, forwarder).await?);
    }
    ensure!(proxy.usage().requests > 0, "no request passed the proxy");
    let (direct, proxied) = (median(&mut direct), median(&mut proxied));
    println!(
        "{load:?}: direct {direct:.1} MB/s, through the proxy {proxied:.1} MB/s (medians of {ROUNDS} rounds)"
    );
    Ok(proxied / direct)
}

fn config(provider: SocketAddr) -> Result<ModelProxyConfig> {
    Ok(ModelProxyConfig {
        base_url: format!("http://{provider}/v1").parse()?,
        credential: Some("bench".into()),
        credential_header: CredentialHeader::Bearer,
        routes: CHAT_ROUTES,
        caps: ModelCaps { tokens: Some(u64::MAX), requests: Some(u64::MAX), bytes: Some(u64::MAX) },
        hosts: HostRules::None,
        connector: guildhall_egress::Connector::default(),
    })
}

fn private_mode() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o700)
}

/// Reads all streams of a round; returns megabytes per second.
async fn measure_round(load: Load, address: SocketAddr) -> Result<f64> {
    let client = Client::builder().no_proxy().build()?;
    let streams = match load {
        Load::Paced => STREAMS,
        Load::Unpaced => 1,
    };
    let began = Instant::now();
    let bytes = futures::future::try_join_all((0..streams).map(|_| read_stream(&client, address))).await?;
    let megabytes = f64::from(u32::try_from(bytes.iter().sum::<usize>())?) / 1e6;
    Ok(megabytes / began.elapsed().as_secs_f64())
}

async fn read_stream(client: &Client, address: SocketAddr) -> Result<usize> {
    let url = format!("http://{address}/v1/chat/completions");
    let mut response = client.post(url).body("{}").send().await?.error_for_status()?;
    let (mut bytes, mut end) = (0, Vec::new());
    while let Some(chunk) = response.chunk().await? {
        bytes += chunk.len();
        end.extend_from_slice(&chunk);
        end.drain(..end.len().saturating_sub(USAGE.len()));
    }
    ensure!(end == USAGE.as_bytes(), "the stream is incomplete");
    Ok(bytes)
}

/// Starts a provider that answers every connection with one stream.
async fn start_provider(load: Load, tasks: &Tasks) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (connections, stop) = (tasks.clone(), tasks.stop());
    tasks.spawn("provider", async move {
        while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
            connections.spawn("provider connection", async move {
                let _closed = send_stream(stream, load).await;
            });
        }
    });
    Ok(address)
}

async fn send_stream(mut stream: TcpStream, load: Load) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    while !request.ends_with(b"{}") {
        ensure!(stream.read_buf(&mut request).await? > 0, "the client closed the connection");
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    match load {
        Load::Paced => {
            let mut pace = interval(EVENT_INTERVAL);
            for _ in 0..PACED_EVENTS {
                pace.tick().await;
                stream.write_all(&chunk(EVENT)).await?;
            }
        }
        Load::Unpaced => {
            let events = chunk(EVENT).repeat(EVENTS_PER_WRITE);
            for _ in 0..UNPACED_EVENTS / EVENTS_PER_WRITE {
                stream.write_all(&events).await?;
            }
        }
    }
    stream.write_all(&[chunk(USAGE), b"0\r\n\r\n".to_vec()].concat()).await.context("cannot end the stream")
}

/// Returns a chunk of the chunked transfer coding.
fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
