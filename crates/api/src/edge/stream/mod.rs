//! Streams of server-sent events, for every log that can be followed.
//!
//! A task per stream moves the events of a [`StreamSource`] into a bounded queue, and the connection reads from the
//! queue. A slow client fills only its own queue and is evicted.

mod frame;
mod permits;
mod queue;
mod task;

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream::unfold;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_domain::journal::follow::ClientId;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_protocol::stream::{CLIENT_ID_HEADER, Notice};
use guildhall_runtime::Tasks;
use guildhall_service::ServiceError;
use guildhall_service::access::authority::{AuthorityWatch, AuthorityWatches};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::edge::error::ApiError;

pub(crate) use frame::StreamEvent;
#[cfg(test)]
pub(crate) use frame::hello;
use permits::{StreamPermit, StreamPermits};
use queue::Reader;
use task::StreamTask;

/// The heartbeat of an idle stream.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// Disables buffering in proxies, which would delay events.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The object that a stream follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamTopic {
    pub(crate) kind: &'static str,
    /// None for the installation.
    pub(crate) tenant: Option<TenantId>,
    /// The id of the object.
    pub(crate) owner: Uuid,
}

/// What a caller needs to read a stream.
pub(crate) trait ReadRight {
    fn may_read(caller: &Caller, tenant: Option<TenantId>) -> bool;
}

/// A right in the tenant of the stream.
impl<R: Right> ReadRight for R {
    fn may_read(caller: &Caller, tenant: Option<TenantId>) -> bool {
        tenant.is_some_and(|tenant| caller.check::<R>(tenant).is_ok())
    }
}

/// For the owner of a thread.
#[derive(Debug)]
pub(crate) struct OwnThreads;

impl ReadRight for OwnThreads {
    fn may_read(caller: &Caller, tenant: Option<TenantId>) -> bool {
        tenant.is_some_and(|tenant| ThreadOwner::<RunsRead>::new(caller.clone(), tenant).is_ok())
    }
}

impl StreamReader<OwnThreads> for ThreadOwner<RunsRead> {
    fn caller(&self) -> &Caller {
        self
    }
}

/// For operators of the installation.
#[derive(Debug)]
pub(crate) struct OperatorOnly;

impl ReadRight for OperatorOnly {
    fn may_read(caller: &Caller, _: Option<TenantId>) -> bool {
        InstallationOperator::new(caller.clone()).is_ok()
    }
}

/// A caller who was authenticated just now and may read the streams of a [`ReadRight`].
pub(crate) trait StreamReader<R> {
    fn caller(&self) -> &Caller;
}

/// A log that can be followed.
pub(crate) trait StreamSource: Send + Sync + 'static {
    /// What a caller needs, all the time that the stream is open.
    type ReadRight: ReadRight;

    /// Whether the client understands notices. Without them the stream has only events and its last frame.
    const HAS_NOTICES: bool = true;

    fn topic(&self) -> StreamTopic;

    /// Waits for the next event. May be called again after an error without losing events. Returns none when the log has
    /// ended; a log that can grow never does.
    fn next(&mut self) -> impl Future<Output = Result<Option<StreamEvent>, ServiceError>> + Send;

    /// Returns why the client's cursor is unknown and the log is replayed from the beginning.
    fn gap(&self) -> Option<Gap>;

    /// Returns the last replayed position, once the replay is complete; for sessions with the ordinal of the run.
    fn replayed(&self) -> Option<(Seq, Option<i32>)>;

    /// Returns the last frame of a stream that the server ends early; none if the client needs no such frame.
    fn last_frame(&self, notice: Notice) -> Option<Bytes> {
        Some(frame::encode_notice(notice))
    }
}

/// The limits of open streams on a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Of one principal on one object.
    pub per_principal: usize,
    pub total: usize,
}

/// The streams of one replica. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Streams {
    tasks: Tasks,
    watches: AuthorityWatches,
    permits: StreamPermits,
    closing: CancellationToken,
}

impl Streams {
    /// `closing` is cancelled at shutdown: streams end, so that clients continue at another replica.
    #[must_use]
    pub fn new(
        tasks: Tasks,
        watches: AuthorityWatches,
        limits: StreamLimits,
        closing: CancellationToken,
    ) -> Self {
        Self { tasks, watches, permits: StreamPermits::new(limits), closing }
    }

    /// Returns the permit of a request that waits like a stream, for as long as it is kept.
    pub(crate) fn permit(&self, principal: PrincipalId, object: Uuid) -> Result<StreamPermit, ApiError> {
        self.permits.acquire(principal, object)
    }

    /// Starts a stream and returns its response.
    pub(crate) fn open<S: StreamSource>(
        &self,
        follower: &impl StreamReader<S::ReadRight>,
        client: ClientId,
        source: S,
    ) -> Result<Response, ApiError> {
        let topic = source.topic();
        let permit = self.permits.acquire(follower.caller().principal, topic.owner)?;
        let watch = self.watches.watch(follower.caller().clone(), topic.tenant);
        let (out, reader) = queue::bounded_queue(task::MAX_QUEUE);
        let response = event_stream(&client, reader, watch.clone(), permit);
        let task = StreamTask { source, client, out };
        self.tasks.spawn_isolated("stream", task.run(watch, self.closing.clone()));
        Ok(response)
    }
}

/// Returns a response that sends the frames of a queue while the authority of the caller is fresh, and a heartbeat while
/// there are none.
fn event_stream(client: &ClientId, reader: Reader, watch: AuthorityWatch, permit: StreamPermit) -> Response {
    let frames = unfold((reader, watch, permit), async |(mut reader, mut watch, permit)| {
        let frame = match tokio::time::timeout(HEARTBEAT_INTERVAL, reader.next(&mut watch)).await {
            Ok(frame) => frame?,
            Err(_) => Bytes::from_static(frame::HEARTBEAT.as_bytes()),
        };
        Some((Ok::<_, Infallible>(frame), (reader, watch, permit)))
    });
    let mut response = Body::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
    if let Ok(client) = HeaderValue::from_str(client.as_str()) {
        headers.insert(HeaderName::from_static(CLIENT_ID_HEADER), client);
    }
    response
}
