//! Relations where the specification of manifests has them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::ids::RelationId;
use guildhall_protocol::rest::relations::{
    CreateRelation, EndedRelationView, RelationView, RelationsQuery, RelationsView, UpdateRelation,
};

use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, idempotency_key};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// Grant scopes to an agent
///
/// The same as `POST /api/v1/relations`, where the specification of manifests has it.
#[utoipa::path(
    post, path = "/h2a/relations", tag = "relations", operation_id = "createH2aRelation", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateRelation,
    responses((status = 201, description = "Granted", body = RelationView), CommonErrors)
)]
pub(crate) async fn create_relation(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    headers: HeaderMap,
    Body(body): Body<CreateRelation>,
) -> Result<(StatusCode, Json<RelationView>), ApiError> {
    let key = idempotency_key(&headers)?;
    super::grant(&app, &caller, key.as_ref(), body).await
}

/// List your relations
///
/// The same as `GET /api/v1/relations`.
#[utoipa::path(
    get, path = "/h2a/relations", tag = "relations", operation_id = "listH2aRelations", security(("bearer" = [])),
    params(RelationsQuery),
    responses((status = 200, description = "One page, the oldest first", body = RelationsView), CommonErrors)
)]
pub(crate) async fn list_relations(
    state: State<App>,
    caller: AuthenticatedCaller,
    query: ValidatedQuery<RelationsQuery>,
) -> Result<Json<RelationsView>, ApiError> {
    super::list(state, caller, query).await
}

/// Get one of your relations
///
/// The same as `GET /api/v1/relations/{relation}`.
#[utoipa::path(
    get, path = "/h2a/relations/{relation}", tag = "relations", operation_id = "getH2aRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    responses((status = 200, description = "The relation", body = RelationView), CommonErrors)
)]
pub(crate) async fn get_relation(
    state: State<App>,
    caller: AuthenticatedCaller,
    relation: PathIds<RelationId>,
) -> Result<Json<RelationView>, ApiError> {
    super::get(state, caller, relation).await
}

/// Change what is granted
///
/// The same as `PATCH /api/v1/relations/{relation}`.
#[utoipa::path(
    patch, path = "/h2a/relations/{relation}", tag = "relations", operation_id = "updateH2aRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    request_body = UpdateRelation,
    responses((status = 200, description = "The changed relation", body = RelationView), CommonErrors)
)]
pub(crate) async fn update_relation(
    state: State<App>,
    caller: AuthenticatedCaller,
    relation: PathIds<RelationId>,
    body: Body<UpdateRelation>,
) -> Result<Json<RelationView>, ApiError> {
    super::update(state, caller, relation, body).await
}

/// End a relation
///
/// The same as `DELETE /api/v1/relations/{relation}`.
#[utoipa::path(
    delete, path = "/h2a/relations/{relation}", tag = "relations", operation_id = "deleteH2aRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    responses((status = 200, description = "What has ended", body = EndedRelationView), CommonErrors)
)]
pub(crate) async fn delete_relation(
    state: State<App>,
    caller: AuthenticatedCaller,
    relation: PathIds<RelationId>,
) -> Result<Json<EndedRelationView>, ApiError> {
    super::delete(state, caller, relation).await
}
