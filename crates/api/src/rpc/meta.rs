//! The methods `meta.*`.

use guildhall_protocol::rpc::meta::{ConnectionStatus, Pong, TrustRoots};
use guildhall_service::ServiceError;
use serde_json::Value;

use super::session::{ClientSession, ConnectedIdentity, PROTOCOL, not_connected};
use crate::edge::error::ApiError;

pub(super) fn ping(session: &ClientSession) -> Pong {
    Pong { pong: true, timestamp: session.app.clock.now().as_second() }
}

pub(super) fn status(session: &ClientSession) -> Result<ConnectionStatus, ApiError> {
    let client = session.client.as_deref().ok_or_else(not_connected)?;
    let aid = match &client.identity {
        ConnectedIdentity::Aid(login) => Some(login.aid.to_string()),
        ConnectedIdentity::User(_) => None,
    };
    Ok(ConnectionStatus {
        mode: "gateway".to_owned(),
        aid,
        role: client.identity.role().to_owned(),
        connected_at: client.connected_at.as_millisecond(),
        protocol_version: PROTOCOL.to_owned(),
    })
}

pub(super) async fn trust_roots(session: &ClientSession) -> Result<TrustRoots, ServiceError> {
    let list = session.app.identity.pki()?.trust_roots().await?;
    Ok(TrustRoots(Value::clone(&list)))
}
