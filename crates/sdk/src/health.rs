//! Health and capabilities of a server.

use guildhall_protocol::rest::ops::capabilities::CapabilitiesView;
use guildhall_protocol::rest::ops::health::{LiveView, ReadinessView};
use reqwest::StatusCode;

use crate::{Client, ClientError};

impl Client {
    /// Checks that the server is alive. Needs no token.
    pub async fn live(&self) -> Result<LiveView, ClientError> {
        self.call_without_token(self.root_request(&["health", "live"])).await
    }

    /// Checks whether the server is ready for traffic. A server that is not ready responds with the reasons.
    pub async fn readiness(&self) -> Result<ReadinessView, ClientError> {
        let request = self.root_request(&["health", "readiness"]);
        self.call_with(request, &[StatusCode::SERVICE_UNAVAILABLE]).await
    }

    /// Returns the capabilities of the server, without a token.
    pub async fn capabilities(&self) -> Result<CapabilitiesView, ClientError> {
        self.call_without_token(self.root_request(&["capabilities"])).await
    }

    /// Returns the capabilities of the server with a token, for servers that require one.
    pub async fn capabilities_with_token(&self) -> Result<CapabilitiesView, ClientError> {
        self.call(self.root_request(&["capabilities"])).await
    }
}
