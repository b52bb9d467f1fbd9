//! AIDs, for their owners and for operators of the installation.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::identity::{Aid, IssuedCertificate, OwnedAid, RevocationReason};
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::rest::identity::{
    AidCertificateView, AidView, AidsQuery, AidsView, CreateAid, ReservationView, ReserveAid, RevokeAid,
};
use guildhall_service::identity::pki::certificate_pem;
use jiff::Timestamp;

use crate::App;
use crate::edge::caller::AuthenticatedCaller;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, parse};
use crate::http::responses::CommonErrors;

/// Create an AID
///
/// For operators, who own it unless they name another user as `owner`. The private key stays with the caller. Its certificate is in the
/// response.
#[utoipa::path(
    post, path = "/api/v1/aids", tag = "aids", operation_id = "createAid", security(("bearer" = [])),
    request_body = CreateAid,
    responses((status = 201, description = "Created", body = AidView), CommonErrors)
)]
pub(crate) async fn create(
    State(app): State<App>,
    caller: InstallationOperator,
    Body(body): Body<CreateAid>,
) -> Result<(StatusCode, Json<AidView>), ApiError> {
    let aids = app.identity.aids()?;
    let (name, owner) = (parse("name", &body.name)?, owner(body.owner.as_deref())?);
    let issued = aids.create(&caller, name, &body.public_key, owner).await?;
    Ok((StatusCode::CREATED, Json(view(aids.get(&caller, &issued.aid).await?, aids.now()))))
}

/// List AIDs
///
/// Your own; for operators all.
#[utoipa::path(
    get, path = "/api/v1/aids", tag = "aids", operation_id = "listAids", security(("bearer" = [])),
    params(AidsQuery), responses((status = 200, description = "One page, by name", body = AidsView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    ValidatedQuery(query): ValidatedQuery<AidsQuery>,
) -> Result<Json<AidsView>, ApiError> {
    let aids = app.identity.aids()?;
    let limit = check_limit("limit", query.limit, 100)?;
    let after: Option<Aid> = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let after = after.map(|aid| aid.to_string()).unwrap_or_default();
    let found = aids.list(&caller.caller, &after, limit).await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= limit);
    let next_cursor = found.last().filter(|_| is_full).map(|last| last.certificate.aid.to_string());
    Ok(Json(AidsView { aids: found.into_iter().map(|found| view(found, aids.now())).collect(), next_cursor }))
}

/// Get an AID
///
/// For its owner and for operators.
#[utoipa::path(
    get, path = "/api/v1/aids/{aid}", tag = "aids", operation_id = "getAid", security(("bearer" = [])),
    params(("aid" = String, Path, description = "AID")),
    responses((status = 200, description = "The AID with its newest certificate", body = AidView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(aid): PathIds<Aid>,
) -> Result<Json<AidView>, ApiError> {
    let aids = app.identity.aids()?;
    Ok(Json(view(aids.get(&caller.caller, &aid).await?, aids.now())))
}

/// Renew the certificate of an AID
///
/// For its owner and for operators. The new certificate has the same key. A revoked key gets none.
#[utoipa::path(
    post, path = "/api/v1/aids/{aid}/renew", tag = "aids", operation_id = "renewAid", security(("bearer" = [])),
    params(("aid" = String, Path, description = "AID")),
    responses((status = 200, description = "The AID with its new certificate", body = AidView), CommonErrors)
)]
pub(crate) async fn renew(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(aid): PathIds<Aid>,
) -> Result<Json<AidView>, ApiError> {
    let aids = app.identity.aids()?;
    aids.renew(&caller.caller, &aid).await?;
    Ok(Json(view(aids.get(&caller.caller, &aid).await?, aids.now())))
}

/// Revoke the key of an AID
///
/// For its owner and for operators. All certificates of the key are revoked; there is no way back. Idempotent.
#[utoipa::path(
    post, path = "/api/v1/aids/{aid}/revoke", tag = "aids", operation_id = "revokeAid", security(("bearer" = [])),
    request_body = RevokeAid, params(("aid" = String, Path, description = "AID")),
    responses((status = 200, description = "The AID with its revoked certificate", body = AidView), CommonErrors)
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: AuthenticatedCaller,
    PathIds(aid): PathIds<Aid>,
    Body(body): Body<RevokeAid>,
) -> Result<Json<AidView>, ApiError> {
    let aids = app.identity.aids()?;
    let reason = RevocationReason::from_name(&body.reason)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("reason: {error}")))?;
    Ok(Json(view(aids.revoke(&caller.caller, &aid, reason).await?, aids.now())))
}

/// Reserve a name for one address
///
/// For operators. A client at this address can register the name for ten minutes, even where registration is closed. Whoever registers
/// it acts for the user named as `owner`; without one, the AID belongs to a principal of its own, which has no rights. Reserving it again
/// replaces the earlier reservation.
#[utoipa::path(
    post, path = "/api/v1/aid-reservations", tag = "aids", operation_id = "reserveAid", security(("bearer" = [])),
    request_body = ReserveAid,
    responses((status = 201, description = "Reserved", body = ReservationView), CommonErrors)
)]
pub(crate) async fn reserve(
    State(app): State<App>,
    caller: InstallationOperator,
    Body(body): Body<ReserveAid>,
) -> Result<(StatusCode, Json<ReservationView>), ApiError> {
    let aids = app.identity.aids()?;
    let (name, address) = (parse("name", &body.name)?, parse("address", &body.address)?);
    let reserved = aids.reserve(&caller, name, address, owner(body.owner.as_deref())?).await?;
    let view = ReservationView {
        aid: aids.aid(reserved.name).to_string(),
        address: reserved.address,
        owner: reserved.owner.map(|owner| owner.to_string()),
        expires_at: reserved.expires_at,
    };
    Ok((StatusCode::CREATED, Json(view)))
}

fn owner(given: Option<&str>) -> Result<Option<PrincipalId>, ApiError> {
    given.map(|given| parse("owner", given)).transpose()
}

fn view(found: OwnedAid, now: Timestamp) -> AidView {
    AidView {
        aid: found.certificate.aid.to_string(),
        owner: found.owner.to_string(),
        created_at: found.created_at,
        certificate: certificate_view(&found.certificate, now),
    }
}

fn certificate_view(certificate: &IssuedCertificate, now: Timestamp) -> AidCertificateView {
    AidCertificateView {
        serial: certificate.serial.to_string(),
        fingerprint: certificate.fingerprint.to_string(),
        key_fingerprint: certificate.key_fingerprint.to_string(),
        not_before: certificate.not_before,
        not_after: certificate.not_after,
        status: certificate.status(now).as_str().to_owned(),
        revoked_at: certificate.revoked.map(|(at, _)| at),
        revocation_reason: certificate.revoked.map(|(_, reason)| reason.as_str().to_owned()),
        certificate: certificate_pem(certificate),
    }
}
