//! Tenants and their members.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::access::authorized::{Authorized, InstallationOperator};
use guildhall_domain::access::role::Role;
use guildhall_domain::access::role::rights::{MembersManage, MembersRead, Membership, TenantRead};
use guildhall_domain::access::tenant::Tenant;
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::tenants::{
    AddMember, CreateTenant, MemberRemovalView, MemberRoleView, MemberView, MembersView, MembershipView,
    SetMember, TenantView, TenantsView,
};

use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, check_name, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create a tenant
///
/// For operators. The caller becomes its owner.
#[utoipa::path(
    post, path = "/api/v1/tenants", tag = "tenants", operation_id = "createTenant", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateTenant,
    responses(
        (status = 201, description = "Created", body = TenantView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: InstallationOperator,
    headers: HeaderMap,
    Body(body): Body<CreateTenant>,
) -> Result<(StatusCode, Json<TenantView>), ApiError> {
    check_name("name", &body.name)?;
    let (slug, key) = (parse("slug", &body.slug)?, idempotency_key(&headers)?);
    let tenant = app.access.tenants.create(&caller, &slug, &body.name, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(tenant))))
}

/// List the tenants of the caller
#[utoipa::path(
    get, path = "/api/v1/tenants", tag = "tenants", operation_id = "listTenants", security(("bearer" = [])),
    responses(
        (status = 200, description = "The tenants, with the caller's role in each", body = TenantsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: AuthenticatedCaller,
) -> Result<Json<TenantsView>, ApiError> {
    let tenants = app.access.tenants.list(&caller.caller).await?;
    Ok(Json(TenantsView { tenants: tenants.into_iter().map(membership).collect() }))
}

/// Get a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}", tag = "tenants", operation_id = "getTenant", security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "The tenant", body = TenantView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<TenantRead>,
) -> Result<Json<TenantView>, ApiError> {
    Ok(Json(view(app.access.tenants.get(&caller).await?)))
}

/// List the members of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/members", tag = "tenants", operation_id = "listMembers",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "The members, with the role of each", body = MembersView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn members(
    State(app): State<App>,
    caller: Authorized<MembersRead>,
) -> Result<Json<MembersView>, ApiError> {
    let members = app.access.tenants.list_members(&caller).await?;
    let members = members.into_iter().map(|member| MemberView {
        principal: member.principal.to_string(),
        name: member.name,
        role: member.role.as_str().to_owned(),
    });
    Ok(Json(MembersView { members: members.collect() }))
}

/// Add a member by name
///
/// The name is the one that the user signs in with. Adding a member again with the same role changes nothing; with another
/// role it is a conflict.
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/members", tag = "tenants", operation_id = "addMember",
    security(("bearer" = [])), request_body = AddMember,
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The member", body = MemberView), CommonErrors)
)]
pub(crate) async fn add_member(
    State(app): State<App>,
    caller: Authorized<MembersManage>,
    Body(body): Body<AddMember>,
) -> Result<Json<MemberView>, ApiError> {
    check_name("name", &body.name)?;
    let role = parse_role(&body.role)?;
    let principal = app.access.tenants.add_member(&caller, &body.name, role).await?.to_string();
    Ok(Json(MemberView { principal, name: body.name, role: role.as_str().to_owned() }))
}

/// Set the role of a member
///
/// Adds the user to the tenant if they are not a member yet. Only users can be added.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/members/{principal}", tag = "tenants", operation_id = "setMember",
    security(("bearer" = [])), request_body = SetMember,
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("principal" = String, Path, description = "Principal id"),
    ),
    responses(
        (status = 200, description = "Updated", body = MemberRoleView),
        (status = 400, description = "Invalid request", body = Problem, content_type = CONTENT_TYPE),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 413, description = "Request body too large", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn set_member(
    State(app): State<App>,
    caller: Authorized<Membership>,
    PathIds((_tenant, principal)): PathIds<(TenantSegment, PrincipalId)>,
    Body(body): Body<SetMember>,
) -> Result<Json<MemberRoleView>, ApiError> {
    let role = parse_role(&body.role)?;
    app.access.tenants.set_member(&caller, principal, role).await?;
    Ok(Json(MemberRoleView { principal: principal.to_string(), role: role.as_str().to_owned() }))
}

/// Remove a member
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/members/{principal}", tag = "tenants", operation_id = "removeMember",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("principal" = String, Path, description = "Principal id"),
    ),
    responses(
        (status = 200, description = "Removed", body = MemberRemovalView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
        (status = 409, description = "Conflict with the current state", body = Problem, content_type = CONTENT_TYPE),
        (status = 429, description = "Rate limit exceeded", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn remove_member(
    State(app): State<App>,
    caller: Authorized<Membership>,
    PathIds((_tenant, principal)): PathIds<(TenantSegment, PrincipalId)>,
) -> Result<Json<MemberRemovalView>, ApiError> {
    app.access.tenants.remove_member(&caller, principal).await?;
    Ok(Json(MemberRemovalView { principal: principal.to_string(), removed: true }))
}

pub(crate) fn membership((tenant, role): (Tenant, Role)) -> MembershipView {
    MembershipView { tenant: view(tenant), role: role.as_str().to_owned() }
}

pub(crate) fn parse_role(text: &str) -> Result<Role, ApiError> {
    Role::from_name(text).map_err(|error| {
        ApiError::new(guildhall_domain::FailureKind::SchemaInvalid, format!("role: {error}"))
    })
}

fn view(tenant: Tenant) -> TenantView {
    TenantView { id: tenant.id.to_string(), slug: tenant.slug, name: tenant.name }
}
