//! Makes the client's address known to the audit log.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use guildhall_service::access::client_address::with_client_address;

use crate::edge::client_address::ClientAddress;

pub(super) async fn scope(request: Request, next: Next) -> Response {
    match request.extensions().get::<ClientAddress>().copied() {
        Some(ClientAddress(address)) => with_client_address(address, next.run(request)).await,
        None => next.run(request).await,
    }
}
