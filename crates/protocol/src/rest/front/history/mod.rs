//! The body of `GET /api/v1/agent/history`: the messages of one day of a thread.
//!
//! Days are those of UTC. Tool messages have no type here, because they are not returned.

mod day_page;
mod query;

pub use day_page::{HistoryBody, HistoryEntry, SessionMessages, day_page};
pub use query::{HistoryFilter, HistoryQuery, HistoryQueryError};

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ui_schema::UiSchemaRenderer;
use crate::tagged_union::{NamedSchemas, TaggedUnion};

/// The messages of one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistorySnapshotResponse {
    pub scope: HistoryScope,
    /// Null if there is no thread.
    #[schema(example = "550e8400-e29b-41d4-a716-446655440000")]
    pub thread_id: Option<String>,
    /// The day, in UTC; null if there is no message. It is the `before` of the next older page.
    #[schema(example = "2026-03-15")]
    pub day: Option<Date>,
    /// Whether there are messages of earlier days.
    pub has_more: bool,
    /// Oldest first.
    pub messages: Vec<HistoryMessage>,
}

impl HistorySnapshotResponse {
    /// Returns the response for a caller without a thread.
    #[must_use]
    pub const fn without_thread() -> Self {
        Self {
            scope: HistoryScope::HistoryDay,
            thread_id: None,
            day: None,
            has_more: false,
            messages: Vec::new(),
        }
    }
}

/// What a snapshot covers: always one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryScope {
    HistoryDay,
}

/// A message of the history, by role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum HistoryMessage {
    User(HistoryMessageUser),
    Assistant(HistoryMessageAssistant),
}

fn roles() -> TaggedUnion {
    TaggedUnion::new("role")
        .variant::<HistoryMessageUser>("user")
        .variant::<HistoryMessageAssistant>("assistant")
}

impl PartialSchema for HistoryMessage {
    fn schema() -> RefOr<Schema> {
        roles().schema("A message of the history, by `role`.")
    }
}

impl ToSchema for HistoryMessage {
    fn schemas(schemas: &mut NamedSchemas) {
        roles().schemas(schemas);
    }
}

/// A message of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistoryMessageUser {
    pub id: String,
    /// Position in the thread, from 1.
    pub seq: u64,
    pub content: String,
    pub attachments: Vec<HistoryAttachment>,
    pub timestamp: Timestamp,
}

/// An image of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryAttachment {
    #[schema(example = "image/png")]
    pub mime_type: String,
    /// A signed URL.
    pub url: String,
}

/// A reply of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryMessageAssistant {
    pub id: String,
    /// Position in the thread, from 1.
    pub seq: u64,
    pub content: String,
    /// What to show, compiled from the hints of the agent; null if there are none. snake_case, as in the protocol.
    pub ui_schema: Option<UiSchemaRenderer>,
    pub timestamp: Timestamp,
}

#[cfg(test)]
mod tests {
    use guildhall_testkit::schema::SchemaValidator;
    use serde_json::{Value, json};

    use super::*;
    use crate::schema_document::schema_document;

    /// The example of the protocol.
    fn example() -> Value {
        json!({
            "scope": "history_day",
            "threadId": "550e8400-e29b-41d4-a716-446655440000",
            "day": "2026-03-15",
            "hasMore": true,
            "messages": [
                {
                    "id": "msg-001",
                    "seq": 1,
                    "role": "user",
                    "content": "帮我创建一个日程",
                    "attachments": [{
                        "mimeType": "image/png",
                        "url": "https://project.supabase.co/storage/v1/object/sign/agent-inputs/...",
                    }],
                    "timestamp": "2026-03-15T10:00:00Z",
                },
                {
                    "id": "msg-002",
                    "seq": 2,
                    "role": "assistant",
                    "content": "好的,我来帮您创建日程。",
                    "ui_schema": {
                        "version": "2.0",
                        "locale": "zh-CN",
                        "status": "success",
                        "theme": "default",
                        "root": {
                            "type": "stack",
                            "appearance": "card",
                            "children": [
                                { "type": "text", "content": "日程已创建", "role": "title" },
                                { "type": "badge", "label": "SUCCESS", "status": "success" },
                                { "type": "text", "content": "您的会议日程创建成功", "role": "body" },
                            ],
                        },
                    },
                    "timestamp": "2026-03-15T10:00:05Z",
                },
            ],
        })
    }

    #[test]
    fn example_of_the_protocol_is_read_and_written_unchanged() {
        let snapshot: HistorySnapshotResponse = serde_json::from_value(example()).unwrap();
        assert_eq!(json!(snapshot), example());
    }

    #[test]
    fn snapshots_fit_the_schema() {
        let validator =
            SchemaValidator::new(&schema_document::<HistorySnapshotResponse>(), "HistorySnapshotResponse");
        let mut without_ui_schema = example();
        without_ui_schema["messages"][1]["ui_schema"] = Value::Null;
        let empty = json!(HistorySnapshotResponse::without_thread());
        for snapshot in [example(), without_ui_schema, empty] {
            assert_eq!(validator.errors(&snapshot), Vec::<String>::new());
        }
        let mut tool_message = example();
        tool_message["messages"][1]["role"] = json!("tool");
        assert_ne!(validator.errors(&tool_message), Vec::<String>::new());
    }

    #[test]
    fn absent_values_are_null() {
        let message = HistoryMessage::Assistant(HistoryMessageAssistant {
            id: "msg-002".to_owned(),
            seq: 2,
            content: String::new(),
            ui_schema: None,
            timestamp: Timestamp::UNIX_EPOCH,
        });
        let expected = json!({
            "role": "assistant", "id": "msg-002", "seq": 2, "content": "", "ui_schema": null,
            "timestamp": "1970-01-01T00:00:00Z",
        });
        assert_eq!(json!(message), expected);
        let expected = json!({ "scope": "history_day", "threadId": null, "day": null, "hasMore": false, "messages": [] });
        assert_eq!(json!(HistorySnapshotResponse::without_thread()), expected);
    }
}
