//! Makes the client's address known to the audit log.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use guildhall_service::access::client_address::with_client_address;

use crate::edge::rates::client_address;

pub(super) async fn scope(request: Request, next: Next) -> Response {
    match client_address(request.extensions()) {
        Some(address) => with_client_address(address, next.run(request)).await,
        None => next.run(request).await,
    }
}
