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

/// How a server answers whatever it is asked.
#[derive(Clone)]
pub(crate) enum Answer {
    /// With a cookie, which nobody shall bring back.
    Text(&'static str),
    Redirect(u16, String),
    /// So many bytes, their number said in advance.
    Bytes(usize),
    /// Bytes without end, their number not said.
    Endless,
    /// Nothing, ever.
    Silence,
    /// A beginning, then nothing.
    Stall,
    /// A beginning, then a closed connection.
    BreakOff,
}

/// What came in.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path_and_query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A real HTTP server that remembers every connection and every request.
pub(crate) struct Server {
    address: SocketAddr,
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: Tasks,
}

impl Server {
    pub(crate) async fn start(answer: Answer) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), answer).await.expect("a free port")
    }

    /// Starts two servers behind the same port of two addresses of this machine.
    pub(crate) async fn start_pair(first: (IpAddr, Answer), second: (IpAddr, Answer)) -> (Self, Self) {
        for _ in 0..50 {
            let one = Self::start_at((first.0, 0).into(), first.1.clone()).await.expect("a free port");
            if let Some(two) = Self::start_at((second.0, one.port()).into(), second.1.clone()).await {
                return (one, two);
            }
        }
        panic!("no port was free on both {} and {}", first.0, second.0);
    }

    pub(crate) async fn start_at(address: SocketAddr, answer: Answer) -> Option<Self> {
        let listener = TcpListener::bind(address).await.ok()?;
        let address = listener.local_addr().expect("it is bound");
        let (tasks, peers, seen) = (Tasks::new(), Arc::default(), Arc::default());
        tasks.spawn("accept", accept(listener, answer, Arc::clone(&peers), Arc::clone(&seen), tasks.clone()));
        Some(Self { address, peers, seen, _tasks: tasks })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the URL of a path under another name for this server.
    pub(crate) fn url_as(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().expect("no panic inside"))
    }

    /// Counts the connections that were made until now, answered or not.
    ///
    /// Connections are accepted in the order in which they were made. So it makes one more and waits until that one
    /// arrives: whoever came before is counted.
    pub(crate) async fn connections(&self) -> usize {
        let ours = TcpStream::connect(self.address).await.expect("the server listens");
        let ours = ours.local_addr().expect("it is connected");
        for _ in 0..1000 {
            {
                let mut peers = self.peers.lock().expect("no panic inside");
                if let Some(place) = peers.iter().position(|peer| *peer == ours) {
                    peers.remove(place);
                    return place;
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the server does not accept");
    }
}

async fn accept(
    listener: TcpListener,
    answer: Answer,
    peers: Arc<Mutex<Vec<SocketAddr>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    tasks: Tasks,
) {
    while let Ok((stream, peer)) = listener.accept().await {
        peers.lock().expect("no panic inside").push(peer);
        let (answer, seen) = (answer.clone(), Arc::clone(&seen));
        tasks.spawn("connection", async move {
            let service = service_fn(move |request| serve(request, answer.clone(), Arc::clone(&seen)));
            // One request a connection, so that every call must connect anew.
            let _closed =
                http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

type Body = BoxBody<Bytes, &'static str>;

async fn serve(
    request: Request<Incoming>,
    answer: Answer,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a whole request").to_bytes().to_vec();
    let path_and_query = head.uri.to_string();
    let request = Seen { method: head.method, path_and_query, headers: head.headers, body };
    seen.lock().expect("no panic inside").push(request);
    let some = || Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])));
    Ok(match answer {
        Answer::Text(text) => Response::builder()
            .header("set-cookie", "session=hunter2")
            .body(whole(text))
            .expect("a valid answer"),
        Answer::Redirect(status, to) => Response::builder()
            .status(status)
            .header("location", to)
            .body(whole("elsewhere"))
            .expect("a valid answer"),
        Answer::Bytes(count) => Response::new(whole(vec![b'x'; count])),
        Answer::Endless => streamed(stream::repeat_with(some)),
        Answer::Silence => std::future::pending().await,
        Answer::Stall => streamed(stream::once(async move { some() }).chain(stream::pending())),
        Answer::BreakOff => {
            streamed(stream::iter([some(), Err("the server gives up")]).then(async |frame| {
                // The beginning leaves before the connection closes.
                tokio::time::sleep(Duration::from_millis(20)).await;
                frame
            }))
        }
    })
}

fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}

fn streamed<S>(frames: S) -> Response<Body>
where
    S: stream::Stream<Item = Result<Frame<Bytes>, &'static str>> + Send + Sync + 'static,
{
    Response::new(BodyExt::boxed(StreamBody::new(frames)))
}
