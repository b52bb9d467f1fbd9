//! An answer, whole and bounded.

use std::fmt;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// What a call brought back. A redirect is an answer like any other.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Shows no header and no byte of the body: tokens are fetched over this.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &names(&self.headers))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Returns the names of headers alone; a map, and even its iterator over names, prints the values too.
pub(crate) fn names(headers: &HeaderMap) -> Vec<&str> {
    headers.keys().map(|name| name.as_str()).collect()
}

/// Why an answer could not be read to its end.
#[derive(Debug)]
pub(crate) enum ReadError {
    TooLarge,
    Broken(reqwest::Error),
}

impl Response {
    /// Reads an answer of at most `max_bytes`.
    pub(crate) async fn read(mut answer: reqwest::Response, max_bytes: usize) -> Result<Self, ReadError> {
        let announced = answer.content_length().unwrap_or_default();
        if usize::try_from(announced).map_or(true, |announced| announced > max_bytes) {
            return Err(ReadError::TooLarge);
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(ReadError::Broken)? {
            if body.len() + chunk.len() > max_bytes {
                return Err(ReadError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self { status: answer.status(), headers: std::mem::take(answer.headers_mut()), body })
    }
}
