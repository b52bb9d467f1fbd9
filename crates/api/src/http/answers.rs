//! The failures that most routes may answer with, for the API document.

use std::collections::BTreeMap;

use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// What a route that takes an id or a body may refuse.
pub(super) struct Usual;

const USUAL: [(&str, &str); 6] = [
    ("400", "Not of this form"),
    ("401", "No valid token"),
    ("403", "Your role lacks the right, or the tenant's boundary does not allow it"),
    ("404", "No such object, or not yours to know of"),
    ("409", "Does not go together with what is there"),
    ("413", "Too large"),
];

/// What a route that holds something open may refuse beside that.
pub(super) struct TooMany;

const TOO_MANY: [(&str, &str); 2] = [
    ("429", "More requests than you may send in this time, or as many streams of this as you may hold"),
    ("503", "The server holds as many streams as it can, or does not answer"),
];

impl IntoResponses for Usual {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        failures(&USUAL)
    }
}

impl IntoResponses for TooMany {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        failures(&TOO_MANY)
    }
}

fn failures(failures: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let schema = Ref::from_schema_name(Problem::name());
    let answer = |about: &str| {
        let content = ContentBuilder::new().schema(Some(schema.clone())).build();
        ResponseBuilder::new().description(about).content(CONTENT_TYPE, content).build()
    };
    failures.iter().map(|(status, about)| ((*status).to_owned(), answer(about).into())).collect()
}
