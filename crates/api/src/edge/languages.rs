//! Languages that a client accepts.

use axum::http::{HeaderMap, header};

/// Returns the language tags that the client accepts, in its order. Weights (`;q=0.9`) are not read.
pub(crate) fn accepted_languages(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').map(|entry| entry.split(';').next().unwrap_or_default().trim())
}
