//! Projects of tenants.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::ids::{ProjectId, TenantId};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::access::projects::{CreateProject, ProjectView, ProjectsView};
use guildhall_service::access::projects::Project;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, idempotency_key, name, parse};

/// Make a project
#[utoipa::path(
    post, path = "/api/v1/tenants/{tenant}/projects", tag = "projects", operation_id = "createProject",
    security(("bearer" = [])), request_body = CreateProject,
    params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 201, description = "Made", body = ProjectView),
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
    Body(body): Body<CreateProject>,
) -> Result<(StatusCode, Json<ProjectView>), ApiError> {
    name("name", &body.name)?;
    let (slug, key) = (parse("slug", &body.slug)?, idempotency_key(&headers)?);
    let project = app.projects.create(&asking.caller, tenant, &slug, &body.name, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(view(project))))
}

/// The projects of a tenant
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/projects", tag = "projects", operation_id = "listProjects",
    security(("bearer" = [])), params(("tenant" = String, Path, description = "A tenant's id")),
    responses(
        (status = 200, description = "By their short names", body = ProjectsView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Ids(tenant): Ids<TenantId>,
) -> Result<Json<ProjectsView>, ApiError> {
    let projects = app.projects.list(&asking.caller, tenant).await?;
    Ok(Json(ProjectsView { projects: projects.into_iter().map(view).collect() }))
}

/// One project
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/projects/{project}", tag = "projects", operation_id = "showProject",
    security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "A tenant's id"),
        ("project" = String, Path, description = "A project's id"),
    ),
    responses(
        (status = 200, description = "The project", body = ProjectView),
        (status = 401, description = "No valid token", body = Problem, content_type = CONTENT_TYPE),
        (status = 403, description = "Your role lacks the right", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such object, or not yours to know of", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids((tenant, project)): Ids<(TenantId, ProjectId)>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(view(app.projects.show(&asking.caller, tenant, project).await?)))
}

fn view(project: Project) -> ProjectView {
    ProjectView {
        id: project.id.to_string(),
        slug: project.slug,
        name: project.name,
        created_at: project.created_at,
    }
}
