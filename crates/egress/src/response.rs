//! Responses.

use std::fmt;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// What is read of a response whose body does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: StatusCode,
    /// The text of `Retry-After`.
    pub retry_after: Option<String>,
}

/// A complete response. Redirects are returned like any other response.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Prints neither header values nor the body: they may contain tokens.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &header_names(&self.headers))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Returns only the header names: the `Debug` output of the map, and even of its key iterator, includes the values.
pub(crate) fn header_names(headers: &HeaderMap) -> Vec<&str> {
    headers.keys().map(|name| name.as_str()).collect()
}

/// A response could not be read completely.
#[derive(Debug)]
pub(crate) enum ReadError {
    TooLarge,
    Broken(reqwest::Error),
}

impl Response {
    /// Reads a response of at most `max_bytes`.
    pub(crate) async fn read(mut response: reqwest::Response, max_bytes: usize) -> Result<Self, ReadError> {
        let content_length = response.content_length().unwrap_or_default();
        if usize::try_from(content_length).map_or(true, |content_length| content_length > max_bytes) {
            return Err(ReadError::TooLarge);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(ReadError::Broken)? {
            if body.len() + chunk.len() > max_bytes {
                return Err(ReadError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self { status: response.status(), headers: std::mem::take(response.headers_mut()), body })
    }
}
