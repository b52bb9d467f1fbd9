//! Reading paths, bodies and headers, with failures that name the part.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use guildhall_domain::FailureKind;
use guildhall_service::ServiceError;
use guildhall_service::idempotency::IdempotencyKey;
use serde::de::DeserializeOwned;

use crate::App;
use crate::edge::body_error;
use crate::edge::error::ApiError;

/// A JSON body; one that does not fit is refused with what is wrong.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::new(
                FailureKind::SchemaInvalid,
                "send it with `Content-Type: application/json`",
            ));
        }
        let bytes =
            Bytes::from_request(request, app).await.map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
                    FailureKind::PayloadTooLarge,
                    "the request body is larger than this server accepts",
                ),
                _ => ApiError::new(FailureKind::SchemaInvalid, "the body broke off"),
            })?;
        let body = serde_json::from_slice(&bytes);
        body.map(Self).map_err(|error| ApiError::new(FailureKind::SchemaInvalid, body_error::words(&error)))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The segments of a path as ids. One that is no id names no object: not found, like any other that does not exist.
pub(crate) struct Ids<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Ids<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Ok(Path(ids)) = Path::from_request_parts(parts, app).await else {
            return Err(ServiceError::NOT_FOUND.into());
        };
        Ok(Self(ids))
    }
}

/// The words of a query; ones that do not fit are refused with what is wrong.
pub(crate) struct Words<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Words<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match Query::from_request_parts(parts, app).await {
            Ok(Query(words)) => Ok(Self(words)),
            Err(rejection) => {
                Err(ApiError::new(FailureKind::SchemaInvalid, body_error::of_query(&rejection.body_text())))
            }
        }
    }
}

/// Reads the `Idempotency-Key` header.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    Ok(Some(value.to_str().unwrap_or_default().parse()?))
}

/// Parses a word of a body, naming the field in the failure.
pub(crate) fn parse<T: FromStr>(field: &'static str, text: &str) -> Result<T, ApiError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("{field}: {error}")))
}

/// Checks how many are asked for at once.
pub(crate) fn within(field: &'static str, asked: u32, at_most: u32) -> Result<u32, ApiError> {
    if (1..=at_most).contains(&asked) {
        return Ok(asked);
    }
    Err(ApiError::new(FailureKind::SchemaInvalid, format!("{field}: must be 1 to {at_most}")))
}

/// Checks a name that people choose: short, and of visible characters.
pub(crate) fn name(field: &'static str, text: &str) -> Result<(), ApiError> {
    if (1..=100).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ApiError::new(
        FailureKind::SchemaInvalid,
        format!("{field}: use 1 to 100 characters, none of them invisible"),
    ))
}
