//! The stream of a tenant's approvals.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::journal::{Entry, Gap, Seq};
use guildhall_domain::ops::capability::EVENT_SCHEMA_VERSION;
use guildhall_protocol::rest::approvals::ApprovalEventView;
use guildhall_service::ServiceError;
use guildhall_service::approvals::stream::ApprovalStream;
use serde_json::{Value, json};

use crate::App;
use crate::edge::caller::Follower;
use crate::edge::error::ApiError;
use crate::edge::stream::{StreamEvent, StreamSource, StreamTopic};
use crate::edge::stream_request::{client_id, last_event_id};
use crate::http::headers::StreamHeaders;
use crate::http::responses::{CommonErrors, TooManyStreams};
use crate::http::runs::events::EVENT;

/// Follow the approvals of a tenant (server-sent events)
///
/// An `event` frame says that a question was asked, answered, parked, escalated, withdrawn or has expired. Its id is a
/// cursor: send it as `Last-Event-ID` to continue after it, on any replica. A stream without a cursor starts now: list
/// the approvals first, and continue after the `position` of the list. The control frames are those of the stream of a
/// run.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/approvals/stream", tag = "approvals", operation_id = "followApprovals",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        StreamHeaders,
    ),
    responses(
        (status = 200, description = "A stream of events", body = String, content_type = "text/event-stream"),
        CommonErrors,
        TooManyStreams,
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    follower: Follower<RunsRead>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (client, cursor) = (client_id(&headers)?, last_event_id(&headers)?);
    let stream = app.approvals.approvals.follow(&follower.caller, cursor).await?;
    app.streams.open(&follower, client, stream)
}

impl StreamSource for ApprovalStream {
    type ReadRight = RunsRead;

    fn topic(&self) -> StreamTopic {
        StreamTopic { kind: "approvals", tenant: Some(self.tenant), owner: self.tenant.as_uuid() }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        let (entry, cursor) = self.next().await?;
        Ok(Some(StreamEvent {
            name: Some(EVENT),
            cursor: cursor.to_string(),
            data: json!(view(entry)).to_string(),
        }))
    }

    fn gap(&self) -> Option<Gap> {
        self.gap()
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        self.replayed().map(|last| (last, None))
    }
}

fn view(entry: Entry) -> ApprovalEventView {
    let body: Value = entry.body.and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    ApprovalEventView {
        v: EVENT_SCHEMA_VERSION,
        seq: entry.seq.get(),
        r#type: entry.kind,
        run_id: text("runId"),
        session_id: text("sessionId"),
        command_id: text("commandId"),
        payload: body["payload"].clone(),
        recorded_at: entry.recorded_at,
    }
}
