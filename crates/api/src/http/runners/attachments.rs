//! Images of messages, as runners read them for their agents.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use guildhall_domain::ids::{AttachmentId, RunId};
use guildhall_protocol::rest::front::attachments::ImageBytes;

use super::grant_for;
use crate::App;
use crate::edge::caller::RunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::PathIds;
use crate::http::responses::CommonErrors;

/// Get an image of a message
///
/// Requires a run token. Only attachments that a message of the run's session has named are found.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/attachments/{attachment}", tag = "runners", operation_id = "getRunAttachment",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("attachment" = String, Path, description = "Attachment id"),
    ),
    responses(
        (status = 200, description = "The image", content(
            (ImageBytes = "image/png"), (ImageBytes = "image/jpeg"), (ImageBytes = "image/gif"), (ImageBytes = "image/webp"),
        )),
        CommonErrors,
    )
)]
pub(crate) async fn get(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds((run, id)): PathIds<(RunId, AttachmentId)>,
) -> Result<Response, ApiError> {
    let attachment = app.runners.attachments.find(grant_for(&token, run)?, id).await?;
    let content = app.front.attachments.read(&attachment).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(attachment.image_type.as_str())),
        (header::CONTENT_LENGTH, HeaderValue::from(attachment.size_bytes)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(content.chunks)).into_response())
}
