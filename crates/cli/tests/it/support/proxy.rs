//! An HTTP proxy in front of a server that can forward, fail, drop or hang each request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};

/// Longer than any test waits.
const HANG_DURATION: Duration = Duration::from_secs(120);

/// What the proxy does with a request.
pub(crate) enum ProxyAction {
    Forward,
    /// Closes the connection without a response.
    Drop,
    /// Keeps the connection open without a response.
    Hang,
    /// Responds with a failure.
    Fail(FailureKind),
    /// Keeps the request until the gate opens, and closes the connection.
    HoldRequest(Arc<Gate>),
    /// Forwards the request. Keeps a response that contains a text until the gate opens, and closes the connection.
    HoldResponse(Arc<Gate>, &'static str),
}

/// Holds requests until it is opened.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    /// Whether a request or a response is held.
    is_holding: AtomicBool,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.is_open.lock().expect("the lock is not poisoned") = true;
        self.opened.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.is_open.lock().expect("the lock is not poisoned")
    }

    /// Waits until a request or a response is held, at most 10 s.
    pub(crate) fn wait_until_held(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.is_holding.load(Ordering::SeqCst) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn wait(&self) {
        self.is_holding.store(true, Ordering::SeqCst);
        let is_open = self.is_open.lock().expect("the lock is not poisoned");
        let _opened = self.opened.wait_while(is_open, |is_open| !*is_open).expect("the lock is not poisoned");
    }
}

/// A parsed HTTP request.
pub(crate) struct ProxyRequest {
    pub(crate) line: String,
    head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// Starts a proxy in front of a server. Returns its URL.
pub(crate) fn start(
    server: &str,
    action: impl Fn(&ProxyRequest) -> ProxyAction + Send + Sync + 'static,
) -> String {
    start_on("127.0.0.1", &[server], action)
}

/// Starts a proxy on a local address, in front of servers used in turn; it skips a server that is down.
pub(crate) fn start_on(
    host: &str,
    servers: &[&str],
    action: impl Fn(&ProxyRequest) -> ProxyAction + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind((host, 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut servers: Vec<String> =
        servers.iter().map(|server| server.trim_start_matches("http://").to_owned()).collect();
    let action = Arc::new(action);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            servers.rotate_left(1);
            let (servers, action) = (servers.clone(), Arc::clone(&action));
            std::thread::spawn(move || {
                let _connection_closed = serve(stream, &servers, action.as_ref());
            });
        }
    });
    url
}

/// Serves one request per connection.
fn serve(
    mut stream: TcpStream,
    servers: &[String],
    action: &dyn Fn(&ProxyRequest) -> ProxyAction,
) -> io::Result<()> {
    let request = read_request(&mut BufReader::new(stream.try_clone()?))?;
    match action(&request) {
        ProxyAction::Drop => stream.shutdown(Shutdown::Both),
        ProxyAction::Hang => {
            std::thread::sleep(HANG_DURATION);
            Ok(())
        }
        ProxyAction::Fail(kind) => {
            let failure = Failure::new(kind, "rejected by the test proxy");
            let body = serde_json::to_string(&Problem::new(&failure, "0".repeat(32)))?;
            let (status, length) = (kind.row().http_status, body.len());
            write!(
                stream,
                "HTTP/1.1 {status} Error\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
        }
        ProxyAction::Forward => {
            let mut upstream = forward(&request, servers)?;
            io::copy(&mut upstream, &mut stream).map(drop)
        }
        ProxyAction::HoldRequest(gate) => {
            gate.wait();
            stream.shutdown(Shutdown::Both)
        }
        ProxyAction::HoldResponse(gate, text) => {
            let mut response = Vec::new();
            forward(&request, servers)?.read_to_end(&mut response)?;
            if String::from_utf8_lossy(&response).contains(text) {
                gate.wait();
                return stream.shutdown(Shutdown::Both);
            }
            stream.write_all(&response)
        }
    }
}

/// Sends a request to the first server that is up. Returns the connection, to read the response.
fn forward(request: &ProxyRequest, servers: &[String]) -> io::Result<TcpStream> {
    let connection = servers.iter().find_map(|server| TcpStream::connect(server).ok());
    let mut upstream = connection.ok_or(io::ErrorKind::ConnectionRefused)?;
    let forwarded = request.head.iter().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head: String = forwarded.map(|line| format!("{line}\r\n")).collect();
    write!(upstream, "{}\r\n{head}connection: close\r\n\r\n", request.line)?;
    upstream.write_all(&request.body)?;
    Ok(upstream)
}

fn read_request(reader: &mut impl BufRead) -> io::Result<ProxyRequest> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut lines = lines.into_iter();
    Ok(ProxyRequest { line: lines.next().unwrap_or_default(), head: lines.collect(), body })
}
