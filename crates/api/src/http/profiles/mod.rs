//! Provider profiles. For servers of tenants and for operators: what is a credential goes in and never comes out.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{TenantId, ValidationId};
use guildhall_domain::profiles::validation::Outcome;
use guildhall_domain::profiles::{BackendKind, Profile, WireApi};
use guildhall_domain::runs::policy::{BackendProfile, SecretRef};
use guildhall_protocol::rest::profiles::{
    ChangeProfileQuery, ProfileView, ProfilesQuery, ProfilesView, PutCredential, SecretRefView,
    ValidationView,
};
use guildhall_service::ServiceError;
use guildhall_service::profiles::{self, CredentialAsk, Owner, Validation};
use secrecy::SecretString;

use crate::http::answers::Usual;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::edge::caller::Asking;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, Ids, Words, idempotency_key};

/// The provider profiles that runs of a tenant may name
///
/// Built-in ones are listed also where their credential is missing.
#[utoipa::path(
    get, path = "/api/v1/provider-profiles", tag = "profiles", operation_id = "listProfiles",
    security(("bearer" = [])), params(ProfilesQuery),
    responses((status = 200, description = "Without their credentials", body = ProfilesView), Usual)
)]
pub(crate) async fn list(
    State(app): State<App>,
    asking: Asking,
    Words(query): Words<ProfilesQuery>,
) -> Result<Json<ProfilesView>, ApiError> {
    let (asking, tenant) = within(&app, asking, query.tenant_id.as_deref()).await?;
    let profiles = app.profiles.list(&asking.caller, tenant).await?;
    Ok(Json(ProfilesView { profiles: profiles.iter().map(view).collect() }))
}

/// One provider profile
#[utoipa::path(
    get, path = "/api/v1/provider-profiles/{profile}", tag = "profiles", operation_id = "showProfile",
    security(("bearer" = [])), params(("profile" = String, Path, description = "A profile's slug"), ProfilesQuery),
    responses((status = 200, description = "Without its credential", body = ProfileView), Usual)
)]
pub(crate) async fn show(
    State(app): State<App>,
    asking: Asking,
    Ids(profile): Ids<BackendProfile>,
    Words(query): Words<ProfilesQuery>,
) -> Result<Json<ProfileView>, ApiError> {
    let (asking, tenant) = within(&app, asking, query.tenant_id.as_deref()).await?;
    Ok(Json(view(&app.profiles.show(&asking.caller, tenant, &profile).await?)))
}

/// Forget a provider profile and its credential
#[utoipa::path(
    delete, path = "/api/v1/provider-profiles/{profile}", tag = "profiles", operation_id = "removeProfile",
    security(("bearer" = [])),
    params(("profile" = String, Path, description = "A profile's slug"), ChangeProfileQuery),
    responses((status = 204, description = "Forgotten"), Usual)
)]
pub(crate) async fn remove(
    State(app): State<App>,
    asking: Asking,
    Ids(profile): Ids<BackendProfile>,
    Words(query): Words<ChangeProfileQuery>,
) -> Result<StatusCode, ApiError> {
    let (asking, owner) = owner(&app, asking, &query).await?;
    app.profiles.remove(&asking.caller, owner, &profile).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Give a provider profile its credential
///
/// It takes the place of the one before. Sending the same again is no error.
#[utoipa::path(
    put, path = "/api/v1/provider-profiles/{profile}/credential", tag = "profiles",
    operation_id = "setProfileCredential", security(("bearer" = [])),
    params(("profile" = String, Path, description = "A profile's slug"), ChangeProfileQuery),
    request_body = PutCredential,
    responses((status = 200, description = "Kept; the answer does not hold it", body = ProfileView), Usual)
)]
pub(crate) async fn set_credential(
    State(app): State<App>,
    asking: Asking,
    Ids(profile): Ids<BackendProfile>,
    Words(query): Words<ChangeProfileQuery>,
    Body(body): Body<PutCredential>,
) -> Result<Json<ProfileView>, ApiError> {
    let (asking, owner) = owner(&app, asking, &query).await?;
    let ask = CredentialAsk {
        credential: SecretString::from(body.credential),
        base_url: body.base_url,
        model: body.model,
        wire_api: body.wire_api,
    };
    Ok(Json(view(&app.profiles.put(&asking.caller, owner, &profile, ask).await?)))
}

/// Try a provider profile
///
/// Makes an ordinary run with one short turn, which costs what it costs. With an `Idempotency-Key` the same request gives
/// the same validation.
#[utoipa::path(
    post, path = "/api/v1/provider-profiles/{profile}/validate", tag = "profiles", operation_id = "validateProfile",
    security(("bearer" = [])), params(("profile" = String, Path, description = "A profile's slug"), ProfilesQuery),
    responses((status = 202, description = "It is being tried", body = ValidationView), Usual)
)]
pub(crate) async fn validate(
    State(app): State<App>,
    asking: Asking,
    Ids(profile): Ids<BackendProfile>,
    Words(query): Words<ProfilesQuery>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<ValidationView>), ApiError> {
    let key = idempotency_key(&headers)?;
    let (asking, tenant) = within(&app, asking, query.tenant_id.as_deref()).await?;
    let begun = app.profiles.validate(&asking.caller, tenant, &profile, key.as_ref()).await?;
    Ok((StatusCode::ACCEPTED, Json(of_validation(&begun))))
}

/// How trying a provider profile came out
#[utoipa::path(
    get, path = "/api/v1/provider-profiles/{profile}/validations/{validation}", tag = "profiles",
    operation_id = "showValidation", security(("bearer" = [])),
    params(
        ("profile" = String, Path, description = "A profile's slug"),
        ("validation" = String, Path, description = "A validation's id"),
        ProfilesQuery,
    ),
    responses((status = 200, description = "As it stands", body = ValidationView), Usual)
)]
pub(crate) async fn validation(
    State(app): State<App>,
    asking: Asking,
    Ids((profile, validation)): Ids<(BackendProfile, ValidationId)>,
    Words(query): Words<ProfilesQuery>,
) -> Result<Json<ValidationView>, ApiError> {
    let (asking, tenant) = within(&app, asking, query.tenant_id.as_deref()).await?;
    let found = app.profiles.validation(&asking.caller, tenant, &profile, validation).await?;
    Ok(Json(of_validation(&found)))
}

/// Finds the tenant that a request is about, and the caller's role in it. One that does not exist is like one of others.
async fn within(app: &App, asking: Asking, named: Option<&str>) -> Result<(Asking, TenantId), ApiError> {
    let Some(named) = named else {
        // A service key was found with its tenant.
        let Some(acting) = asking.caller.tenant else {
            let words = "tenantId: say which tenant is meant; only a service key may leave it out";
            return Err(ApiError::new(FailureKind::TenantPolicyDenied, words));
        };
        return Ok((asking, acting.tenant));
    };
    let tenant = app.tenants.resolve(named).await?.ok_or(ServiceError::NOT_FOUND)?;
    Ok((asking.within(app, tenant).await?, tenant))
}

async fn owner(app: &App, asking: Asking, query: &ChangeProfileQuery) -> Result<(Asking, Owner), ApiError> {
    match query.scope.as_deref() {
        None | Some("tenant") => {
            let (asking, tenant) = within(app, asking, query.tenant_id.as_deref()).await?;
            Ok((asking, Owner::Tenant(tenant)))
        }
        Some("shared") => Ok((asking, Owner::Shared)),
        Some(_) => Err(ApiError::new(FailureKind::SchemaInvalid, "scope: use tenant or shared")),
    }
}

fn view(shown: &profiles::ProfileView) -> ProfileView {
    let kept = shown.kept.as_ref();
    let settings: Option<&Profile> = kept.and_then(|kept| kept.settings.as_ref());
    let configured = shown.is_configured();
    ProfileView {
        profile: shown.profile.to_string(),
        scope: match shown.owner {
            Some(Owner::Tenant(_)) => "tenant",
            Some(Owner::Shared) => "shared",
            None => "none",
        }
        .to_owned(),
        built_in: shown.profile.is_built_in(),
        configured,
        failure_kind: (!configured).then(|| FailureKind::SecretUnavailable.to_string()),
        backend: settings.map(|settings| backend(settings.backend).to_owned()),
        base_url: settings.and_then(|settings| settings.base_url.clone()),
        model: settings.and_then(|settings| settings.model.clone()),
        wire_api: settings.and_then(|settings| settings.wire_api).map(|api| wire_api(api).to_owned()),
        secret_ref: SecretRefView {
            name: SecretRef::provider_name(&shown.profile),
            keys: vec!["credential".to_owned(), "profile.toml".to_owned()],
        },
        resource_version: kept.map(|kept| kept.resource_version.clone()),
        hash_suffix: kept.and_then(|kept| kept.hash_suffix.clone()),
        updated_at: kept.map(|kept| kept.changed_at),
        last_validation: shown.validated.as_ref().map(of_validation),
    }
}

fn of_validation(validation: &Validation) -> ValidationView {
    let (status, failure) = match &validation.outcome {
        None => ("pending", None),
        Some(Outcome::Ok) => ("ok", None),
        Some(Outcome::Failed(failure)) => ("failed", Some(failure)),
    };
    ValidationView {
        validation_id: validation.id.to_string(),
        profile: validation.profile.clone(),
        status: status.to_owned(),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        run_id: validation.run.to_string(),
        command_id: validation.command.to_string(),
        resource_version: validation.resource_version.clone(),
        created_at: validation.created_at,
        deadline_at: validation.deadline_at,
        settled_at: validation.settled_at,
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
        .routes(routes!(show, remove))
        .routes(routes!(set_credential))
        .routes(routes!(validate))
        .routes(routes!(validation))
}
