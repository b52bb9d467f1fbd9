//! The HTTP client for a URL that an operator pinned.

use std::time::Duration;

use crate::EgressError;
use crate::client::client_builder;

/// Creates a client without address rules: an operator's model server may be on this machine or in a private network.
/// It has no limit for a whole call, because responses are streams: `read_timeout` limits the wait for the next bytes.
///
/// All other restrictions are those of [`Egress`](crate::Egress): no redirects, proxy variables, cookies or
/// decompression.
pub fn pinned_client(
    connect_timeout: Duration,
    read_timeout: Duration,
) -> Result<reqwest::Client, EgressError> {
    client_builder()?
        .connect_timeout(connect_timeout)
        .read_timeout(read_timeout)
        .build()
        .map_err(|error| EgressError::Setup(error.into()))
}
