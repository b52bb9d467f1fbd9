//! The methods `meta.*`.

use guildhall_protocol::rpc::meta::{ConnectionStatus, Pong, TrustRoots};
use guildhall_service::ServiceError;
use serde_json::Value;

use super::auth::{PROTOCOL, not_connected, role};
use super::connection::{ConnectedIdentity, Connection};
use crate::edge::error::ApiError;

pub(super) fn ping(connection: &Connection) -> Pong {
    Pong { pong: true, timestamp: connection.app.clock.now().as_second() }
}

pub(super) fn status(connection: &Connection) -> Result<ConnectionStatus, ApiError> {
    let client = connection.client.as_deref().ok_or_else(not_connected)?;
    let aid = match &client.identity {
        ConnectedIdentity::Aid(session) => Some(session.aid.to_string()),
        ConnectedIdentity::User(_) => None,
    };
    Ok(ConnectionStatus {
        mode: "gateway".to_owned(),
        aid,
        role: role(&client.identity).to_owned(),
        connected_at: client.connected_at.as_millisecond(),
        protocol_version: PROTOCOL.to_owned(),
    })
}

pub(super) async fn trust_roots(connection: &Connection) -> Result<TrustRoots, ServiceError> {
    let list = connection.app.identity.pki()?.trust_roots().await?;
    Ok(TrustRoots(Value::clone(&list)))
}
