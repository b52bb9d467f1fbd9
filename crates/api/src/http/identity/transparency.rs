//! The transparency log, which everybody may read.

use axum::Json;
use axum::extract::State;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::FailureKind;
use guildhall_domain::identity::{LogContent, LogEntry, Serial, TreeHash};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use guildhall_protocol::rest::identity::{
    ConsistencyProofView, InclusionProofView, LogEntriesQuery, LogEntriesView, LogEntryView, TreeHeadView,
};
use guildhall_service::ServiceError;
use guildhall_service::identity::transparency::{certificate_pem, leaf_hash};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, check_limit};

/// Entries of a page: some hundred kilobytes.
const MAX_ENTRIES: u32 = 100;

/// Get the newest signed tree head
///
/// Its log has every certificate that was issued, and every manifest that was published, before the request. At most an hour old.
#[utoipa::path(
    get, path = "/ct/sth", tag = "ct", operation_id = "getTreeHead",
    responses(
        (status = 200, description = "The signed tree head", body = TreeHeadView),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn head(State(app): State<App>) -> Result<Json<TreeHeadView>, ApiError> {
    let log = app.identity.transparency()?;
    let (key, signed) = (log.key()?, log.head().await?);
    Ok(Json(TreeHeadView {
        sth_version: 1,
        log_id: key.log_id().to_string(),
        tree_size: signed.head.size,
        root_hash: signed.head.root.to_string(),
        timestamp: signed.head.at.as_millisecond(),
        hash_algorithm: "sha256".to_owned(),
        signature_algorithm: "ecdsa-p256-sha256".to_owned(),
        signature: STANDARD.encode(signed.signature),
        public_key: key.to_base64(),
    }))
}

/// List entries
///
/// By index. A page after the last entry is empty.
#[utoipa::path(
    get, path = "/ct/entries", tag = "ct", operation_id = "listLogEntries",
    params(LogEntriesQuery),
    responses(
        (status = 200, description = "The entries", body = LogEntriesView),
        (status = 400, description = "Invalid start or limit", body = Problem, content_type = CONTENT_TYPE),
        (status = 404, description = "The server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn entries(
    State(app): State<App>,
    ValidatedQuery(query): ValidatedQuery<LogEntriesQuery>,
) -> Result<Json<LogEntriesView>, ApiError> {
    let log = app.identity.transparency()?;
    let limit = check_limit("limit", query.limit, MAX_ENTRIES)?;
    if i64::try_from(query.start).is_err() {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "start: larger than any index"));
    }
    let entries = log.entries(query.start, limit).await?;
    Ok(Json(LogEntriesView { entries: entries.iter().map(|entry| view(entry, log.issuer())).collect() }))
}

/// Get an entry
#[utoipa::path(
    get, path = "/ct/entries/{log_id}", tag = "ct", operation_id = "getLogEntry",
    params(("log_id" = u64, Path, description = "Index in the log, from 0")),
    responses(
        (status = 200, description = "The entry", body = LogEntryView),
        (status = 404, description = "No such entry, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn entry(
    State(app): State<App>,
    PathIds(index): PathIds<u64>,
) -> Result<Json<LogEntryView>, ApiError> {
    let log = app.identity.transparency()?;
    Ok(Json(view(&log.entry(index).await?, log.issuer())))
}

/// Get the entry of a certificate
#[utoipa::path(
    get, path = "/ct/certs/{serial}", tag = "ct", operation_id = "getLogEntryOfCertificate",
    params(("serial" = String, Path, description = "Serial number in hexadecimal digits")),
    responses(
        (status = 200, description = "The entry", body = LogEntryView),
        (status = 404, description = "No such certificate, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn certificate_entry(
    State(app): State<App>,
    PathIds(serial): PathIds<String>,
) -> Result<Json<LogEntryView>, ApiError> {
    let log = app.identity.transparency()?;
    let serial: Serial = serial.parse().map_err(|_| ServiceError::NOT_FOUND)?;
    Ok(Json(view(&log.find(&serial).await?, log.issuer())))
}

/// Prove that an entry is in the log
#[utoipa::path(
    get, path = "/ct/proof/{tree_size}/{log_id}", tag = "ct", operation_id = "getInclusionProof",
    params(
        ("tree_size" = u64, Path, description = "Size of the log"),
        ("log_id" = u64, Path, description = "Index of the entry"),
    ),
    responses(
        (status = 200, description = "The proof", body = InclusionProofView),
        (status = 404, description = "The log is not that long, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn inclusion_proof(
    State(app): State<App>,
    PathIds((tree_size, leaf_index)): PathIds<(u64, u64)>,
) -> Result<Json<InclusionProofView>, ApiError> {
    let proof = app.identity.transparency()?.prove_inclusion(tree_size, leaf_index).await?;
    let leaf_hash = proof.leaf.to_string();
    Ok(Json(InclusionProofView { tree_size, leaf_index, leaf_hash, hashes: digits(&proof.hashes) }))
}

/// Prove that the log has only grown
#[utoipa::path(
    get, path = "/ct/consistency/{first}/{second}", tag = "ct", operation_id = "getConsistencyProof",
    params(
        ("first" = u64, Path, description = "Size of the older tree, at least 1"),
        ("second" = u64, Path, description = "Size of the newer tree"),
    ),
    responses(
        (status = 200, description = "The proof", body = ConsistencyProofView),
        (status = 404, description = "The log is not that long, or the server is not an issuer", body = Problem, content_type = CONTENT_TYPE),
    )
)]
pub(crate) async fn consistency_proof(
    State(app): State<App>,
    PathIds((first, second)): PathIds<(u64, u64)>,
) -> Result<Json<ConsistencyProofView>, ApiError> {
    let hashes = app.identity.transparency()?.prove_consistency(first, second).await?;
    Ok(Json(ConsistencyProofView { first, second, hashes: digits(&hashes) }))
}

fn view(entry: &LogEntry, issuer: &str) -> LogEntryView {
    let (certificate, manifest) = match &entry.content {
        LogContent::Certificate(certificate) => (Some(certificate), None),
        LogContent::Manifest(manifest) => (None, Some(manifest)),
    };
    let entry_type =
        if certificate.is_some() { LogEntryView::CERTIFICATE } else { LogEntryView::AGENT_MANIFEST };
    LogEntryView {
        log_id: entry.index,
        timestamp: entry.logged_at.as_millisecond(),
        entry_type: entry_type.to_owned(),
        issuer: issuer.to_owned(),
        leaf_hash: leaf_hash(entry).to_string(),
        aid: certificate.map(|logged| logged.aid.to_string()),
        serial: certificate.map(|logged| logged.serial.to_string()),
        cert_sha256: certificate.map(|logged| logged.fingerprint.to_string()),
        certificate: certificate.map(certificate_pem),
        agent_id: manifest.map(|logged| logged.agent.to_string()),
        manifest_version: manifest.map(|logged| logged.version),
        manifest_hash: manifest.map(|logged| logged.hash.to_string()),
    }
}

fn digits(hashes: &[TreeHash]) -> Vec<String> {
    hashes.iter().map(ToString::to_string).collect()
}
