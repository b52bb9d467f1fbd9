//! Relations: what people have granted to agents.

mod page;
pub(crate) mod scopes;
pub(crate) mod specified;
pub(crate) mod stream;

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Json, Router};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{AgentId, RelationId};
use guildhall_domain::relations::{Consent, RelationChange, RelationPage, ShownManifest};
use guildhall_protocol::rest::relations::{
    AcknowledgeNotice, AcknowledgedNoticeView, CreateRelation, EndedRelationView, RelationChangeView,
    RelationHistoryQuery, RelationHistoryView, RelationView, RelationsQuery, RelationsView, UpdateRelation,
};
use guildhall_service::idempotency::IdempotencyKey;
use guildhall_service::relations::{EndedRelation, MAX_PAGE_SIZE};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::page::{CONSENT_PAGE_PATH, CONSENT_SIGN_IN_PATH};
use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, idempotency_key, parse};
use crate::http::access::sign_in_form;
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, update, delete))
        .routes(routes!(history))
        .routes(routes!(acknowledge))
        .routes(routes!(stream::follow))
        .routes(routes!(scopes::list))
        .routes(routes!(specified::create_relation, specified::list_relations))
        .routes(routes!(specified::get_relation, specified::update_relation, specified::delete_relation))
}

/// The consent page and its sign-in form, which are not in the API document.
pub(super) fn pages() -> Router<App> {
    use axum::routing::get;

    Router::new().route(CONSENT_PAGE_PATH, get(page::show).post(page::submit)).route(
        CONSENT_SIGN_IN_PATH,
        get(sign_in_form::show_for_consent).post(sign_in_form::submit_for_consent),
    )
}

/// Most scopes that a request names: those of one manifest.
const MAX_SCOPES: usize = 64;

/// Grant scopes to an agent
///
/// The grant is pinned to the manifest that the user was shown: name it, and another current one is a conflict. Without it, the
/// current one counts. The agent is published, or of one of your tenants. Only people grant: a service key cannot.
#[utoipa::path(
    post, path = "/api/v1/relations", tag = "relations", operation_id = "createRelation", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateRelation,
    responses((status = 201, description = "Granted", body = RelationView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    headers: HeaderMap,
    Body(body): Body<CreateRelation>,
) -> Result<(StatusCode, Json<RelationView>), ApiError> {
    let key = idempotency_key(&headers)?;
    grant(&app, &caller, key.as_ref(), body).await
}

async fn grant(
    app: &App,
    caller: &AuthenticatedCaller,
    key: Option<&IdempotencyKey>,
    body: CreateRelation,
) -> Result<(StatusCode, Json<RelationView>), ApiError> {
    let agent: AgentId = parse("agent_id", &body.agent_id)?;
    let consent = consent(body.granted_scopes, body.manifest_version, body.manifest_hash.as_deref())?;
    let granted = app.relations.relations.grant(&caller.caller, agent, &consent, key).await?;
    Ok((StatusCode::CREATED, Json(granted.into())))
}

/// List your relations
#[utoipa::path(
    get, path = "/api/v1/relations", tag = "relations", operation_id = "listRelations", security(("bearer" = [])),
    params(RelationsQuery),
    responses((status = 200, description = "One page, the oldest first", body = RelationsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    ValidatedQuery(query): ValidatedQuery<RelationsQuery>,
) -> Result<Json<RelationsView>, ApiError> {
    let limit = check_limit("limit", query.limit, MAX_PAGE_SIZE)?;
    let after = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let page = RelationPage { with_ended: query.ended, after, limit };
    let found = app.relations.relations.list(&caller.caller, page).await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= limit);
    let next_cursor = found.last().filter(|_| is_full).map(|last| last.relation.id.to_string());
    Ok(Json(RelationsView { relations: found.into_iter().map(RelationView::from).collect(), next_cursor }))
}

/// Get one of your relations
#[utoipa::path(
    get, path = "/api/v1/relations/{relation}", tag = "relations", operation_id = "getRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    responses((status = 200, description = "The relation", body = RelationView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(relation): PathIds<RelationId>,
) -> Result<Json<RelationView>, ApiError> {
    Ok(Json(app.relations.relations.get(&caller.caller, relation).await?.into()))
}

/// Change what is granted
///
/// All scopes that are granted from now on, pinned to the current manifest: the answer to `h2a.reauth_required`. Name the manifest
/// that the user was shown.
#[utoipa::path(
    patch, path = "/api/v1/relations/{relation}", tag = "relations", operation_id = "updateRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    request_body = UpdateRelation,
    responses((status = 200, description = "The changed relation", body = RelationView), CommonErrors)
)]
pub(crate) async fn update(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(relation): PathIds<RelationId>,
    Body(body): Body<UpdateRelation>,
) -> Result<Json<RelationView>, ApiError> {
    let consent = consent(body.granted_scopes, body.manifest_version, body.manifest_hash.as_deref())?;
    Ok(Json(app.relations.relations.change(&caller.caller, relation, &consent).await?.into()))
}

/// End a relation
///
/// Takes everything back, at once on every replica. Calls of tools that your devices have not received are removed. The relation
/// and its history stay readable; a new grant is a new relation.
#[utoipa::path(
    delete, path = "/api/v1/relations/{relation}", tag = "relations", operation_id = "deleteRelation",
    security(("bearer" = [])), params(("relation" = String, Path, description = "Relation id")),
    responses((status = 200, description = "What has ended", body = EndedRelationView), CommonErrors)
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(relation): PathIds<RelationId>,
) -> Result<Json<EndedRelationView>, ApiError> {
    let EndedRelation { state, ended_scopes, ended_calls } =
        app.relations.relations.revoke(&caller.caller, relation).await?;
    let ended_scopes = ended_scopes.into_iter().collect();
    Ok(Json(EndedRelationView { relation: state.into(), ended_scopes, ended_calls }))
}

/// List the history of a relation
///
/// Newest first: what was granted, for which manifest, and when.
#[utoipa::path(
    get, path = "/api/v1/relations/{relation}/history", tag = "relations", operation_id = "listRelationHistory",
    security(("bearer" = [])),
    params(("relation" = String, Path, description = "Relation id"), RelationHistoryQuery),
    responses((status = 200, description = "The history", body = RelationHistoryView), CommonErrors)
)]
pub(crate) async fn history(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(relation): PathIds<RelationId>,
    ValidatedQuery(query): ValidatedQuery<RelationHistoryQuery>,
) -> Result<Json<RelationHistoryView>, ApiError> {
    let limit = check_limit("limit", query.limit, MAX_PAGE_SIZE)?;
    if query.before.is_some_and(|before| before < 1) {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "before: must be at least 1"));
    }
    let relations = &app.relations.relations;
    let found = relations.history(&caller.caller, relation, query.before, limit).await?;
    Ok(Json(RelationHistoryView { changes: found.into_iter().map(change_view).collect() }))
}

/// Acknowledge a notice
///
/// The event about this version of the manifest is not repeated any more. What changed still does not work before a new consent.
#[utoipa::path(
    post, path = "/api/v1/relations/{relation}/acknowledge", tag = "relations",
    operation_id = "acknowledgeRelationNotice", security(("bearer" = [])),
    params(("relation" = String, Path, description = "Relation id")), request_body = AcknowledgeNotice,
    responses((status = 200, description = "Acknowledged", body = AcknowledgedNoticeView), CommonErrors)
)]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(relation): PathIds<RelationId>,
    Body(body): Body<AcknowledgeNotice>,
) -> Result<Json<AcknowledgedNoticeView>, ApiError> {
    let relations = &app.relations.relations;
    let manifest_version = body.manifest_version;
    relations.acknowledge(&caller.caller, relation, manifest_version).await?;
    let relation_id = relation.to_string();
    Ok(Json(AcknowledgedNoticeView { relation_id, manifest_version, acknowledged: true }))
}

/// Reads what a user agrees to.
fn consent(scopes: Vec<String>, version: Option<i64>, hash: Option<&str>) -> Result<Consent, ApiError> {
    if scopes.len() > MAX_SCOPES {
        let message = format!("granted_scopes: at most {MAX_SCOPES}");
        return Err(ApiError::new(FailureKind::SchemaInvalid, message));
    }
    let hash = hash.map(|hash| parse("manifest_hash", hash)).transpose()?;
    let scopes: BTreeSet<String> = scopes.into_iter().collect();
    Ok(Consent { scopes, shown: ShownManifest { version, hash } })
}

fn change_view(change: RelationChange) -> RelationChangeView {
    RelationChangeView {
        number: change.number,
        kind: change.kind.to_string(),
        granted_scopes: change.granted_scopes.into_iter().collect(),
        manifest_version: change.manifest.version,
        manifest_hash: change.manifest.hash.to_string(),
        actor: change.actor.to_string(),
        changed_at: change.changed_at,
    }
}
