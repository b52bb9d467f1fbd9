//! `CONNECT` and absolute URLs to other hosts.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use guildhall_egress::{AddressRules, Connector, Resolver};
use guildhall_runtime::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::time::timeout;

use super::fixture::{KEY, RecordingServer, TestProxy, WAIT, config, json, read_until, status};
use crate::model_proxy::{ExceededCap, HostRules, ModelCaps, ModelProxyConfig};

/// Stands for a public address: tests call only this machine.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// An attacker's name server: another address for every query; the last one is repeated.
struct ScriptedResolver {
    addresses: Vec<IpAddr>,
    queries: AtomicUsize,
    names: Mutex<Vec<String>>,
}

impl ScriptedResolver {
    fn new(addresses: &[&str]) -> Arc<Self> {
        let addresses = addresses.iter().map(|address| address.parse().expect("an address")).collect();
        Arc::new(Self { addresses, queries: AtomicUsize::new(0), names: Mutex::default() })
    }

    fn names(&self) -> Vec<String> {
        self.names.lock().expect("no panic inside").clone()
    }
}

impl Resolver for ScriptedResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.names.lock().expect("no panic inside").push(name.to_owned());
        let index = self.queries.fetch_add(1, Ordering::SeqCst).min(self.addresses.len() - 1);
        std::future::ready(Ok(vec![self.addresses[index]])).boxed()
    }
}

fn with_hosts(hosts: HostRules, resolver: &Arc<ScriptedResolver>) -> ModelProxyConfig {
    let allow = vec![format!("{PUBLIC}/32").parse().expect("a range")];
    let rules = AddressRules { allow, ..AddressRules::default() };
    let connector = Connector::with_resolver(rules, Arc::clone(resolver) as _);
    ModelProxyConfig { hosts, connector, ..config("http://127.0.0.1:1/v1") }
}

fn allow_list(patterns: &[String]) -> HostRules {
    HostRules::AllowList(patterns.iter().map(|pattern| pattern.parse().expect("a pattern")).collect())
}

/// A server that sends back what it receives. Returns its port.
async fn start_echo(address: Ipv4Addr) -> (Tasks, u16) {
    let (tasks, listener) = (Tasks::new(), TcpListener::bind((address, 0)).await.expect("a free port"));
    let port = listener.local_addr().expect("it is bound").port();
    let connections = tasks.clone();
    tasks.spawn("echo", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn("echo connection", async move {
                let (mut reader, mut writer) = stream.split();
                let _closed = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    (tasks, port)
}

async fn open_tunnel(proxy: &TestProxy, target: &str) -> UnixStream {
    let mut agent = proxy.connect().await;
    let request = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n");
    agent.write_all(request.as_bytes()).await.expect("sent");
    assert!(read_until(&mut agent, "HTTP/1.1 200 OK\r\n").await, "{target}");
    agent
}

async fn connect_status(proxy: &TestProxy, target: &str) -> u16 {
    status(
        &proxy.send_raw(format!("CONNECT {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await,
    )
}

#[tokio::test]
async fn no_rule_refuses_every_host_without_a_lookup() {
    let resolver = ScriptedResolver::new(&["127.0.0.2"]);
    let proxy = TestProxy::start(with_hosts(HostRules::None, &resolver)).await;
    for target in ["example.com:443", "127.0.0.2:443", "1.1.1.1:443", "localhost:80"] {
        assert_eq!(connect_status(&proxy, target).await, 403, "{target}");
    }
    assert_eq!(status(&proxy.send("GET http://example.com/", "", "").await), 403);
    assert_eq!(resolver.names(), [""; 0]);
}

#[tokio::test]
async fn internal_addresses_are_refused_under_public() {
    let (_echo, port) = start_echo(Ipv4Addr::LOCALHOST).await;
    let resolver = ScriptedResolver::new(&["127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "10.0.0.1"]);
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &resolver)).await;
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "10.0.0.1",
        "192.168.1.1",
        "100.100.100.200",
        "168.63.129.16",
        "[64:ff9b::7f00:1]",
        "a.example",
        "b.example",
        "c.example",
        "d.example",
    ] {
        assert_eq!(connect_status(&proxy, &format!("{host}:{port}")).await, 403, "{host}");
    }
    let reply = proxy.send("GET http://169.254.169.254/latest/meta-data/", "", "").await;
    assert_eq!(status(&reply), 403);
    assert!(!reply.contains("169.254"), "{reply}");
}

#[tokio::test]
async fn tunnel_copies_both_directions_and_counts_bytes() {
    let (_echo, port) = start_echo(PUBLIC).await;
    let resolver = ScriptedResolver::new(&["127.0.0.2"]);
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &resolver)).await;
    let mut agent = open_tunnel(&proxy, &format!("echo.example:{port}")).await;
    agent.write_all(b"ping").await.expect("sent");
    assert!(read_until(&mut agent, "ping").await);
    agent.shutdown().await.expect("half-closed");
    assert!(!read_until(&mut agent, "more").await);
    assert_eq!((proxy.proxy.usage().bytes, proxy.proxy.usage().requests), (8, 0));
}

#[tokio::test]
async fn allow_list_allows_its_hosts_only() {
    let (_echo, port) = start_echo(PUBLIC).await;
    let resolver = ScriptedResolver::new(&["127.0.0.2"]);
    let rules = allow_list(&[format!("registry.example:{port}"), format!("*.crates.example:{port}")]);
    let proxy = TestProxy::start(with_hosts(rules, &resolver)).await;
    for host in ["registry.example", "static.crates.example"] {
        open_tunnel(&proxy, &format!("{host}:{port}")).await;
    }
    for host in ["crates.example", "registry.example.evil.org", "evil.org", "127.0.0.2"] {
        assert_eq!(connect_status(&proxy, &format!("{host}:{port}")).await, 403, "{host}");
    }
    assert_eq!(connect_status(&proxy, "registry.example:443").await, 403);
    assert_eq!(resolver.names(), ["registry.example", "static.crates.example"]);
}

#[tokio::test]
async fn allowed_name_with_an_internal_address_is_refused() {
    let (_echo, port) = start_echo(Ipv4Addr::LOCALHOST).await;
    let resolver = ScriptedResolver::new(&["127.0.0.1"]);
    let rules = allow_list(&[format!("registry.example:{port}")]);
    let proxy = TestProxy::start(with_hosts(rules, &resolver)).await;
    assert_eq!(connect_status(&proxy, &format!("registry.example:{port}")).await, 403);
}

#[tokio::test]
async fn rebound_name_is_resolved_once_and_checked_each_time() {
    let (_echo, port) = start_echo(PUBLIC).await;
    let resolver = ScriptedResolver::new(&["127.0.0.2", "127.0.0.1"]);
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &resolver)).await;
    let mut agent = open_tunnel(&proxy, &format!("rebind.example:{port}")).await;
    agent.write_all(b"ping").await.expect("sent");
    assert!(read_until(&mut agent, "ping").await);
    assert_eq!(resolver.names().len(), 1);
    assert_eq!(connect_status(&proxy, &format!("rebind.example:{port}")).await, 403);
}

#[tokio::test]
async fn tunnel_is_closed_when_the_byte_cap_is_passed() {
    let (_echo, port) = start_echo(PUBLIC).await;
    let caps = ModelCaps { bytes: Some(10_000), ..ModelCaps::default() };
    let config = with_hosts(HostRules::Public, &ScriptedResolver::new(&["127.0.0.2"]));
    let proxy = TestProxy::start(ModelProxyConfig { caps, ..config }).await;
    let mut agent = open_tunnel(&proxy, &format!("echo.example:{port}")).await;
    let _reset = agent.write_all(&[b'x'; 20_000]).await;
    let mut received = Vec::new();
    let _reset = timeout(WAIT, agent.read_to_end(&mut received)).await.expect("the tunnel closes");
    assert!(received.len() <= 10_000, "{}", received.len());
    assert_eq!(timeout(WAIT, proxy.proxy.exceeded()).await.expect("a cap is passed"), ExceededCap::Bytes);
    assert_eq!(connect_status(&proxy, &format!("echo.example:{port}")).await, 403);
}

#[tokio::test]
async fn absolute_url_is_sent_to_the_checked_host_without_our_credential() {
    let server = RecordingServer::start_at(PUBLIC, |_| json("hello")).await;
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &ScriptedResolver::new(&["127.0.0.2"]))).await;
    let authority = format!("plain.example:{}", server.address.port());
    let headers = "proxy-authorization: Basic x\r\nproxy-connection: close\r\n";
    let reply = proxy.send(&format!("POST http://{authority}/path?query=1"), headers, "body").await;
    assert_eq!(status(&reply), 200);
    assert!(reply.ends_with("hello"), "{reply}");
    let request = server.requests().remove(0);
    assert_eq!((request.target.as_str(), &request.body[..]), ("/path?query=1", &b"body"[..]));
    assert_eq!(request.headers["host"], authority);
    assert!(!request.headers.contains_key("proxy-authorization"));
    assert!(!format!("{:?}", request.headers).contains(KEY));
    assert_eq!(proxy.proxy.usage().bytes, 9);
}

#[tokio::test]
async fn closed_port_is_a_502_without_an_address() {
    let listener = TcpListener::bind((PUBLIC, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    drop(listener);
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &ScriptedResolver::new(&["127.0.0.2"]))).await;
    let request = format!("CONNECT closed.example:{port} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let reply = proxy.send_raw(request).await;
    assert_eq!(status(&reply), 502);
    assert!(!reply.contains("127.0.0.2"), "{reply}");
}

#[tokio::test]
async fn target_with_a_user_name_or_without_a_port_is_refused() {
    let proxy = TestProxy::start(with_hosts(HostRules::Public, &ScriptedResolver::new(&["127.0.0.2"]))).await;
    for target in
        ["example.com@127.0.0.2:443", "example.com", "example.com:", "example.com:0", "example.com:99999"]
    {
        let status = connect_status(&proxy, target).await;
        assert!(matches!(status, 400 | 403), "{target}: {status}");
    }
}
