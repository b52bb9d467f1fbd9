//! The model's front door: HTTP/1.1, a connection a request.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use guildhall_runtime::Tasks;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::reply::{Reply, Step};
use super::{ModelRequest, chat, responses};

type Seen = Arc<Mutex<Vec<ModelRequest>>>;
type Body = UnsyncBoxBody<Bytes, &'static str>;

/// The whole of a long conversation is sent with every request.
const BODY_BYTES_AT_MOST: usize = 64 * 1024 * 1024;

/// What was said leaves before the connection is dropped.
const BEFORE_A_CUT: Duration = Duration::from_millis(50);

pub(super) async fn accept(listener: TcpListener, seen: Seen, tasks: Tasks) {
    let stop = tasks.stop();
    while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
        let (seen, stop) = (Arc::clone(&seen), stop.clone());
        tasks.spawn("fake model's connection", async move {
            stop.run_until_cancelled(converse(stream, seen)).await;
        });
    }
}

async fn converse(stream: TcpStream, seen: Seen) {
    let service = service_fn(move |request| serve(request, Arc::clone(&seen)));
    let _closed =
        http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
}

async fn serve(request: Request<Incoming>, seen: Seen) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_BYTES_AT_MOST).collect().await else {
        return Ok(whole(413, &json!({ "error": { "message": "too large, or cut off" } })));
    };
    let path = head.uri.path().to_owned();
    let authorization = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    let body = serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null);
    let request = ModelRequest { path, authorization: authorization.map(str::to_owned), body };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    Ok(match answer(&request) {
        Reply::Whole { status: 401, mut body } => {
            // As providers do: what was wrong is repeated.
            let key = request.authorization.as_deref().unwrap_or("none");
            body["error"]["message"] = json!(format!("Incorrect API key provided: {key}"));
            whole(401, &body)
        }
        Reply::Whole { status, body } => whole(status, &body),
        Reply::Stream(steps) => streamed(steps),
    })
}

fn answer(request: &ModelRequest) -> Reply {
    let last = request.path.rsplit('/').next().unwrap_or("");
    match last {
        "responses" => responses::answer(&request.body),
        "completions" => chat::answer(&request.body),
        "models" => {
            let models = json!([{ "id": "fake-model", "object": "model" }]);
            Reply::Whole { status: 200, body: json!({ "object": "list", "data": models, "models": [] }) }
        }
        _ => Reply::refusal(404),
    }
}

fn whole(status: u16, body: &Value) -> Response<Body> {
    let bytes = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    Response::builder()
        .status(StatusCode::from_u16(status).expect("a status of the table"))
        .header("content-type", "application/json")
        .body(bytes.boxed_unsync())
        .expect("a valid answer")
}

fn streamed(steps: Vec<Step>) -> Response<Body> {
    let frames = stream::iter(steps).filter_map(async |step| match step {
        Step::Event(event) => Some(Ok(frame(&event))),
        Step::Data(data) => Some(Ok(Frame::data(Bytes::from(format!("data: {data}\n\n"))))),
        Step::Pause(pause) => {
            tokio::time::sleep(pause).await;
            None
        }
        Step::Cut => {
            tokio::time::sleep(BEFORE_A_CUT).await;
            Some(Err("cut off on purpose"))
        }
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(StreamBody::new(frames).boxed_unsync())
        .expect("a valid answer")
}

fn frame(event: &Value) -> Frame<Bytes> {
    let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
    Frame::data(Bytes::from(format!("{name}data: {event}\n\n")))
}
