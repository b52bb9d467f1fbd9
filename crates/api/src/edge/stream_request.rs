//! A request for a stream: who reads it, and from which event on.

use std::str::FromStr;

use axum::http::HeaderMap;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::journal::follow::ClientId;
use guildhall_protocol::stream::CLIENT_ID_HEADER;

use crate::edge::caller::{Follower, OperatorFollower};
use crate::edge::error::ApiError;
use crate::edge::input::parse;
use crate::edge::stream::{OperatorOnly, StreamReader};

impl<R: Right> StreamReader<R> for Follower<R> {
    fn caller(&self) -> &Caller {
        &self.caller
    }
}

impl StreamReader<OperatorOnly> for OperatorFollower {
    fn caller(&self) -> &Caller {
        &self.operator
    }
}

/// Parses the cursor in `Last-Event-ID`.
pub(crate) fn last_event_id<C: FromStr>(headers: &HeaderMap) -> Result<Option<C>, ApiError>
where
    C::Err: std::fmt::Display,
{
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    parse("Last-Event-ID", value.to_str().unwrap_or_default()).map(Some)
}

/// Parses the client id, or generates one.
pub(crate) fn client_id(headers: &HeaderMap) -> Result<ClientId, ApiError> {
    let Some(value) = headers.get(CLIENT_ID_HEADER) else { return Ok(ClientId::generate()) };
    parse("X-Guildhall-Client-Id", value.to_str().unwrap_or_default())
}
