//! Events by `type`, for the API document. A new type is a payload and a line in `types`.

use guildhall_domain::runs::event;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::EventView;
use super::event_payloads::{
    ApprovalDeclinedPayload, ApprovalRequestedPayload, ApprovalStatusPayload, ApprovalVotePayload,
    ArtifactPayload, AssistantDeltaPayload, AssistantMessagePayload, BackendEventPayload,
    BackendStatusPayload, ClientRunPayload, CommandOutputPayload, CommandStatusPayload, ErrorPayload,
    ReasoningDeltaPayload, ReasoningPayload, RunStatusPayload, TerminalStatusPayload, ToolCallPayload,
    UsagePayload, UserMessagePayload,
};
use crate::tagged_union::{NamedSchemas, TaggedUnion, constant};

const DESCRIPTION: &str = "An event of a run, by `type`. Payloads of runners are stored unchanged: expect properties \
                           that are missing or unknown. A payload is null if the event was erased.";

/// An [`EventView`] with the payload of its type.
#[derive(Debug)]
pub struct RunEvent;

/// Events in the document, while they are collected.
struct EventTypes {
    union: TaggedUnion,
    known: Vec<&'static str>,
}

fn types() -> TaggedUnion {
    EventTypes { union: TaggedUnion::new("type"), known: Vec::new() }
        .event::<RunStatusPayload>(event::RUN_STATUS)
        .event::<CommandStatusPayload>(event::COMMAND_STATUS)
        .event::<UserMessagePayload>(event::USER_MESSAGE)
        .event::<ClientRunPayload>(event::CLIENT_RUN)
        .event::<TerminalStatusPayload>(event::TERMINAL_STATUS)
        .event::<AssistantDeltaPayload>(event::ASSISTANT_DELTA)
        .event::<AssistantMessagePayload>(event::ASSISTANT_MESSAGE)
        .event::<ReasoningDeltaPayload>(event::REASONING_DELTA)
        .event::<ReasoningPayload>(event::REASONING)
        .event::<ToolCallPayload>(event::TOOL_CALL)
        .event::<CommandOutputPayload>(event::COMMAND_OUTPUT)
        .event::<ArtifactPayload>(event::ARTIFACT)
        .event::<BackendStatusPayload>(event::BACKEND_STATUS)
        .event::<ErrorPayload>(event::ERROR)
        .event::<UsagePayload>(event::USAGE)
        .event::<ApprovalDeclinedPayload>(event::APPROVAL_DECLINED)
        .event::<ApprovalRequestedPayload>(event::APPROVAL_REQUESTED)
        .event::<ApprovalStatusPayload>(event::APPROVAL_STATUS)
        .event::<ApprovalVotePayload>(event::APPROVAL_VOTE)
        .event::<BackendEventPayload>(event::BACKEND_EVENT)
        .others()
}

impl EventTypes {
    fn event<P: ToSchema>(mut self, kind: &'static str) -> Self {
        let payload = P::name().into_owned();
        let name = format!("{}Event", payload.trim_end_matches("Payload").trim_end_matches("Event"));
        let null = ObjectBuilder::new().schema_type(SchemaType::new(Type::Null));
        let payload = OneOfBuilder::new().item(Ref::from_schema_name(payload)).item(null);
        let schema = event_schema(constant(kind), Some(payload.into()));
        self.union = self.union.refer::<P>().tagged(Some(kind), name, schema);
        self.known.push(kind);
        self
    }

    /// Adds events of all other types, which backends define.
    fn others(self) -> TaggedUnion {
        let pattern = format!("^(?!(?:{})$)[a-z0-9_]{{1,64}}$", self.known.join("|"));
        let kind = ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).pattern(Some(pattern));
        self.union.tagged(None, "OtherEvent".to_owned(), event_schema(kind.into(), None))
    }
}

/// Returns the schema of an event with another schema of its type and of its payload.
fn event_schema(kind: RefOr<Schema>, payload: Option<RefOr<Schema>>) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = EventView::schema() else { return EventView::schema() };
    object.properties.insert("type".to_owned(), kind);
    if let Some(payload) = payload {
        object.properties.insert("payload".to_owned(), payload);
    }
    RefOr::T(Schema::Object(object))
}

impl PartialSchema for RunEvent {
    fn schema() -> RefOr<Schema> {
        types().schema(DESCRIPTION)
    }
}

impl ToSchema for RunEvent {
    fn schemas(schemas: &mut NamedSchemas) {
        types().schemas(schemas);
    }
}
