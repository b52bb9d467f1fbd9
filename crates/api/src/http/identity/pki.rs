//! What everybody may read: certificates of AIDs, the chain of the issuer, the trusted roots, and which certificates are revoked.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{Aid, Serial};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::identity::{CertificateQuery, OcspView, RevocationListView, TrustListView};
use guildhall_service::ServiceError;
use guildhall_service::identity::pki::certificate_pem;
use serde_json::Value;

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, parse};

const PEM: &str = "application/x-pem-file";

fn pem(text: String) -> Response {
    ([(header::CONTENT_TYPE, PEM)], text).into_response()
}

/// Get the certificate of an AID
///
/// The newest one, or the newest one with a fingerprint. Revoked and expired certificates are found too.
#[utoipa::path(
    get, path = "/pki/cert/{aid}", tag = "pki", operation_id = "getCertificate",
    params(("aid" = String, Path, description = "AID"), CertificateQuery),
    responses(
        (status = 200, description = "The certificate in PEM", body = String, content_type = PEM),
        (status = 400, description = "Invalid fingerprint", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "No such certificate, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn certificate(
    State(app): State<App>,
    PathIds(aid): PathIds<Aid>,
    ValidatedQuery(query): ValidatedQuery<CertificateQuery>,
) -> Result<Response, ApiError> {
    let pki = app.identity.pki()?;
    let fingerprint =
        query.cert_fingerprint.as_deref().map(|text| parse("cert_fingerprint", text)).transpose()?;
    let found = pki.certificate(&aid, fingerprint.as_ref()).await?.ok_or(ServiceError::NOT_FOUND)?;
    Ok(pem(certificate_pem(&found)))
}

/// Get the chain of the issuer
#[utoipa::path(
    get, path = "/pki/chain", tag = "pki", operation_id = "getCertificateChain",
    responses(
        (status = 200, description = "The certificates in PEM: the issuer first, the root last", body = String, content_type = PEM),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn chain(State(app): State<App>) -> Result<Response, ApiError> {
    Ok(pem(app.identity.pki()?.chain()))
}

/// Get the root certificate
#[utoipa::path(
    get, path = "/root.crt", tag = "pki", operation_id = "getRootCertificate",
    responses(
        (status = 200, description = "The certificate of the root in PEM", body = String, content_type = PEM),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn root(State(app): State<App>) -> Result<Response, ApiError> {
    Ok(pem(app.identity.pki()?.root()))
}

/// Get the list of revoked certificates
///
/// At most ten seconds old. Expired certificates are not in it.
#[utoipa::path(
    get, path = "/pki/crl.json", tag = "pki", operation_id = "getRevocationList",
    responses(
        (status = 200, description = "The signed list", body = RevocationListView),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn revocation_list(State(app): State<App>) -> Result<Json<RevocationListView>, ApiError> {
    let list = app.identity.pki()?.revocation_list().await?;
    Ok(Json(RevocationListView { crl_pem: list.to_string() }))
}

/// Get the state of a certificate
///
/// By its serial number. A number that the issuer has not used is `unknown`.
#[utoipa::path(
    get, path = "/pki/ocsp/{serial}", tag = "pki", operation_id = "getCertificateStatus",
    params(("serial" = String, Path, description = "Serial number in hexadecimal digits")),
    responses(
        (status = 200, description = "The state, with a signed OCSP response", body = OcspView),
        (status = 404, description = "Not a serial number, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn ocsp(
    State(app): State<App>,
    PathIds(serial): PathIds<String>,
) -> Result<Json<OcspView>, ApiError> {
    let pki = app.identity.pki()?;
    let serial: Serial = serial.parse().map_err(|_| ServiceError::NOT_FOUND)?;
    let answer = pki.ocsp(&serial).await?;
    Ok(Json(OcspView {
        status: answer.status.as_str().to_owned(),
        ocsp_response: STANDARD.encode(answer.response),
    }))
}

/// Get the list of trusted roots
///
/// Signed by the trust authority. Pin its certificate before you import a root.
#[utoipa::path(
    get, path = "/pki/trust-roots.json", tag = "pki", operation_id = "getTrustedRoots",
    responses(
        (status = 200, description = "The signed list", body = TrustListView),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn trusted_roots(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    Ok(Json(app.identity.pki()?.trust_roots().await?.as_ref().clone()))
}

/// Get the list of trusted roots
///
/// The same as `/pki/trust-roots.json`: clients ask for either.
#[utoipa::path(
    get, path = "/trust-root.json", tag = "pki", operation_id = "getTrustedRootsOfIssuer",
    responses(
        (status = 200, description = "The signed list", body = TrustListView),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn trusted_roots_of_issuer(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    trusted_roots(State(app)).await
}

/// Get the certificate of the trust authority
#[utoipa::path(
    get, path = "/pki/trust-authority.crt", tag = "pki", operation_id = "getTrustAuthority",
    responses(
        (status = 200, description = "The certificate in PEM; its P-384 key signs the list of roots", body = String, content_type = PEM),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn trust_authority(State(app): State<App>) -> Result<Response, ApiError> {
    Ok(pem(app.identity.pki()?.trust_authority()?))
}
