//! The available backends.

use guildhall_protocol::rest::sessions::{BackendView, BackendsView};
use reqwest::Method;

use crate::{Client, ClientError};

impl Client {
    /// Lists the backends with the shared profiles; for a service key also those of its tenant.
    pub async fn list_backends(&self) -> Result<Vec<BackendView>, ClientError> {
        Ok(self.call::<BackendsView>(self.request(Method::GET, &["backends"])).await?.backends)
    }
}
