//! Provider profiles. Credentials are write-only: no response contains one.

mod git_credentials;
mod validations;

use axum::Json;
use axum::extract::State;
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::{ProfilesManage, TenantRead};
use guildhall_domain::profiles::ProfileOwner;
use guildhall_domain::profiles::{BackendKind, Profile, WireApi};
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use guildhall_protocol::rest::profiles::{
    ChangeProfileQuery, DeletedProfileView, ProfileView, ProfilesQuery, ProfilesView, PutCredential,
    SecretRefView,
};
use guildhall_service::profiles::{self, ProfileManager, SetCredential};
use secrecy::SecretString;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery};
use crate::http::responses::CommonErrors;

/// List the provider profiles of a tenant
///
/// Includes built-in profiles that have no credential yet.
#[utoipa::path(
    get, path = "/api/v1/provider-profiles", tag = "profiles", operation_id = "listProfiles",
    security(("bearer" = [])), params(ProfilesQuery),
    responses((status = 200, description = "The profiles, without their credentials", body = ProfilesView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<TenantRead>,
    ValidatedQuery(query): ValidatedQuery<ProfilesQuery>,
) -> Result<Json<ProfilesView>, ApiError> {
    let caller = caller.in_named_tenant(&app, query.tenant_id.as_deref()).await?;
    let profiles = app.profiles.profiles.list(&caller).await?;
    Ok(Json(ProfilesView { profiles: profiles.iter().map(view).collect() }))
}

/// Get a provider profile
#[utoipa::path(
    get, path = "/api/v1/provider-profiles/{profile}", tag = "profiles", operation_id = "getProfile",
    security(("bearer" = [])), params(("profile" = String, Path, description = "Profile slug"), ProfilesQuery),
    responses((status = 200, description = "The profile, without its credential", body = ProfileView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: PendingAuthorization<TenantRead>,
    PathIds(profile): PathIds<BackendProfile>,
    ValidatedQuery(query): ValidatedQuery<ProfilesQuery>,
) -> Result<Json<ProfileView>, ApiError> {
    let caller = caller.in_named_tenant(&app, query.tenant_id.as_deref()).await?;
    Ok(Json(view(&app.profiles.profiles.get(&caller, &profile).await?)))
}

/// Delete a provider profile and its credential
#[utoipa::path(
    delete, path = "/api/v1/provider-profiles/{profile}", tag = "profiles", operation_id = "deleteProfile",
    security(("bearer" = [])),
    params(("profile" = String, Path, description = "Profile slug"), ChangeProfileQuery),
    responses((status = 200, description = "Deleted", body = DeletedProfileView), CommonErrors)
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: PendingAuthorization<ProfilesManage>,
    PathIds(profile): PathIds<BackendProfile>,
    ValidatedQuery(query): ValidatedQuery<ChangeProfileQuery>,
) -> Result<Json<DeletedProfileView>, ApiError> {
    let manager = authorize_manager(&app, caller, &query).await?;
    app.profiles.profiles.delete(&manager, &profile).await?;
    Ok(Json(DeletedProfileView { profile: profile.to_string(), deleted: true }))
}

/// Set the credential of a provider profile
///
/// Replaces the previous credential. Idempotent.
#[utoipa::path(
    put, path = "/api/v1/provider-profiles/{profile}/credential", tag = "profiles",
    operation_id = "setProfileCredential", security(("bearer" = [])),
    params(("profile" = String, Path, description = "Profile slug"), ChangeProfileQuery),
    request_body = PutCredential,
    responses((status = 200, description = "The profile, without its credential", body = ProfileView), CommonErrors)
)]
pub(crate) async fn set_credential(
    State(app): State<App>,
    caller: PendingAuthorization<ProfilesManage>,
    PathIds(profile): PathIds<BackendProfile>,
    ValidatedQuery(query): ValidatedQuery<ChangeProfileQuery>,
    Body(body): Body<PutCredential>,
) -> Result<Json<ProfileView>, ApiError> {
    let manager = authorize_manager(&app, caller, &query).await?;
    let request = SetCredential {
        credential: SecretString::from(body.credential),
        template: body.template,
        base_url: body.base_url,
        model: body.model,
        wire_api: body.wire_api,
    };
    Ok(Json(view(&app.profiles.profiles.set_credential(&manager, &profile, request).await?)))
}

async fn authorize_manager(
    app: &App,
    caller: PendingAuthorization<ProfilesManage>,
    query: &ChangeProfileQuery,
) -> Result<ProfileManager, ApiError> {
    match query.scope.as_deref() {
        None | Some("tenant") => {
            Ok(ProfileManager::Tenant(caller.in_named_tenant(app, query.tenant_id.as_deref()).await?))
        }
        Some("shared") => Ok(ProfileManager::Shared(caller.into_operator()?)),
        Some(_) => Err(ApiError::new(FailureKind::SchemaInvalid, "scope: use tenant or shared")),
    }
}

fn view(profile: &profiles::ProfileView) -> ProfileView {
    let stored = profile.stored.as_ref();
    let settings = profile.settings();
    let configured = profile.is_configured();
    ProfileView {
        profile: profile.profile.to_string(),
        scope: match profile.owner {
            Some(ProfileOwner::Tenant(_)) => "tenant",
            Some(ProfileOwner::Shared) => "shared",
            None => "none",
        }
        .to_owned(),
        built_in: profile.profile.is_built_in(),
        configured,
        failure_kind: (!configured).then(|| FailureKind::SecretUnavailable.to_string()),
        backend: settings.map(|settings| backend(settings.backend).to_owned()),
        agent: settings.map(|settings| settings.agent().to_owned()),
        base_url: settings.and_then(Profile::provider_url).map(str::to_owned),
        model: settings.and_then(|settings| settings.model.clone()),
        wire_api: settings.and_then(|settings| settings.wire_api).map(|api| wire_api(api).to_owned()),
        secret_ref: SecretRefView {
            name: SecretRef::provider_name(&profile.profile),
            keys: vec!["credential".to_owned(), "profile.toml".to_owned()],
        },
        resource_version: stored.map(|stored| stored.resource_version.clone()),
        hash_suffix: stored.and_then(|stored| stored.hash_suffix.clone()),
        updated_at: stored.map(|stored| stored.changed_at),
        last_validation: profile.validated.as_ref().map(validations::view),
    }
}

fn backend(kind: BackendKind) -> &'static str {
    match kind {
        BackendKind::Codex => "codex",
        BackendKind::Acp => "acp",
        BackendKind::Script => "script",
    }
}

fn wire_api(api: WireApi) -> &'static str {
    match api {
        WireApi::Responses => "responses",
        WireApi::Chat => "chat",
    }
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get, delete))
        .routes(routes!(set_credential))
        .routes(routes!(git_credentials::list))
        .routes(routes!(git_credentials::set, git_credentials::delete))
        .routes(routes!(validations::start))
        .routes(routes!(validations::get))
}
