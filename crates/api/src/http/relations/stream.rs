//! The stream of a user's relations, for users without an AID.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::{Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_protocol::rest::relations::RelationEventView;
use guildhall_service::ServiceError;
use guildhall_service::relations::RelationWatch;
use serde_json::json;

use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::edge::relation_events::relation_event;
use crate::edge::stream::{ReadRight, StreamEvent, StreamReader, StreamSource, StreamTopic};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;
use crate::http::responses::{CommonErrors, TooManyStreams};
use crate::http::runs::events::EVENT;

/// Follow your relations (server-sent events)
///
/// Without a cursor, the stream starts with the notices that wait for your decision. Then it sends what changes: a grant on
/// another device (`h2a.relation_changed`), a manifest that needs a new consent (`h2a.reauth_required`), or one that you are only
/// told about (`h2a.manifest_updated`). The id of a frame is a cursor: send it as `Last-Event-ID` to continue after it, on any
/// replica.
#[utoipa::path(
    get, path = "/api/v1/relations/events", tag = "relations", operation_id = "followRelations",
    security(("bearer" = [])), params(StreamHeaders),
    responses(
        (status = 200, description = "A stream of events", body = String, content_type = "text/event-stream"),
        CommonErrors,
        TooManyStreams,
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let watch = app.relations.relations.follow(&caller.caller, cursor).await?;
    app.streams.open(&OwnRelations(caller.caller), client, RelationStream(watch))
}

/// The owner of relations, who reads them as long as their login is valid.
struct OwnRelations(Caller);

impl ReadRight for OwnRelations {
    fn may_read(caller: &Caller, _: Option<TenantId>) -> bool {
        caller.person().is_ok()
    }
}

impl StreamReader<Self> for OwnRelations {
    fn caller(&self) -> &Caller {
        &self.0
    }
}

struct RelationStream(RelationWatch);

impl StreamSource for RelationStream {
    type ReadRight = OwnRelations;

    fn topic(&self) -> StreamTopic {
        StreamTopic { kind: "relations", tenant: None, owner: self.0.user().as_uuid() }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        let event = self.0.next().await;
        let (method, payload) = relation_event(&event);
        let name = method.strip_prefix("event/").unwrap_or(method);
        let view = RelationEventView { v: EVENT_SCHEMA_VERSION, r#type: name.to_owned(), payload };
        let (cursor, data) = (event.revision().to_string(), json!(view).to_string());
        Ok(Some(StreamEvent { name: Some(EVENT), cursor, data }))
    }

    fn gap(&self) -> Option<Gap> {
        None
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        let drained = self.0.drained()?;
        Some((Seq::new(drained).unwrap_or_default(), None))
    }
}
