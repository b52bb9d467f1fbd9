//! What was said in a conversation, as the Agent Run Input Protocol returns it.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::front::attachment::{AttachmentOwner, AttachmentReference};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::front::history::{
    HistoryAttachment, HistoryBody, HistoryEntry, HistoryQuery, HistorySnapshotResponse, SessionMessages,
    day_page,
};
use guildhall_protocol::rest::front::ui_schema::{UiContext, compile};
use guildhall_service::front::history::{DayMessage, DayMessageBody};

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{ValidatedQuery, parse};
use crate::edge::languages::accepted_languages;
use crate::http::responses::CommonErrors;

/// The language of a reply that names none, for a reader who names none.
const DEFAULT_LOCALE: &str = "en";

/// Get the history of a conversation
///
/// The messages of the newest day of a thread of the caller, or of the newest day before `before`; at most 1,000, the newest
/// ones. Days are those of UTC. Repeat the request with `before` = `day` while `hasMore` is true.
#[utoipa::path(
    get, path = "/api/v1/agent/history", tag = "front", operation_id = "getAgentHistory", security(("bearer" = [])),
    params(HistoryQuery),
    responses(
        (status = 200, description = "The messages of one day", body = HistorySnapshotResponse),
        (status = 422, description = "A parameter is not valid", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    headers: HeaderMap,
    ValidatedQuery(query): ValidatedQuery<HistoryQuery>,
) -> Result<Json<HistorySnapshotResponse>, ApiError> {
    let invalid = |error| ApiError::new(FailureKind::InvalidInput, format!("{error}"));
    let filter = query.parse().map_err(invalid)?;
    let agent = query.agent_id.as_deref().map(|agent| parse("agentId", agent)).transpose()?;
    let caller = caller.thread_owner(&app, query.tenant_id.as_deref()).await?;
    let thread = filter.thread_id.as_ref();
    let Some(day) = app.front.history.day(&caller, agent.as_ref(), thread, filter.before).await? else {
        return Ok(Json(HistorySnapshotResponse::without_thread()));
    };
    // Signed anew: the URL of the message may have expired.
    let owner = AttachmentOwner { tenant: caller.tenant(), principal: caller.principal };
    let context = UiContext { default_locale: locale(&headers), meta: None };
    let sign = |image: AttachmentReference| app.front.attachments.sign(owner, image.id).url;
    let messages = day.messages.into_iter().map(|message| entry(message, &context, sign)).collect();
    let messages = SessionMessages { messages, older: day.older };
    Ok(Json(day_page(&day.thread, messages, filter.before)))
}

fn entry(
    message: DayMessage,
    context: &UiContext,
    sign: impl Fn(AttachmentReference) -> String,
) -> HistoryEntry {
    let DayMessage { command, at, body } = message;
    let (id, body) = match body {
        DayMessageBody::User { id, text, images } => {
            let id = id.unwrap_or_else(|| format!("{command}:user"));
            let signed = |image: AttachmentReference| HistoryAttachment {
                mime_type: image.mime_type.to_string(),
                url: sign(image),
            };
            let attachments = images.into_iter().map(signed).collect();
            (id, HistoryBody::User { content: text, attachments })
        }
        DayMessageBody::Reply { text, ui_hints } => {
            let ui_schema = ui_hints.and_then(|hints| compile(&hints, context));
            (format!("{command}:reply"), HistoryBody::Assistant { content: text, ui_schema })
        }
    };
    HistoryEntry { id, timestamp: at, body }
}

/// Returns the first language that the reader prefers.
fn locale(headers: &HeaderMap) -> String {
    let is_tag = |tag: &&str| {
        (2..=35).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    accepted_languages(headers).next().filter(is_tag).unwrap_or(DEFAULT_LOCALE).to_owned()
}
