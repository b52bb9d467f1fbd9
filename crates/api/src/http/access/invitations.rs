//! Invitations.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::invitation::InvitationRefusal;
use guildhall_domain::ids::{InviteId, TenantId};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::invitations::{
    AcceptInvitation, CreateInvitation, InvitationView, InvitationsView, JoinedView, NewInvitationView,
};
use guildhall_service::ServiceError;
use secrecy::{ExposeSecret, SecretString};

use super::tenants::role;
use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, name};
use crate::edge::refusals::{Refused, note};

/// Invite somebody
///
/// The secret is shown in this answer and never again. Whoever has it becomes a member, once, within seven days, and
/// only while you may still give the role.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/invitations", tag = "invitations", operation_id = "createInvitation",
    security(("bearer" = []), ("session" = [])),
    params(("tenant" = String, Path, description = "A tenant's id")), request_body = CreateInvitation,
    responses(
        (status = 201, description = "Made", body = NewInvitationView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
    headers: HeaderMap,
    Body(body): Body<CreateInvitation>,
) -> Result<(StatusCode, Json<NewInvitationView>), ApiError> {
    let (role, key, email) = (role(&body.role)?, idempotency_key(&headers)?, body.email.as_deref());
    email.map(|email| name("email", email)).transpose()?;
    let made = app.invitations.create(&asking.caller, tenant, role, email, key.as_ref()).await?;
    let secret = made.secret.map(|secret| secret.expose_secret().to_owned());
    Ok((StatusCode::CREATED, Json(NewInvitationView { id: made.id.to_string(), secret })))
}

/// The invitations of a tenant, the newest first
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/invitations", tag = "invitations", operation_id = "listInvitations",
    security(("bearer" = []), ("session" = [])), params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "Without their secrets", body = InvitationsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<InvitationsView>, ApiError> {
    let invitations = app.invitations.list(&asking.caller, tenant).await?;
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

/// Take an invitation back
///
/// One that was accepted stays accepted: remove the member instead. Taking it back again is no error.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/invitations/{invitation}", tag = "invitations",
    operation_id = "revokeInvitation", security(("bearer" = []), ("session" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("invitation" = String, Path, description = "An invitation's id"),
    ),
    responses(
        (status = 204, description = "Taken back"),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, invitation)): Ids<(TenantId, InviteId)>,
) -> Result<StatusCode, ApiError> {
    app.invitations.revoke(&asking.caller, tenant, invitation).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Accept an invitation
///
/// For a person who is signed in. Who has no account yet signs in through the identity provider with the invitation.
#[utoipa::path(
    post, path = "/api/v1/invitations/accept", tag = "invitations", operation_id = "acceptInvitation",
    security(("bearer" = []), ("session" = [])), request_body = AcceptInvitation,
    responses(
        (status = 200, description = "Joined", body = JoinedView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not valid, or no longer", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "You are a member already", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn accept(
    State(app): State<App>,
    asking: Asking,
    Body(body): Body<AcceptInvitation>,
) -> Result<Json<JoinedView>, ApiError> {
    match app.invitations.accept(&asking.caller, &SecretString::from(body.secret)).await {
        Ok(joined) => {
            Ok(Json(JoinedView { tenant: joined.tenant.to_string(), role: joined.role.as_str().to_owned() }))
        }
        Err(error) => {
            if matches!(error, ServiceError::Invitation(InvitationRefusal::Invalid)) {
                let (actor, path) = (Some(asking.caller.principal), "/api/v1/invitations/accept");
                note(&app, Refused { action: "invitation.refused", actor, from: "not valid", path }).await;
            }
            Err(error.into())
        }
    }
}
