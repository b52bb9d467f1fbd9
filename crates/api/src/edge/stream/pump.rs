//! Feeds one reader: history at its own pace, then what is live at the stream's pace.

use std::time::Duration;

use axum::body::Bytes;
use guildhall_domain::FailureKind;
use guildhall_domain::journal::follow::{Bounds, ClientId, Push};
use guildhall_domain::ops::capability::Protocol;
use guildhall_protocol::stream::Notice;
use guildhall_service::access::authority::Watch;
use metrics::counter;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::frame::{RETRY, write};
use super::queue::{Waiting, Writer};
use super::{Fact, Source};

/// What is live and waits for one reader. 256 frames are some seconds of an agent that prints; 2 MiB keep a thousand
/// readers that stall at once within 2 GiB, until their patience is over. The largest event alone is taken anyway.
pub(super) const BOUNDS: Bounds = Bounds { frames: 256, bytes: 2 * 1024 * 1024 };

/// How long a reader may stay without room before it is evicted. A burst larger than the queue is no fault of a reader
/// that keeps reading.
const PATIENCE: Duration = Duration::from_secs(3);

/// A source that failed is asked again after this long. PostgreSQL that stays away ends the stream by the watch.
const REST: Duration = Duration::from_millis(200);

/// One open stream.
pub(super) struct Pump<S> {
    pub(super) source: S,
    pub(super) client: ClientId,
    pub(super) out: Writer,
}

/// How a stream ended.
enum End {
    /// The reader was too slow.
    Evicted,
    Closed(FailureKind),
    /// The reader has gone.
    Left,
}

impl<S: Source> Pump<S> {
    /// Feeds the reader until one side ends it.
    pub(super) async fn run(mut self, mut watch: Watch, closing: CancellationToken) {
        let about = self.source.about();
        debug!(client.id = %self.client, stream = about.kind, owner = %about.owner, "a stream begins");
        let may_read = S::may_read;
        let end = tokio::select! {
            end = feed(&mut self.source, &self.client, &self.out) => end,
            kind = watch.ended(|caller| may_read(caller, about.tenant)) => End::Closed(kind),
            () = closing.cancelled() => End::Closed(FailureKind::NotReady),
            () = self.out.abandoned() => End::Left,
        };
        match end {
            End::Evicted => {
                counter!("guildhall_stream_evictions_total").increment(1);
                info!(client.id = %self.client, stream = about.kind, owner = %about.owner, "a slow reader is evicted");
                let notice = Notice::ClientEvicted { reason: "queue_overflow".to_owned() };
                self.out.finish(write(notice), Waiting::Dropped);
            }
            End::Closed(kind) => {
                debug!(client.id = %self.client, stream = about.kind, owner = %about.owner, %kind, "a stream is closed");
                // Whoever may no longer read gets nothing of what waits.
                let waiting = if kind == FailureKind::NotReady { Waiting::Sent } else { Waiting::Dropped };
                self.out.finish(write(Notice::Closed { failure_kind: kind.to_string() }), waiting);
            }
            End::Left => {
                debug!(client.id = %self.client, stream = about.kind, owner = %about.owner, "a reader has left");
            }
        }
    }
}

/// Hands everything on. Ends only when the reader is too slow.
async fn feed<S: Source>(source: &mut S, client: &ClientId, out: &Writer) -> End {
    out.say(Bytes::from_static(RETRY.as_bytes()));
    let protocol = Protocol::CURRENT.as_str().to_owned();
    out.say(write(Notice::Hello { client_id: client.to_string(), protocol }));
    if let Some(gap) = source.gap() {
        out.say(write(Notice::Gap { recovered: false, reason: gap.as_str().to_owned() }));
    }
    replay(source, out).await;
    live(source, out).await
}

/// Sends what was there when the stream was opened. A reader takes as long for it as it likes, and is never evicted:
/// history waits in PostgreSQL, not here.
async fn replay<S: Source>(source: &mut S, out: &Writer) {
    let mut replayed_count = 0;
    let (last_seq, run_ordinal) = loop {
        if let Some(replayed) = source.replayed() {
            break replayed;
        }
        out.push_slowly(&next(source).await.write()).await;
        replayed_count += 1;
    };
    out.say(write(Notice::ReplayComplete { replayed_count, last_seq: last_seq.get(), run_ordinal }));
    out.drained().await;
}

/// Sends what comes. A reader that has no room for too long is evicted; nobody else waits for it.
async fn live<S: Source>(source: &mut S, out: &Writer) -> End {
    let mut full_since = None;
    loop {
        let frame = next(source).await.write();
        if out.push(&frame) == Push::Full {
            warn_if_slow(out);
            let since: Instant = *full_since.get_or_insert_with(Instant::now);
            if timeout_at(since + PATIENCE, out.push_slowly(&frame)).await.is_err() {
                return End::Evicted;
            }
        }
        warn_if_slow(out);
        if !out.is_overflowing() {
            full_since = None;
        }
    }
}

fn warn_if_slow(out: &Writer) {
    let Some(load) = out.take_warning() else { return };
    counter!("guildhall_stream_warnings_total").increment(1);
    out.say_first(write(Notice::SlowClientWarning {
        queued_frames: load.frames,
        max_frames: BOUNDS.frames,
        queued_bytes: load.bytes,
        max_bytes: BOUNDS.bytes,
    }));
}

/// Waits for the next fact, however often that fails.
async fn next<S: Source>(source: &mut S) -> Fact {
    loop {
        match source.next().await {
            Ok(fact) => return fact,
            Err(error) => {
                debug!(error = &error as &dyn std::error::Error, "a stream could not read");
                tokio::time::sleep(REST).await;
            }
        }
    }
}
