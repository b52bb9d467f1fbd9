//! Error responses shared by most routes, for the API document.

use std::collections::BTreeMap;

use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// Errors of routes with an id or a body.
pub(super) struct CommonErrors;

const COMMON_ERRORS: [(&str, &str); 6] = [
    ("400", "Invalid request"),
    ("401", "No valid token"),
    ("403", "Missing permission, or denied by the tenant's policy"),
    ("404", "Not found, or you have no access"),
    ("409", "Conflict with the current state"),
    ("413", "Request body too large"),
];

/// Additional errors of streams.
pub(super) struct TooManyStreams;

const TOO_MANY_STREAMS: [(&str, &str); 2] = [
    ("429", "Rate limit exceeded, or too many open streams of this object"),
    ("503", "Too many open streams on this replica, or the server is not ready"),
];

impl IntoResponses for CommonErrors {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        error_responses(&COMMON_ERRORS)
    }
}

impl IntoResponses for TooManyStreams {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        error_responses(&TOO_MANY_STREAMS)
    }
}

fn error_responses(errors: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let schema = Ref::from_schema_name(Problem::name());
    let response = |description: &str| {
        let content = ContentBuilder::new().schema(Some(schema.clone())).build();
        ResponseBuilder::new().description(description).content(CONTENT_TYPE, content).build()
    };
    errors.iter().map(|(status, description)| ((*status).to_owned(), response(description).into())).collect()
}
