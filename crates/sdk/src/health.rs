//! What a server says of itself.

use guildhall_protocol::rest::ops::capabilities::CapabilitiesView;
use guildhall_protocol::rest::ops::health::{LiveView, ReadinessView};
use reqwest::StatusCode;

use crate::{Client, ClientError};

impl Client {
    /// Asks whether the server runs. Needs no token.
    pub async fn live(&self) -> Result<LiveView, ClientError> {
        self.call_openly(self.outside_the_api(&["health", "live"])).await
    }

    /// Asks whether the server should get traffic; one that should not answers too, and says why.
    pub async fn readiness(&self) -> Result<ReadinessView, ClientError> {
        let request = self.outside_the_api(&["health", "readiness"]);
        self.call_with(request, &[StatusCode::SERVICE_UNAVAILABLE]).await
    }

    /// Asks what the server can do, without a token.
    pub async fn capabilities(&self) -> Result<CapabilitiesView, ClientError> {
        self.call_openly(self.outside_the_api(&["capabilities"])).await
    }

    /// Asks what the server can do, with a token: for one that tells nobody else.
    pub async fn capabilities_with_token(&self) -> Result<CapabilitiesView, ClientError> {
        self.call(self.outside_the_api(&["capabilities"])).await
    }
}
