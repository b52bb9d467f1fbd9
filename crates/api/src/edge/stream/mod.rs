//! Streams of facts (server-sent events): one machinery for every log that is followed.
//!
//! A [`Source`] says what comes next. A task of its own moves it into a bounded queue, so that a slow reader is seen as
//! such and holds up nobody; the connection reads from the queue.

mod frame;
mod places;
mod pump;
mod queue;

use std::convert::Infallible;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::follow::ClientId;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_protocol::stream::CLIENT_ID_HEADER;
use guildhall_runtime::Tasks;
use guildhall_service::ServiceError;
use guildhall_service::access::authority::Watches;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::parse;

pub(crate) use frame::Fact;
use places::{Place, Places};
use pump::Pump;
use queue::Reader;

/// A quiet stream says this often that it is there.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// Proxies that buffer would hold events back.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What a stream is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) kind: &'static str,
    pub(crate) tenant: TenantId,
    /// The object that is followed.
    pub(crate) owner: Uuid,
}

/// A log that is followed.
pub(crate) trait Source: Send + Sync + 'static {
    fn about(&self) -> About;

    /// Waits for the next fact. May be asked again after an error; nothing is lost.
    fn next(&mut self) -> impl Future<Output = Result<Fact, ServiceError>> + Send;

    /// Returns why the reader's cursor led nowhere, and the log begins anew.
    fn gap(&self) -> Option<Gap>;

    /// Returns where history ended, once all of it was handed out; in a session with the number of the run.
    fn replayed(&self) -> Option<(Seq, Option<i32>)>;

    /// Returns whether a caller may read logs of this kind in a tenant now.
    fn may_read(caller: &Caller, tenant: TenantId) -> bool;
}

/// How many streams may be open on a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Of one principal on one object.
    pub each: usize,
    pub all: usize,
}

/// The streams of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Streams {
    tasks: Tasks,
    watches: Watches,
    places: Places,
    closing: CancellationToken,
}

impl Streams {
    /// `closing` is cancelled when the door closes: streams end, so that their readers go on at another replica.
    #[must_use]
    pub fn new(tasks: Tasks, watches: Watches, limits: StreamLimits, closing: CancellationToken) -> Self {
        Self { tasks, watches, places: Places::new(limits.each, limits.all), closing }
    }

    /// Answers with a stream.
    pub(crate) fn open(
        &self,
        asking: Asking,
        client: ClientId,
        source: impl Source,
    ) -> Result<Response, ApiError> {
        let about = source.about();
        let place = self.places.take(asking.caller.principal, about.owner)?;
        let watch = self.watches.watch(&asking.credential, about.tenant, asking.caller);
        let (out, reader) = queue::queue(pump::BOUNDS);
        let answer = answer(&client, reader, place);
        let pump = Pump { source, client, out };
        self.tasks.spawn("stream", pump.run(watch, self.closing.clone()));
        Ok(answer)
    }
}

fn answer(client: &ClientId, reader: Reader, place: Place) -> Response {
    let frames = unfold((reader, place), async |(mut reader, place)| {
        let frame = match tokio::time::timeout(HEARTBEAT_EVERY, reader.next()).await {
            Ok(frame) => frame?,
            Err(_) => Bytes::from_static(frame::HEARTBEAT.as_bytes()),
        };
        Some((Ok::<_, Infallible>(frame), (reader, place)))
    });
    let mut answer = Body::from_stream(frames).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    if let Ok(client) = HeaderValue::from_str(client.as_str()) {
        headers.insert(HeaderName::from_static(CLIENT_ID_HEADER), client);
    }
    answer
}

/// Reads where a reader left off.
pub(crate) fn last_event_id<C: FromStr>(headers: &HeaderMap) -> Result<Option<C>, ApiError>
where
    C::Err: std::fmt::Display,
{
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    parse("Last-Event-ID", value.to_str().unwrap_or_default()).map(Some)
}

/// Reads who a client says it is, or makes an id up for it.
pub(crate) fn client_id(headers: &HeaderMap) -> Result<ClientId, ApiError> {
    let Some(value) = headers.get(CLIENT_ID_HEADER) else { return Ok(ClientId::generate()) };
    parse("X-Guildhall-Client-Id", value.to_str().unwrap_or_default())
}
