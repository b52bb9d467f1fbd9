//! Frames of streams in the API document.
//!
//! OpenAPI 3.1 cannot describe server-sent events. `x-itemSchema` has the meaning of `itemSchema` in OpenAPI 3.2: the
//! schema of one frame, with JSON in its `data`.

use guildhall_protocol::stream::{
    ApprovalStreamData, AuditStreamData, RelationStreamData, RunStreamData, SessionStreamData,
};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::{OpenApi, RefOr};

const MEDIA_TYPE: &str = "text/event-stream";

/// Adds the schemas of the frames to the streams.
pub(super) fn declare(document: &mut OpenApi) {
    declare_data::<RunStreamData>(document, &["followRun"]);
    declare_data::<SessionStreamData>(document, &["followSession"]);
    declare_data::<ApprovalStreamData>(document, &["followApprovals"]);
    declare_data::<RelationStreamData>(document, &["followRelations"]);
    declare_data::<AuditStreamData>(document, &["followAudit", "followInstallationAudit"]);
}

fn declare_data<T: ToSchema>(document: &mut OpenApi, streams: &[&str]) {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    document.components.get_or_insert_default().schemas.extend(schemas);
    for operation in document.paths.paths.values_mut().filter_map(|item| item.get.as_mut()) {
        if !operation.operation_id.as_deref().is_some_and(|id| streams.contains(&id)) {
            continue;
        }
        let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") else { continue };
        let Some(RefOr::T(content)) = response.content.get_mut(MEDIA_TYPE) else { continue };
        content.extensions = Some(Extensions::from_iter([("x-itemSchema", frame(&T::name()))]));
    }
}

fn frame(data: &str) -> Value {
    json!({
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": { "type": "string", "description": "`event` or `entry`, or the name of a notice" },
            "id": { "type": "string", "description": "The cursor of an event or entry; notices have none" },
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": { "$ref": format!("#/components/schemas/{data}") },
            },
        },
    })
}
