//! Frames as they go over the wire (server-sent events).

use axum::body::Bytes;
use guildhall_protocol::stream::{Notice, NoticeFrame};

/// How long a client waits before it connects again; also the first line of each stream.
pub(super) const RETRY: &str = "retry: 3000\n\n";

/// Sent when nothing else is, so that neither end nor anything between takes the connection for dead.
pub(super) const HEARTBEAT: &str = ": heartbeat\n\n";

/// One fact of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// The name of the frame: what it is a fact of. Never one that the stream uses for itself.
    pub(crate) name: &'static str,
    /// Sent back as `Last-Event-ID`, the stream goes on after it.
    pub(crate) cursor: String,
    /// JSON, on one line.
    pub(crate) data: String,
}

impl Fact {
    pub(super) fn write(&self) -> Bytes {
        format!("id: {}\nevent: {}\ndata: {}\n\n", self.cursor, self.name, self.data).into()
    }
}

/// Writes what a stream says of itself. Without an id: it moves no reader's cursor.
pub(super) fn write(notice: Notice) -> Bytes {
    let name = notice.name();
    let data = serde_json::to_string(&NoticeFrame::from(notice)).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}
