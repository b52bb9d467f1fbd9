//! Images that applications upload, and then name in a run of an agent by a signed URL.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::front::attachment_link::AttachmentLink;
use guildhall_domain::ids::AttachmentId;
use guildhall_domain::ops::rate::{RateKey, Tier};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::front::attachments::{
    AttachmentContentQuery, AttachmentView, AttachmentsQuery, ImageBytes,
};
use guildhall_service::ServiceError;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery};
use crate::edge::rates;
use crate::http::responses::CommonErrors;

/// What a browser may do with a content that it shows by itself: nothing but to show the image.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// Upload an image for a message
///
/// The body is the image: PNG, JPEG, GIF or WebP, with its `Content-Type`. The returned URL is signed; use it in a run of an
/// agent before it expires. An image that no run uses is removed after some time.
#[utoipa::path(
    post, path = "/api/v1/agent/attachments", tag = "front", operation_id = "createAttachment",
    security(("bearer" = [])), params(AttachmentsQuery),
    request_body(content(
        (ImageBytes = "image/png"), (ImageBytes = "image/jpeg"), (ImageBytes = "image/gif"), (ImageBytes = "image/webp"),
    )),
    responses(
        (status = 201, description = "Stored", body = AttachmentView),
        (status = 422, description = "Not an image of the declared type", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    pending: PendingAuthorization<RunsWrite>,
    headers: HeaderMap,
    ValidatedQuery(query): ValidatedQuery<AttachmentsQuery>,
    body: Body,
) -> Result<(StatusCode, Json<AttachmentView>), ApiError> {
    // Nothing is read for callers without the right.
    let tenant = pending.thread_owner(&app, query.tenant_id.as_deref()).await?.tenant();
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let image =
        app.front.attachments.receive(content_type.unwrap_or_default(), body.into_data_stream()).await?;
    // The body may have taken a minute: the right is read again.
    let caller = pending.thread_owner(&app, Some(&tenant.to_string())).await?;
    let (attachment, signed) = app.front.attachments.store(&caller, image).await?;
    let view = AttachmentView {
        id: attachment.id.to_string(),
        mime_type: attachment.image_type.to_string(),
        size: attachment.size_bytes,
        url: signed.url,
        expires_at: signed.expires_at,
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Read an attachment
///
/// For whoever has the signed URL, without a token. Counted as a read of the owner. A URL that was changed, has expired or
/// belongs to a removed attachment is not found.
#[utoipa::path(
    get, path = "/api/v1/agent/attachments/{attachment}/content", tag = "front", operation_id = "getAttachmentContent",
    params(("attachment" = String, Path, description = "Attachment id"), AttachmentContentQuery),
    responses(
        (status = 200, description = "The image", content(
            (ImageBytes = "image/png"), (ImageBytes = "image/jpeg"), (ImageBytes = "image/gif"), (ImageBytes = "image/webp"),
        )),
        (status = 429, description = "Rate limit of the owner exceeded", body = Problem, content_type = CONTENT_TYPE),
        CommonErrors,
    )
)]
pub(crate) async fn get_content(
    State(app): State<App>,
    PathIds(id): PathIds<AttachmentId>,
    ValidatedQuery(query): ValidatedQuery<AttachmentContentQuery>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let (expires, signature) = (query.expires.unwrap_or_default(), query.signature.unwrap_or_default());
    let link = AttachmentLink::from_parts(id, &expires, &signature).map_err(|_| ServiceError::NOT_FOUND)?;
    let (attachment, seconds_left) = app.front.attachments.verify(&link).await?;
    rates::count(&parts, &app, Tier::Read, RateKey::Principal(attachment.owner.principal)).await?;
    let content = app.front.attachments.read(&attachment).await?;
    let disposition = format!("attachment; filename=\"{}\"", attachment.file_name());
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(attachment.image_type.as_str())),
        (header::CONTENT_LENGTH, HeaderValue::from(attachment.size_bytes)),
        (header::CONTENT_DISPOSITION, header_value(disposition)),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, header_value(format!("private, max-age={seconds_left}"))),
    ];
    Ok((headers, Body::from_stream(content.chunks)).into_response())
}

/// Ids and numbers are always valid in a header.
fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
