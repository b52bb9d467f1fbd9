//! Invitations.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::invitation::InvitationError;
use guildhall_domain::access::role::rights::MembersManage;
use guildhall_domain::ids::InviteId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::RevocationView;
use guildhall_protocol::rest::access::invitations::{
    AcceptInvitation, AcceptedInvitationView, CreateInvitation, InvitationView, InvitationsView,
    NewInvitationView,
};
use guildhall_service::ServiceError;
use guildhall_service::access::error::AccessError;
use secrecy::{ExposeSecret, SecretString};

use super::tenants::parse_role;
use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::denials::DeniedRequest;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, check_name, idempotency_key};
use crate::http::headers::IdempotencyKeyHeader;

/// Create an invitation
///
/// The secret is returned only once. It can be accepted once, within seven days, and only while the inviter may still
/// assign the role.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/invitations", tag = "invitations", operation_id = "createInvitation",
    security(("bearer" = []), ("session" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), IdempotencyKeyHeader), request_body = CreateInvitation,
    responses(
        (status = 201, description = "Created", body = NewInvitationView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: Authorized<MembersManage>,
    headers: HeaderMap,
    Body(body): Body<CreateInvitation>,
) -> Result<(StatusCode, Json<NewInvitationView>), ApiError> {
    let (role, key, email) = (parse_role(&body.role)?, idempotency_key(&headers)?, body.email.as_deref());
    email.map(|email| check_name("email", email)).transpose()?;
    let created = app.access.invitations.create(&caller, role, email, key.as_ref()).await?;
    let secret = created.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewInvitationView { id: created.id.to_string(), secret })))
}

/// List the invitations of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/invitations", tag = "invitations", operation_id = "listInvitations",
    security(("bearer" = []), ("session" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "Newest first, without their secrets", body = InvitationsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<MembersManage>,
) -> Result<Json<InvitationsView>, ApiError> {
    let invitations = app.access.invitations.list(&caller).await?;
    let invitations = invitations.into_iter().map(|invitation| InvitationView {
        id: invitation.id.to_string(),
        role: invitation.role,
        email: invitation.note,
        invited_by: invitation.invited_by.to_string(),
        created_at: invitation.created_at,
        expires_at: invitation.expires_at,
        revoked_at: invitation.revoked_at,
        accepted_at: invitation.accepted_at,
        accepted_by: invitation.accepted_by.map(|by| by.to_string()),
    });
    Ok(Json(InvitationsView { invitations: invitations.collect() }))
}

/// Revoke an invitation
///
/// Does not affect an accepted invitation: remove the member instead. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/invitations/{invitation}", tag = "invitations",
    operation_id = "revokeInvitation", security(("bearer" = []), ("session" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("invitation" = String, Path, description = "Invitation id"),
    ),
    responses(
        (status = 200, description = "Revoked", body = RevocationView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Authorized<MembersManage>,
    PathIds((_tenant, invitation)): PathIds<(TenantSegment, InviteId)>,
) -> Result<Json<RevocationView>, ApiError> {
    app.access.invitations.revoke(&caller, invitation).await?;
    Ok(Json(RevocationView { id: invitation.to_string(), revoked: true }))
}

/// Accept an invitation
///
/// For signed-in users. A person without an account starts a sign-in through the identity provider with the invitation.
#[utoipa::path(
    post, path = "/api/v1/invitations/accept", tag = "invitations", operation_id = "acceptInvitation",
    security(("bearer" = []), ("session" = [])), request_body = AcceptInvitation,
    responses(
        (status = 200, description = "Joined", body = AcceptedInvitationView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Invalid, expired, revoked or already used", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Already a member", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn accept(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    Body(body): Body<AcceptInvitation>,
) -> Result<Json<AcceptedInvitationView>, ApiError> {
    match app.access.invitations.accept(&caller.caller, &SecretString::from(body.secret)).await {
        Ok(joined) => Ok(Json(AcceptedInvitationView {
            tenant: joined.tenant.to_string(),
            role: joined.role.as_str().to_owned(),
        })),
        Err(error) => {
            if matches!(error, ServiceError::Access(AccessError::Invitation(InvitationError::Invalid))) {
                let (actor, path) = (Some(caller.caller.principal), "/api/v1/invitations/accept");
                let denied = DeniedRequest { action: "invitation.refused", actor, from: "not valid", path };
                app.denials.record(&app.access.audit, denied).await;
            }
            Err(error.into())
        }
    }
}
