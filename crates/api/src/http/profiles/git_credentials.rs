//! Credentials of git hosts.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::ProfilesManage;
use guildhall_domain::profiles::git_credential::{GitCredentialKind, GitHost, StoredGitCredential};
use guildhall_protocol::rest::profiles::git_credentials::{
    DeletedGitCredentialView, GitCredentialView, GitCredentialsView, PutGitCredential,
};
use secrecy::SecretString;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, TenantSegment};
use crate::http::responses::CommonErrors;

/// List the credentials of git hosts
///
/// Without their values.
#[utoipa::path(
    get, path = "/api/v1/tenants/{tenant}/git-credentials", tag = "profiles", operation_id = "listGitCredentials",
    security(("bearer" = [])),
    params(("tenant" = String, Path, description = "Id or slug of the tenant")),
    responses((status = 200, description = "The credentials", body = GitCredentialsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Authorized<ProfilesManage>,
) -> Result<Json<GitCredentialsView>, ApiError> {
    let found = app.profiles.git_credentials.list(&caller).await?;
    Ok(Json(GitCredentialsView { credentials: found.iter().map(view).collect() }))
}

/// Set the credential of a git host
///
/// Runs of the tenant that this server starts runners for fetch repositories of the host with it. Agents never see it.
/// Replaces the previous credential. Idempotent.
#[utoipa::path(
    put, path = "/api/v1/tenants/{tenant}/git-credentials/{host}/{kind}", tag = "profiles",
    operation_id = "setGitCredential", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("host" = String, Path, description = "Name of the host, without a port"),
        ("kind" = String, Path, description = "token for HTTPS, ssh-key for SSH"),
    ),
    request_body = PutGitCredential,
    responses((status = 200, description = "The credential, without its value", body = GitCredentialView), CommonErrors)
)]
pub(crate) async fn set(
    State(app): State<App>,
    caller: Authorized<ProfilesManage>,
    PathIds((_tenant, host, kind)): PathIds<(TenantSegment, GitHost, GitCredentialKind)>,
    Body(body): Body<PutGitCredential>,
) -> Result<Json<GitCredentialView>, ApiError> {
    let value = SecretString::from(body.credential);
    Ok(Json(view(&app.profiles.git_credentials.set(&caller, host, kind, value).await?)))
}

/// Delete the credential of a git host
#[utoipa::path(
    delete, path = "/api/v1/tenants/{tenant}/git-credentials/{host}/{kind}", tag = "profiles",
    operation_id = "deleteGitCredential", security(("bearer" = [])),
    params(
        ("tenant" = String, Path, description = "Id or slug of the tenant"),
        ("host" = String, Path, description = "Name of the host, without a port"),
        ("kind" = String, Path, description = "token or ssh-key"),
    ),
    responses((status = 200, description = "Deleted", body = DeletedGitCredentialView), CommonErrors)
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Authorized<ProfilesManage>,
    PathIds((_tenant, host, kind)): PathIds<(TenantSegment, GitHost, GitCredentialKind)>,
) -> Result<Json<DeletedGitCredentialView>, ApiError> {
    app.profiles.git_credentials.delete(&caller, host.clone(), kind).await?;
    Ok(Json(DeletedGitCredentialView { host: host.into(), kind: kind.to_string(), deleted: true }))
}

fn view(stored: &StoredGitCredential) -> GitCredentialView {
    GitCredentialView {
        host: stored.host.to_string(),
        kind: stored.kind.to_string(),
        sha256_suffix: stored.sha256_suffix.clone(),
        updated_at: stored.updated_at,
    }
}
