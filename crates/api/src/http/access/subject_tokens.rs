//! Tokens for external subjects.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::ids::TenantId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::subject_tokens::{MintSubjectToken, SubjectTokenView};
use secrecy::ExposeSecret;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, name, parse};

/// Mint a token for an external subject
///
/// For service keys. An application vouches for one of its own users, who then asks with the rights of that user alone.
/// The token holds for 15 minutes at most, and ends with the key.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/subject-tokens", tag = "subjects", operation_id = "mintSubjectToken",
    security(("bearer" = [])), request_body = MintSubjectToken,
    params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 201, description = "Minted", body = SubjectTokenView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right, or you are no service key", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn mint(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    Body(body): Body<MintSubjectToken>,
) -> Result<(StatusCode, Json<SubjectTokenView>), ApiError> {
    let subject = parse("subject", &body.subject)?;
    let shown_as = body.name.as_deref();
    shown_as.map_or(Ok(()), |text| name("name", text))?;
    let minted = app.auth.mint_subject_token(&asking.caller, tenant, &subject, shown_as).await?;
    let view = SubjectTokenView {
        principal: minted.principal.to_string(),
        access_token: minted.access.expose_secret().to_owned(),
        access_expires_at: minted.access_expires_at,
    };
    Ok((StatusCode::CREATED, Json(view)))
}
