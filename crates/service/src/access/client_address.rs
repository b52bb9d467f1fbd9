//! The address of the client whose request is handled, for the audit log.
//!
//! It belongs to the task of the request, so that no entry of the log can lack it because a call forgot to pass it on.
//! Background tasks have none.

use std::net::IpAddr;

tokio::task_local! {
    static CLIENT_ADDRESS: IpAddr;
}

/// Runs a future for a request from this address.
pub async fn with_client_address<F: Future>(address: IpAddr, future: F) -> F::Output {
    CLIENT_ADDRESS.scope(address, future).await
}

/// Returns the address of the client, in the task of a request.
pub(crate) fn current_client_address() -> Option<IpAddr> {
    CLIENT_ADDRESS.try_with(|address| address.to_canonical()).ok()
}
