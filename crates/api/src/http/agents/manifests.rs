//! Versions of the manifests of agents, and the routes of the specification of manifests, which are not below `/api/v1`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{AgentsManage, AgentsRead};
use guildhall_domain::agents::manifest::DeclaredManifest;
use guildhall_domain::agents::manifest::finding::{Finding, Findings, Rule, Severity};
use guildhall_domain::agents::manifest::version::{ManifestText, ManifestVersion, PublishedManifest};
use guildhall_domain::failure::{Failure, InvalidPlace};
use guildhall_domain::ids::AgentId;
use guildhall_protocol::manifest::{CheckedManifest, check};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::agents::manifests::{
    ManifestVersionView, ManifestVersionsQuery, ManifestVersionsView, PublishedAgentView,
};
use guildhall_protocol::rest::agents::{AgentView, CreateAgent, UpdateAgent};
use guildhall_service::ServiceError;
use guildhall_service::agents::manifests::MAX_PAGE_SIZE;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::spawn_blocking;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, idempotency_key};
use crate::http::headers::IdempotencyKeyHeader;
use crate::http::responses::CommonErrors;

/// List the versions of the manifest of an agent
///
/// Newest first, without the manifests.
#[utoipa::path(
    get, path = "/api/v1/agents/{agent}/manifests", tag = "agents", operation_id = "listAgentManifests",
    security(("bearer" = [])), params(("agent" = String, Path, description = "Agent id"), ManifestVersionsQuery),
    responses((status = 200, description = "The versions", body = ManifestVersionsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds(agent): PathIds<AgentId>,
    ValidatedQuery(query): ValidatedQuery<ManifestVersionsQuery>,
) -> Result<Json<ManifestVersionsView>, ApiError> {
    let limit = check_limit("limit", query.limit, MAX_PAGE_SIZE)?;
    if query.before.is_some_and(|before| before < 1) {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "before: must be at least 1"));
    }
    let versions = app.agents.manifests.list(&caller, agent, query.before, limit).await?;
    let versions = versions.into_iter().map(|version| view(version, None)).collect();
    Ok(Json(ManifestVersionsView { versions }))
}

/// Get a version of the manifest of an agent
#[utoipa::path(
    get, path = "/api/v1/agents/{agent}/manifests/{version}", tag = "agents", operation_id = "getAgentManifest",
    security(("bearer" = [])),
    params(
        ("agent" = String, Path, description = "Agent id"),
        ("version" = i64, Path, description = "Number of the version, from 1"),
    ),
    responses((status = 200, description = "The version", body = ManifestVersionView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<AgentsRead>,
    PathIds((agent, version)): PathIds<(AgentId, i64)>,
) -> Result<Json<ManifestVersionView>, ApiError> {
    let ManifestText { version, canonical } = app.agents.manifests.get(&caller, agent, version).await?;
    Ok(Json(view(version, Some(value(&canonical)?))))
}

/// Create an agent
///
/// The same as `POST /api/v1/agents`, where the specification of manifests has it. `capability_manifest` is accepted as a name
/// in both.
#[utoipa::path(
    post, path = "/agents", tag = "agents", operation_id = "createAgentByManifest", security(("bearer" = [])),
    params(IdempotencyKeyHeader), request_body = CreateAgent,
    responses((status = 201, description = "Created", body = AgentView), CommonErrors)
)]
pub(crate) async fn create_agent(
    State(app): State<App>,
    caller: PendingAuthorization<AgentsManage>,
    headers: HeaderMap,
    Body(body): Body<CreateAgent>,
) -> Result<(StatusCode, Json<AgentView>), ApiError> {
    let key = idempotency_key(&headers)?;
    super::create_agent(&app, caller, key.as_ref(), body).await
}

/// Change an agent
///
/// The same as `PATCH /api/v1/agents/{agent}`, where the specification of manifests has it.
#[utoipa::path(
    patch, path = "/agents/{agent}", tag = "agents", operation_id = "updateAgentByManifest", security(("bearer" = [])),
    params(("agent" = String, Path, description = "Agent id")), request_body = UpdateAgent,
    responses((status = 200, description = "The changed agent", body = AgentView), CommonErrors)
)]
pub(crate) async fn update_agent(
    state: State<App>,
    caller: Authorized<AgentsManage>,
    agent: PathIds<AgentId>,
    body: Body<UpdateAgent>,
) -> Result<Json<AgentView>, ApiError> {
    super::update(state, caller, agent, body).await
}

/// Get a published agent
///
/// Everybody can read its name and the current version of its manifest. An agent that is not published is not found.
#[utoipa::path(
    get, path = "/agents/{agent}", tag = "agents", operation_id = "getPublishedAgent",
    params(("agent" = String, Path, description = "Agent id")),
    responses(
        (status = 200, description = "The agent and its manifest", body = PublishedAgentView),
        (status = 404, description = "No such agent, or it is not published", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn get_published(
    State(app): State<App>,
    PathIds(agent): PathIds<AgentId>,
) -> Result<Json<PublishedAgentView>, ApiError> {
    Ok(Json(published_view(app.agents.manifests.published(agent, None).await?)?))
}

/// Get an older version of a published agent
///
/// Only versions that were published.
#[utoipa::path(
    get, path = "/agents/{agent}/versions/{version}", tag = "agents", operation_id = "getPublishedAgentVersion",
    params(
        ("agent" = String, Path, description = "Agent id"),
        ("version" = i64, Path, description = "Number of the version, from 1"),
    ),
    responses(
        (status = 200, description = "The agent and its manifest", body = PublishedAgentView),
        (status = 404, description = "No such version, or it was not published", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn get_published_version(
    State(app): State<App>,
    PathIds((agent, version)): PathIds<(AgentId, i64)>,
) -> Result<Json<PublishedAgentView>, ApiError> {
    Ok(Json(published_view(app.agents.manifests.published(agent, Some(version)).await?)?))
}

/// Checks a manifest as it was sent. That takes a while for a large one, so it does not hold up other requests.
pub(super) async fn parse(sent: Option<Box<RawValue>>) -> Result<Option<DeclaredManifest>, ApiError> {
    let Some(sent) = sent else { return Ok(None) };
    let checked = spawn_blocking(move || check(sent.get())).await.map_err(|_| ServiceError::Overloaded)?;
    let CheckedManifest { document, manifest, .. } = checked.map_err(|findings| invalid(&findings))?;
    Ok(Some(DeclaredManifest { document, manifest }))
}

/// Says what is wrong, and where. The words of the author are in the list only: messages are logged.
fn invalid(findings: &Findings) -> ApiError {
    let errors = || findings.as_slice().iter().filter(|finding| finding.rule.severity() == Severity::Error);
    let is_large = errors().any(|finding| finding.rule == Rule::Size);
    let kind = if is_large { FailureKind::PayloadTooLarge } else { FailureKind::SchemaInvalid };
    let message = "capabilityManifest: not a valid manifest: `errors` lists what is wrong";
    Failure::new(kind, message).with_errors(errors().map(invalid_place)).into()
}

fn invalid_place(finding: &Finding) -> InvalidPlace {
    InvalidPlace {
        pointer: finding.pointer.as_str().to_owned(),
        rule: finding.rule.as_str(),
        message: finding.message.clone(),
    }
}

fn view(version: ManifestVersion, capability_manifest: Option<Value>) -> ManifestVersionView {
    ManifestVersionView {
        version: version.pin.version,
        hash: version.pin.hash.to_string(),
        contract: version.verdicts.map(|verdicts| verdicts.contract.to_string()),
        consent: version.verdicts.map(|verdicts| verdicts.consent.to_string()),
        log_id: version.log_index,
        created_at: version.created_at,
        capability_manifest,
    }
}

fn published_view(published: PublishedManifest) -> Result<PublishedAgentView, ApiError> {
    let PublishedManifest { agent, name, text } = published;
    Ok(PublishedAgentView {
        id: agent.to_string(),
        name,
        capability_manifest: value(&text.canonical)?,
        capability_manifest_version: text.version.pin.version,
        capability_manifest_hash: text.version.pin.hash.to_string(),
        log_id: text.version.log_index.unwrap_or_default(),
    })
}

/// Reads a stored manifest.
fn value(canonical: &str) -> Result<Value, ApiError> {
    serde_json::from_str(canonical).map_err(|error| {
        ApiError::new(FailureKind::Internal, "the stored manifest cannot be read").with_cause(error)
    })
}
