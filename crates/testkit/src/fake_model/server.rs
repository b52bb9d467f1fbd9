//! The HTTP/1.1 server of the model, one request per connection.

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
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::reply::{Reply, Step};
use super::{ModelRequest, chat, gemini, messages, responses};

type RequestLog = Arc<Mutex<Vec<ModelRequest>>>;
type Body = UnsyncBoxBody<Bytes, &'static str>;

/// Every request carries the whole conversation, which can be long.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Lets the sent chunks reach the agent before the connection closes.
const DISCONNECT_DELAY: Duration = Duration::from_millis(50);

/// The headers of Anthropic and of Gemini with the API key.
const KEY_HEADERS: [&str; 2] = ["x-api-key", "x-goog-api-key"];

/// Path prefix before a required API key.
pub(super) const KEY_PATH_PREFIX: &str = "key-";

pub(super) async fn accept(listener: TcpListener, request_log: RequestLog, tasks: Tasks) {
    let stop = tasks.stop();
    while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
        let (request_log, stop) = (Arc::clone(&request_log), stop.clone());
        tasks.spawn("fake model connection", async move {
            stop.run_until_cancelled(serve_connection(stream, request_log)).await;
        });
    }
}

async fn serve_connection(stream: TcpStream, request_log: RequestLog) {
    let service = service_fn(move |request| handle_request(request, Arc::clone(&request_log)));
    let _closed =
        http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
}

async fn handle_request(
    request: Request<Incoming>,
    request_log: RequestLog,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY_BYTES).collect().await else {
        return Ok(json_response(413, &json!({ "error": { "message": "body too large or incomplete" } })));
    };
    let path = head.uri.path().to_owned();
    let body = serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null);
    let request = ModelRequest { path, authorization: authorization(&head.headers), body };
    request_log.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    Ok(match respond(&request) {
        Reply::Json { status: 401, mut body } => {
            // Real providers repeat the wrong key in the error.
            let key = request.authorization.as_deref().unwrap_or("none");
            body["error"]["message"] = json!(format!("Incorrect API key provided: {key}"));
            json_response(401, &body)
        }
        Reply::Json { status, body } => json_response(status, &body),
        Reply::Stream(steps) => stream_response(steps),
    })
}

/// Returns the credential as a bearer token, whichever header has it.
fn authorization(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let key = KEY_HEADERS.into_iter().find_map(text).map(|key| format!("Bearer {key}"));
    text("authorization").map(str::to_owned).or(key)
}

fn respond(request: &ModelRequest) -> Reply {
    if let Some(rest) = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(KEY_PATH_PREFIX)) {
        let expected = format!("Bearer {}", rest.split('/').next().unwrap_or_default());
        if request.authorization.as_ref() != Some(&expected) {
            return Reply::error(401);
        }
    }
    let last = request.path.rsplit('/').next().unwrap_or("");
    match last {
        "responses" => responses::respond(&request.body),
        "completions" => chat::respond(&request.body),
        "messages" => messages::respond(&request.body),
        "models" => {
            let models = json!([{ "id": "fake-model", "object": "model" }]);
            Reply::Json { status: 200, body: json!({ "object": "list", "data": models, "models": [] }) }
        }
        _ => match last.split_once(':') {
            Some((_, method @ ("generateContent" | "streamGenerateContent"))) => {
                gemini::respond(method, &request.body)
            }
            Some(_) | None => Reply::error(404),
        },
    }
}

fn json_response(status: u16, body: &Value) -> Response<Body> {
    let bytes = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    Response::builder()
        .status(StatusCode::from_u16(status).expect("a valid status code"))
        .header("content-type", "application/json")
        .body(bytes.boxed_unsync())
        .expect("a valid response")
}

fn stream_response(steps: Vec<Step>) -> Response<Body> {
    let frames = stream::iter(steps).filter_map(async |step| match step {
        Step::Event(event) => Some(Ok(sse_frame(&event))),
        Step::Data(data) => Some(Ok(Frame::data(Bytes::from(format!("data: {data}\n\n"))))),
        Step::Pause(pause) => {
            tokio::time::sleep(pause).await;
            None
        }
        Step::Disconnect => {
            tokio::time::sleep(DISCONNECT_DELAY).await;
            Some(Err("connection closed on purpose"))
        }
    });
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(StreamBody::new(frames).boxed_unsync())
        .expect("a valid response")
}

fn sse_frame(event: &Value) -> Frame<Bytes> {
    let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
    Frame::data(Bytes::from(format!("{name}data: {event}\n\n")))
}
