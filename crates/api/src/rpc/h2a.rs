//! The methods `h2a.*`.

use guildhall_protocol::rpc::Notification;
use guildhall_protocol::rpc::h2a::{RelationRow, RelationsResult};
use guildhall_service::relations::RelationEvent;

use super::call_error::CallError;
use super::session::{ClientSession, not_connected};
use crate::edge::relation_events::relation_event;

pub(super) async fn relations(session: &ClientSession) -> Result<RelationsResult, CallError> {
    let client = session.client.as_deref().ok_or_else(not_connected)?;
    let Some(owner) = client.identity.owner_of_relations() else {
        return Ok(RelationsResult { relations: Vec::new() });
    };
    let found = session.app.relations.relations.list_active(owner).await?;
    Ok(RelationsResult { relations: found.iter().map(RelationRow::from).collect() })
}

/// Returns the notification of an event.
pub(super) fn notification(event: &RelationEvent) -> String {
    let (method, params) = relation_event(event);
    Notification::new(method, params).to_text()
}
