//! The task of a stream: replays the history at the pace of the client, then sends live events.

use std::time::Duration;

use axum::body::Bytes;
use guildhall_domain::FailureKind;
use guildhall_domain::journal::follow::{ClientId, PushResult, QueueSize};
use guildhall_domain::ops::capability::Protocol;
use guildhall_protocol::stream::Notice;
use guildhall_service::access::authority::AuthorityWatch;
use metrics::counter;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::frame::{RETRY, encode_notice, hello};
use super::queue::{QueuedEvents, Writer};
use super::{ReadRight, StreamEvent, StreamSource};

/// Queued live events of one client. 256 frames are some seconds of agent output. With 2 MiB, a thousand stalled
/// clients use at most 2 GiB until they are evicted. A single larger event is always accepted.
pub(super) const MAX_QUEUE: QueueSize = QueueSize { frames: 256, bytes: 2 * 1024 * 1024 };

/// How long the queue of a client may stay full before it is evicted. Gives a client that keeps reading time to handle
/// a burst.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(3);

/// The delay before a failed read is retried. In a long outage of PostgreSQL the watch ends the stream.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// One open stream.
pub(super) struct StreamTask<S> {
    pub(super) source: S,
    pub(super) client: ClientId,
    pub(super) out: Writer,
}

/// How a stream ended.
enum StreamEnd {
    /// The client was too slow.
    Evicted,
    Closed(FailureKind),
    Disconnected,
    /// The log has ended.
    Finished,
}

impl<S: StreamSource> StreamTask<S> {
    /// Sends events until the client or the server ends the stream.
    pub(super) async fn run(mut self, mut watch: AuthorityWatch, closing: CancellationToken) {
        let (topic, sending) = (self.source.topic(), watch.clone());
        debug!(client.id = %self.client, stream = topic.kind, owner = %topic.owner, "stream opened");
        let end = tokio::select! {
            end = send_events(&mut self.source, &self.client, &self.out, sending) => end,
            kind = watch.ended(|caller| S::ReadRight::may_read(caller, topic.tenant)) => StreamEnd::Closed(kind),
            () = closing.cancelled() => StreamEnd::Closed(FailureKind::NotReady),
            () = self.out.reader_dropped() => StreamEnd::Disconnected,
        };
        match end {
            StreamEnd::Evicted => {
                counter!("guildhall_stream_evictions_total").increment(1);
                info!(client.id = %self.client, stream = topic.kind, owner = %topic.owner, "slow client evicted");
                let notice = Notice::ClientEvicted { reason: "queue_overflow".to_owned() };
                self.out.finish(self.source.last_frame(notice), QueuedEvents::Discard);
            }
            StreamEnd::Closed(kind) => {
                debug!(client.id = %self.client, stream = topic.kind, owner = %topic.owner, %kind, "stream closed");
                // At shutdown queued events are still sent; a client that lost access gets none of them.
                let queued =
                    if kind == FailureKind::NotReady { QueuedEvents::Send } else { QueuedEvents::Discard };
                let notice = Notice::Closed { failure_kind: kind.to_string() };
                self.out.finish(self.source.last_frame(notice), queued);
            }
            StreamEnd::Finished => {
                debug!(client.id = %self.client, stream = topic.kind, owner = %topic.owner, "stream finished");
            }
            StreamEnd::Disconnected => {
                debug!(client.id = %self.client, stream = topic.kind, owner = %topic.owner, "client disconnected");
            }
        }
    }
}

/// Sends the history and then live events. Returns when the client is too slow, or when the log has ended.
async fn send_events<S: StreamSource>(
    source: &mut S,
    client: &ClientId,
    out: &Writer,
    watch: AuthorityWatch,
) -> StreamEnd {
    if S::HAS_NOTICES {
        out.push_control(Bytes::from_static(RETRY.as_bytes()));
        out.push_control(encode_notice(hello(client, Protocol::CURRENT)));
        if let Some(gap) = source.gap() {
            let reason = gap.as_str().to_owned();
            out.push_control(encode_notice(Notice::Gap { recovered: false, reason }));
        }
    }
    replay(source, out).await;
    send_live(source, out, watch).await
}

/// Sends the events from before the stream was opened. A client is never evicted here: pending history stays in
/// PostgreSQL, not in memory.
async fn replay<S: StreamSource>(source: &mut S, out: &Writer) {
    let mut replayed_count = 0;
    let (last_seq, run_ordinal) = loop {
        if let Some(replayed) = source.replayed() {
            break replayed;
        }
        let Some(event) = next_event(source).await else { return };
        out.push_when_ready(&event.encode()).await;
        replayed_count += 1;
    };
    if S::HAS_NOTICES {
        out.push_control(encode_notice(Notice::ReplayComplete {
            replayed_count,
            last_seq: last_seq.get(),
            run_ordinal,
        }));
    }
    out.drained().await;
}

/// Sends live events. A client whose queue stays full is evicted; other clients are not affected. A stream that is paused
/// is not the fault of its client.
async fn send_live<S: StreamSource>(source: &mut S, out: &Writer, mut watch: AuthorityWatch) -> StreamEnd {
    let mut full_since = None;
    while let Some(event) = next_event(source).await {
        let frame = event.encode();
        if out.push(&frame) == PushResult::Full {
            warn_if_slow::<S>(out);
            let mut since: Instant = *full_since.get_or_insert_with(Instant::now);
            while timeout_at(since + EVICTION_TIMEOUT, out.push_when_ready(&frame)).await.is_err() {
                if watch.is_fresh() {
                    return StreamEnd::Evicted;
                }
                watch.fresh().await;
                since = Instant::now();
                full_since = Some(since);
            }
        }
        warn_if_slow::<S>(out);
        if !out.is_overflowing() {
            full_since = None;
        }
    }
    StreamEnd::Finished
}

fn warn_if_slow<S: StreamSource>(out: &Writer) {
    let Some(load) = out.take_warning() else { return };
    counter!("guildhall_stream_warnings_total").increment(1);
    if !S::HAS_NOTICES {
        return;
    }
    out.push_control_front(encode_notice(Notice::SlowClientWarning {
        queued_frames: load.frames,
        max_frames: MAX_QUEUE.frames,
        queued_bytes: load.bytes,
        max_bytes: MAX_QUEUE.bytes,
    }));
}

/// Waits for the next event. Retries on errors.
async fn next_event<S: StreamSource>(source: &mut S) -> Option<StreamEvent> {
    loop {
        match source.next().await {
            Ok(event) => return event,
            Err(error) => {
                debug!(error = &error as &dyn std::error::Error, "cannot read the next event");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}
