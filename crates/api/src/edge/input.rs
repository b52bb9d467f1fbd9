//! Extractors and validation of paths, queries, bodies and headers. Errors name the invalid part.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use guildhall_domain::FailureKind;
use guildhall_service::ServiceError;
use guildhall_service::idempotency::IdempotencyKey;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::App;
use crate::edge::body_error;
use crate::edge::error::ApiError;

/// A JSON body. An invalid one is a 400 with the reason.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::new(
                FailureKind::SchemaInvalid,
                "the body must be sent with `Content-Type: application/json`",
            ));
        }
        let bytes =
            Bytes::from_request(request, app).await.map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
                    FailureKind::PayloadTooLarge,
                    "the request body is larger than this server accepts",
                ),
                _ => ApiError::new(FailureKind::SchemaInvalid, "the body is incomplete"),
            })?;
        parse_body(&bytes).map(Self)
    }
}

/// Reads a JSON body.
pub(crate) fn parse_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Deserialization would accept an array of values in place of an object.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::new(FailureKind::SchemaInvalid, "the body must be an object, not an array"));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::new(FailureKind::SchemaInvalid, body_error::public_message(&error)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The ids in the path. A malformed id is a 404, like an unknown one.
pub(crate) struct PathIds<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathIds<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Ok(Path(ids)) = Path::from_request_parts(parts, app).await else {
            return Err(ServiceError::NOT_FOUND.into());
        };
        Ok(Self(ids))
    }
}

/// The tenant in a path with more ids, by id or slug. The extractor of the caller resolves it.
pub(crate) type TenantSegment = String;

/// The query parameters. Invalid ones are a 400 with the reason.
pub(crate) struct ValidatedQuery<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for ValidatedQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match Query::from_request_parts(parts, app).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(ApiError::new(
                FailureKind::SchemaInvalid,
                body_error::query_message(&rejection.body_text()),
            )),
        }
    }
}

/// Parses the `Idempotency-Key` header.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    Ok(Some(value.to_str().unwrap_or_default().parse()?))
}

/// Parses the idempotency key of a request whose body may contain it too.
pub(crate) fn idempotency_key_or(
    headers: &HeaderMap,
    in_body: Option<&str>,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let header = idempotency_key(headers)?;
    let in_body = in_body.map(str::parse::<IdempotencyKey>).transpose()?;
    match (&header, &in_body) {
        (Some(header), Some(in_body)) if header != in_body => Err(ApiError::new(
            FailureKind::SchemaInvalid,
            "idempotencyKey: differs from the Idempotency-Key header: send one of them, or the same key in both",
        )),
        _ => Ok(header.or(in_body)),
    }
}

/// Parses a field. The error names it.
pub(crate) fn parse<T: FromStr>(field: &'static str, text: &str) -> Result<T, ApiError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {error}")))
}

/// Validates a page size.
pub(crate) fn check_limit(field: &'static str, limit: u32, max: u32) -> Result<u32, ApiError> {
    if (1..=max).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::new(FailureKind::SchemaInvalid, format!("{field}: must be 1 to {max}")))
}

/// Deserializes a part of a body that is not a list. The error names the field.
pub(crate) fn parse_part<T: DeserializeOwned>(field: &'static str, value: Value) -> Result<T, ApiError> {
    // Deserialization would accept an array of values in place of an object.
    if value.is_array() {
        let message = format!("{field}: must be an object, not an array");
        return Err(ApiError::new(FailureKind::SchemaInvalid, message));
    }
    serde_json::from_value(value).map_err(|error| {
        ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {}", body_error::part_message(&error)))
    })
}

/// Validates a display name: 1 to 100 characters, no control characters.
pub(crate) fn check_name(field: &'static str, text: &str) -> Result<(), ApiError> {
    if (1..=100).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ApiError::new(
        FailureKind::SchemaInvalid,
        format!("{field}: use 1 to 100 characters and no control characters"),
    ))
}
