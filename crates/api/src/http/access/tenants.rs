//! Tenants and their members.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::tenants::{
    CreateTenant, MemberView, MembersView, MembershipView, SetMember, TenantView, TenantsView,
};
use guildhall_service::access::tenants::Tenant;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, name, parse};

/// Make a tenant
///
/// For those who operate the installation. Whoever makes it owns it.
#[utoipa::path(
    post, path = "/api/v1/tenants", tag = "tenants", operation_id = "createTenant", security(("bearer" = [])),
    request_body = CreateTenant,
    responses(
        (status = 201, description = "Made", body = TenantView),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    asking: Asking,
    headers: HeaderMap,
    Body(body): Body<CreateTenant>,
) -> Result<(StatusCode, Json<TenantView>), ApiError> {
    name("name", &body.name)?;
    let (slug, key) = (parse("slug", &body.slug)?, idempotency_key(&headers)?);
    let tenant = app.tenants.create(&asking.caller, &slug, &body.name, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(tenant))))
}

/// The tenants that the caller belongs to
#[utoipa::path(
    get, path = "/api/v1/tenants", tag = "tenants", operation_id = "listTenants", security(("bearer" = [])),
    responses(
        (status = 200, description = "With the role in each", body = TenantsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(State(app): State<App>, asking: Asking) -> Result<Json<TenantsView>, ApiError> {
    let tenants = app.tenants.list(&asking.caller).await?;
    Ok(Json(TenantsView { tenants: tenants.into_iter().map(membership).collect() }))
}

/// One tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}", tag = "tenants", operation_id = "showTenant", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "The tenant", body = TenantView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<TenantView>, ApiError> {
    Ok(Json(view(app.tenants.show(&asking.caller, tenant).await?)))
}

/// The members of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/members", tag = "tenants", operation_id = "listMembers",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "With the role of each", body = MembersView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn members(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<MembersView>, ApiError> {
    let members = app.tenants.members(&asking.caller, tenant).await?;
    let members = members.into_iter().map(|member| MemberView {
        principal: member.principal.to_string(),
        name: member.name,
        role: member.role.as_str().to_owned(),
    });
    Ok(Json(MembersView { members: members.collect() }))
}

/// Give a principal a role
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/members/{principal}", tag = "tenants", operation_id = "setMember",
    security(("bearer" = [])), request_body = SetMember,
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("principal" = String, Path, description = "A principal's id"),
    ),
    responses(
        (status = 204, description = "Set"),
        (status = 400, description = "Not of this form", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn set_member(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, principal)): Ids<(TenantId, PrincipalId)>,
    Body(body): Body<SetMember>,
) -> Result<StatusCode, ApiError> {
    let role = role(&body.role)?;
    app.tenants.set_member(&asking.caller, tenant, principal, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take a principal's role away
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/members/{principal}", tag = "tenants", operation_id = "removeMember",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("principal" = String, Path, description = "A principal's id"),
    ),
    responses(
        (status = 204, description = "Gone"),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Does not go together with what is there", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "More requests than you may send in this time", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn remove_member(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, principal)): Ids<(TenantId, PrincipalId)>,
) -> Result<StatusCode, ApiError> {
    app.tenants.remove_member(&asking.caller, tenant, principal).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) fn membership((tenant, role): (Tenant, Role)) -> MembershipView {
    MembershipView { tenant: view(tenant), role: role.as_str().to_owned() }
}

pub(crate) fn role(text: &str) -> Result<Role, ApiError> {
    Role::from_name(text).map_err(|error| {
        ApiError::new(guildhall_domain::FailureKind::SchemaInvalid, format!("role: {error}"))
    })
}

fn view(tenant: Tenant) -> TenantView {
    TenantView { id: tenant.id.to_string(), slug: tenant.slug, name: tenant.name }
}
