//! Encoding of server-sent events.

use axum::body::Bytes;
use guildhall_domain::journal::follow::ClientId;
use guildhall_domain::ops::capability::Protocol;
use guildhall_protocol::stream::{Notice, NoticeFrame};

/// The reconnection delay of clients, sent first in each stream.
pub(super) const RETRY: &str = "retry: 3000\n\n";

/// Keeps an idle connection open.
pub(super) const HEARTBEAT: &str = ": heartbeat\n\n";

/// One event of the followed log.
#[derive(Debug, Clone)]
pub(crate) struct StreamEvent {
    /// The frame name. Different from the names of the control frames. None for clients that only read the data.
    pub(crate) name: Option<&'static str>,
    /// The frame id: sent back as `Last-Event-ID`, the stream continues after it.
    pub(crate) cursor: String,
    /// One line of JSON.
    pub(crate) data: String,
}

impl StreamEvent {
    pub(super) fn encode(&self) -> Bytes {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("id: {}\n{name}data: {}\n\n", self.cursor, self.data).into()
    }
}

/// Returns the first notice of a stream.
pub(crate) fn hello(client: &ClientId, protocol: Protocol) -> Notice {
    Notice::Hello { client_id: client.to_string(), protocol: protocol.to_string() }
}

/// Encodes a control frame. It has no id, so it does not move the client's cursor.
pub(super) fn encode_notice(notice: Notice) -> Bytes {
    let name = notice.name();
    let data = serde_json::to_string(&NoticeFrame::from(notice)).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}
