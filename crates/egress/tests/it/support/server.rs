use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use guildhall_runtime::Tasks;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// The response to every request.
#[derive(Clone)]
pub(crate) enum ScriptedResponse {
    /// With a cookie, which must not be sent back.
    Text(&'static str),
    Redirect(u16, String),
    /// This many bytes, with a content length.
    Bytes(usize),
    /// An endless body without a content length.
    Endless,
    /// No response.
    Silence,
    /// The start of a body, then nothing.
    Stall,
    /// The start of a body, then a closed connection.
    BreakOff,
}

/// A received request.
#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) path_and_query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// An HTTP server that records every connection and request.
pub(crate) struct Server {
    address: SocketAddr,
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    _tasks: Tasks,
}

impl Server {
    pub(crate) async fn start(response: ScriptedResponse) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), response).await.expect("a free port")
    }

    /// Starts two servers on the same port of two loopback addresses.
    pub(crate) async fn start_pair(
        first: (IpAddr, ScriptedResponse),
        second: (IpAddr, ScriptedResponse),
    ) -> (Self, Self) {
        for _ in 0..50 {
            let one = Self::start_at((first.0, 0).into(), first.1.clone()).await.expect("a free port");
            if let Some(two) = Self::start_at((second.0, one.port()).into(), second.1.clone()).await {
                return (one, two);
            }
        }
        panic!("no port was free on both {} and {}", first.0, second.0);
    }

    pub(crate) async fn start_at(address: SocketAddr, response: ScriptedResponse) -> Option<Self> {
        let listener = TcpListener::bind(address).await.ok()?;
        let address = listener.local_addr().expect("it is bound");
        let (tasks, peers, received) = (Tasks::new(), Arc::default(), Arc::default());
        tasks.spawn(
            "accept",
            accept(listener, response, Arc::clone(&peers), Arc::clone(&received), tasks.clone()),
        );
        Some(Self { address, peers, received, _tasks: tasks })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the URL of a path with another host name.
    pub(crate) fn url_as(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut *self.received.lock().expect("no panic inside"))
    }

    /// Counts the connections so far.
    ///
    /// Connections are accepted in order. So it opens one more and waits until that one is accepted: all earlier ones
    /// are counted then.
    pub(crate) async fn connections(&self) -> usize {
        let ours = TcpStream::connect(self.address).await.expect("the server listens");
        let ours = ours.local_addr().expect("it is connected");
        for _ in 0..1000 {
            {
                let mut peers = self.peers.lock().expect("no panic inside");
                if let Some(index) = peers.iter().position(|peer| *peer == ours) {
                    peers.remove(index);
                    return index;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the server does not accept");
    }
}

async fn accept(
    listener: TcpListener,
    response: ScriptedResponse,
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    tasks: Tasks,
) {
    while let Ok((stream, peer)) = listener.accept().await {
        peers.lock().expect("no panic inside").push(peer);
        let (response, received) = (response.clone(), Arc::clone(&received));
        tasks.spawn("connection", async move {
            let service = service_fn(move |request| serve(request, response.clone(), Arc::clone(&received)));
            // One request per connection, so that every call opens a new one.
            let _closed =
                http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

type Body = BoxBody<Bytes, &'static str>;

async fn serve(
    request: Request<Incoming>,
    response: ScriptedResponse,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a full_body request").to_bytes().to_vec();
    let path_and_query = head.uri.to_string();
    let request = ReceivedRequest { method: head.method, path_and_query, headers: head.headers, body };
    received.lock().expect("no panic inside").push(request);
    let chunk = || Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])));
    Ok(match response {
        ScriptedResponse::Text(text) => Response::builder()
            .header("set-cookie", "session=hunter2")
            .body(full_body(text))
            .expect("a valid response"),
        ScriptedResponse::Redirect(status, to) => Response::builder()
            .status(status)
            .header("location", to)
            .body(full_body("elsewhere"))
            .expect("a valid response"),
        ScriptedResponse::Bytes(count) => Response::new(full_body(vec![b'x'; count])),
        ScriptedResponse::Endless => streamed_response(stream::repeat_with(chunk)),
        ScriptedResponse::Silence => std::future::pending().await,
        ScriptedResponse::Stall => {
            streamed_response(stream::once(async move { chunk() }).chain(stream::pending()))
        }
        ScriptedResponse::BreakOff => {
            streamed_response(stream::iter([chunk(), Err("connection closed")]).then(async |frame| {
                // Lets the start of the body arrive before the connection closes.
                tokio::time::sleep(Duration::from_millis(20)).await;
                frame
            }))
        }
    })
}

fn full_body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

fn streamed_response<S>(frames: S) -> Response<Body>
where
    S: stream::Stream<Item = Result<Frame<Bytes>, &'static str>> + Send + Sync + 'static,
{
    Response::new(BodyExt::boxed(StreamBody::new(frames)))
}
