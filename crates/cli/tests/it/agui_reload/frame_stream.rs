//! One connection that sends AG-UI frames.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;

/// The server sends a heartbeat every 15 s.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A frame as a page gets it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) data: Value,
}

impl Frame {
    /// Returns whether a run ends with it.
    pub(super) fn is_end(&self) -> bool {
        self.data["type"] == "RUN_FINISHED" || self.data["type"] == "RUN_ERROR"
    }
}

/// The replica is down, or was killed while it sent.
#[derive(Debug)]
pub(super) struct ConnectionLost;

pub(super) struct FrameStream {
    response: Response,
    text: String,
}

impl FrameStream {
    /// Opens a stream. A replica that starts responds with 503.
    pub(super) async fn open(request: RequestBuilder) -> Result<Self, ConnectionLost> {
        let response = tokio::time::timeout(READ_TIMEOUT, request.send()).await.expect("a response in time");
        let response = response.map_err(|_| ConnectionLost)?;
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            return Err(ConnectionLost);
        }
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
        Ok(Self { response, text: String::new() })
    }

    /// Waits for the next frame; none at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Frame>, ConnectionLost> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let (id, data) = (field("id: ").map(str::to_owned), field("data: ").map(str::to_owned));
                self.text = rest.to_owned();
                let Some(data) = data else { continue };
                let data: Value = serde_json::from_str(&data).expect("JSON");
                // The last frame of a server that stops has no id.
                let Some(id) = id else {
                    assert_eq!(data["code"], "stream-closed", "a frame without an id");
                    return Err(ConnectionLost);
                };
                return Ok(Some(Frame { id, data }));
            }
            let chunk = tokio::time::timeout(READ_TIMEOUT, self.response.chunk()).await;
            match chunk.expect("a heartbeat in time").map_err(|_| ConnectionLost)? {
                Some(chunk) => self.text.push_str(std::str::from_utf8(&chunk).expect("whole characters")),
                None => return Ok(None),
            }
        }
    }
}
