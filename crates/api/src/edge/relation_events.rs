//! Events about relations, the same on the socket and in streams.

use guildhall_protocol::rpc::h2a::{RelationRow, notice_event};
use guildhall_service::relations::RelationEvent;
use serde_json::{Value, json};

/// Returns the method of an event's notification, and its parameters.
pub(crate) fn relation_event(event: &RelationEvent) -> (&'static str, Value) {
    match event {
        RelationEvent::Changed(state) => {
            ("event/h2a.relation_changed", json!(RelationRow::from(state.as_ref())))
        }
        RelationEvent::Notice(notice) => notice_event(notice),
    }
}
