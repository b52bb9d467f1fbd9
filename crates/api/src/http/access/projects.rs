//! Projects of tenants.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::project_setup::ProjectSetup;
use guildhall_domain::access::role::rights::{ProjectsManage, ProjectsRead};
use guildhall_domain::access::tenant::{Project, ProjectKey};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::projects::{
    CreateProject, ProjectSetupView, ProjectView, ProjectsView, SetProjectSetup,
};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment, check_name, idempotency_key, parse};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Create a project
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/projects", tag = "projects", operation_id = "createProject",
    security(("bearer" = [])), request_body = CreateProject,
    params(("tenant" = String, Path, description = "Id or slug of the tenant"), IdempotencyKeyHeader),
    responses(
        (status = 201, description = "Created", body = ProjectView),
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
    caller: Authorized<ProjectsManage>,
    headers: HeaderMap,
    Body(body): Body<CreateProject>,
) -> Result<(StatusCode, Json<ProjectView>), ApiError> {
    check_name("name", &body.name)?;
    let (slug, key) = (parse("slug", &body.slug)?, idempotency_key(&headers)?);
    let project = app.access.projects.create(&caller, &slug, &body.name, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(project))))
}

/// List the projects of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/projects", tag = "projects", operation_id = "listProjects",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses(
        (status = 200, description = "Sorted by slug", body = ProjectsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<ProjectsRead>,
) -> Result<Json<ProjectsView>, ApiError> {
    let projects = app.access.projects.list(&caller).await?;
    Ok(Json(ProjectsView { projects: projects.into_iter().map(view).collect() }))
}

/// Get a project
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/projects/{project}", tag = "projects", operation_id = "getProject",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("project" = String, Path, description = "Id or slug of the project"),
    ),
    responses(
        (status = 200, description = "The project", body = ProjectView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Missing permission", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "Not found, or you have no access", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<ProjectsRead>,
    PathIds((_tenant, project)): PathIds<(TenantSegment, ProjectKey)>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(view(app.access.projects.get(&caller, &project).await?)))
}

/// Set the setup of a project
///
/// Replaces the setup. It applies to runs that are claimed from now on.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/projects/{project}/setup", tag = "projects", operation_id = "setProjectSetup",
    security(("bearer" = [])), request_body = SetProjectSetup,
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("project" = String, Path, description = "Id or slug of the project"),
    ),
    responses((status = 200, description = "The project with its new setup", body = ProjectView), CommonErrors)
)]
pub(crate) async fn set_setup(
    State(app): State<App>,
    caller: Authorized<ProjectsManage>,
    PathIds((_tenant, project)): PathIds<(TenantSegment, ProjectKey)>,
    Body(body): Body<SetProjectSetup>,
) -> Result<Json<ProjectView>, ApiError> {
    let setup = ProjectSetup::new(body.command, body.allowed_hosts, body.cache_files)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, error.to_string()))?;
    Ok(Json(view(app.access.projects.set_setup(&caller, &project, Some(setup)).await?)))
}

/// Clear the setup of a project
///
/// Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/projects/{project}/setup", tag = "projects",
    operation_id = "clearProjectSetup", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("project" = String, Path, description = "Id or slug of the project"),
    ),
    responses((status = 200, description = "The project without a setup", body = ProjectView), CommonErrors)
)]
pub(crate) async fn clear_setup(
    State(app): State<App>,
    caller: Authorized<ProjectsManage>,
    PathIds((_tenant, project)): PathIds<(TenantSegment, ProjectKey)>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(view(app.access.projects.set_setup(&caller, &project, None).await?)))
}

fn view(project: Project) -> ProjectView {
    ProjectView {
        id: project.id.to_string(),
        slug: project.slug,
        name: project.name,
        created_at: project.created_at,
        setup: project.setup.map(ProjectSetupView::from),
    }
}
