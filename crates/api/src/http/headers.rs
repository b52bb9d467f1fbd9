//! Headers in the API document.
//!
//! Headers that one operation reads are parameters of that operation: [`IdempotencyKeyHeader`], [`StreamHeaders`]. The
//! layers and extractors read and write the same headers for many operations; [`declare`] adds those to the document.
//! `crates/testkit/tests/it/headers.rs` compares the document with the source of the handlers.

use guildhall_domain::{FailureKind, Retry};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, RefOr, Required, Response, ResponseBuilder};
use utoipa::{IntoParams, ToSchema};

/// The header of operations that create something.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes a parameter")]
pub(super) struct IdempotencyKeyHeader {
    /// Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
    /// 409 `idempotency-conflict`.
    #[param(
        rename = "Idempotency-Key",
        required = false,
        min_length = 1,
        max_length = 128,
        pattern = "^[!-~]{1,128}$"
    )]
    idempotency_key: String,
}

/// The headers of streams.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes parameters")]
pub(super) struct StreamHeaders {
    /// Id of the last event received; the stream continues after it.
    #[param(rename = "Last-Event-ID", required = false)]
    last_event_id: String,
    /// Client id, chosen by the client and shown in logs.
    #[param(rename = "X-Guildhall-Client-Id", required = false, pattern = "^[A-Za-z0-9._:-]{1,128}$")]
    client_id: String,
}

/// Operations with a token of a runner: they are not counted by a rate limit, and have no browser session.
const RUNNER_OPERATIONS: [&str; 18] = [
    "askQuestion",
    "takeAnswer",
    "confirmAnswer",
    "acknowledgeCommand",
    "appendEvents",
    "claimNextRun",
    "claimRun",
    "getBundlePart",
    "getOwnEnrolment",
    "getOwnGrant",
    "getRunAttachment",
    "pollCommands",
    "putRunDiff",
    "refreshSessionStorage",
    "registerRunner",
    "setCommandStatus",
    "setRunStatus",
    "updateLease",
];

/// Also refused while another runner holds the lease of the run.
const STARTS_RUNNER: &str = "createRunnerJob";

const TRACEPARENT: &str = "traceparent";
const CSRF: &str = "X-Guildhall-CSRF";
const CLIENT_ID: &str = "X-Guildhall-Client-Id";
const RETRY_AFTER: &str = "Retry-After";
const AUTHENTICATE: &str = "WWW-Authenticate";
const RATE_HEADERS: [&str; 3] = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

const RESPONSE_HEADERS: [(&str, Type, &str); 7] = [
    (
        TRACEPARENT,
        Type::String,
        "W3C trace context of this request; its trace id is the `traceId` of an error",
    ),
    (CLIENT_ID, Type::String, "The client id from the request, or a generated one"),
    (RETRY_AFTER, Type::Integer, "Seconds to wait before a retry, at least 1"),
    (AUTHENTICATE, Type::String, "Always `Bearer`"),
    (RATE_HEADERS[0], Type::Integer, "Requests per window. Only if the request was counted by a rate limit"),
    (RATE_HEADERS[1], Type::Integer, "Requests left, as far as this replica knows; 0 on a refusal is exact"),
    (RATE_HEADERS[2], Type::Integer, "Seconds until the next window, rounded up"),
];

/// Responses that the layers send for any operation below `/api/v1`.
const LAYER_ERRORS: [(&str, &str); 2] = [
    ("503", "Overloaded or not ready, or a service that the server depends on is unavailable"),
    ("504", "The request timed out"),
];

/// Who calls an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    /// A person or a program, with a token or a browser session.
    Principal,
    Runner,
    /// Counted by address.
    SignIn,
    Anyone,
}

/// Adds the headers of layers and extractors to every operation that has them.
pub(super) fn declare(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    for (name, kind, description) in RESPONSE_HEADERS {
        components.headers.insert(name.to_owned(), header(kind, description).into());
    }
    for (name, description) in [
        (TRACEPARENT, "W3C trace context of the caller. An invalid one is ignored"),
        (CSRF, "The `csrfToken` of the browser session. Required with its cookie, ignored with a token"),
    ] {
        components.parameters.insert(name.to_owned(), parameter(name, description).into());
    }
    for (path, item) in &mut document.paths.paths {
        for (is_read, operation) in operations(item) {
            declare_in(path, is_read, operation);
        }
    }
}

/// Returns the operations of a path, and whether each only reads.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (bool, &mut Operation)> {
    let PathItem { get, put, post, patch, delete, .. } = item;
    let changes = [put, post, patch, delete].into_iter().flatten().map(|operation| (false, operation));
    get.iter_mut().map(|operation| (true, operation)).chain(changes)
}

fn declare_in(path: &str, is_read: bool, operation: &mut Operation) {
    let caller = caller_kind(operation);
    add_parameter(operation, TRACEPARENT);
    if caller == CallerKind::Principal {
        allow_session(operation);
        if !is_read {
            add_parameter(operation, CSRF);
        }
    }
    let id = operation.operation_id.clone().unwrap_or_default();
    let responses = &mut operation.responses.responses;
    let of_layers = LAYER_ERRORS.into_iter().filter(|_| path.starts_with("/api/v1"));
    let counted = (caller == CallerKind::Principal).then_some(("429", "Rate limit exceeded"));
    for (status, description) in of_layers.chain(counted) {
        responses.entry(status.to_owned()).or_insert_with(|| problem(description).into());
    }
    let meets_leases = caller == CallerKind::Runner || id == STARTS_RUNNER;
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        for name in response_headers(caller, meets_leases, status, response) {
            let reference = Ref::new(format!("#/components/headers/{name}"));
            response.headers.insert(name.to_owned(), RefOr::Ref(reference));
        }
    }
}

fn caller_kind(operation: &Operation) -> CallerKind {
    let is_runner = operation.operation_id.as_deref().is_some_and(|id| RUNNER_OPERATIONS.contains(&id));
    let has_credential = operation.security.as_ref().is_some_and(|schemes| !schemes.is_empty());
    match (is_runner, has_credential) {
        (true, _) => CallerKind::Runner,
        (false, true) => CallerKind::Principal,
        (false, false) if operation.responses.responses.contains_key("429") => CallerKind::SignIn,
        (false, false) => CallerKind::Anyone,
    }
}

/// Returns the headers of a response that layers and extractors write.
fn response_headers(
    caller: CallerKind,
    meets_leases: bool,
    status: &str,
    response: &Response,
) -> Vec<&'static str> {
    let mut names = vec![TRACEPARENT];
    if status == "401" && caller != CallerKind::SignIn {
        names.push(AUTHENTICATE);
    }
    // Other errors of counted requests have them too. Listing them there would double the document.
    let shows_rate = status.starts_with(['2', '3']) || status == "429";
    if shows_rate && matches!(caller, CallerKind::Principal | CallerKind::SignIn) {
        names.extend(RATE_HEADERS);
    }
    if is_retried_later(status) || (status == "409" && meets_leases) {
        names.push(RETRY_AFTER);
    }
    if response.content.contains_key("text/event-stream") {
        names.push(CLIENT_ID);
    }
    names
}

/// Returns whether every failure with this status can be retried later.
fn is_retried_later(status: &str) -> bool {
    let mut kinds =
        FailureKind::ALL.iter().map(|kind| kind.row()).filter(|row| row.http_status.to_string() == status);
    kinds.next().is_some_and(|first| first.retry == Retry::Later)
        && kinds.all(|row| row.retry == Retry::Later)
}

/// A browser session is accepted wherever a token of a person is.
fn allow_session(operation: &mut Operation) {
    let session = SecurityRequirement::new("session", Vec::<String>::new());
    let schemes = operation.security.get_or_insert_default();
    if !schemes.contains(&session) {
        schemes.push(session);
    }
}

fn add_parameter(operation: &mut Operation, name: &str) {
    let reference = Ref::new(format!("#/components/parameters/{name}"));
    operation.parameters.get_or_insert_default().push(RefOr::Ref(reference));
}

fn parameter(name: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(SchemaType::new(Type::String))))
        .build()
}

fn header(kind: Type, description: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(SchemaType::new(kind));
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

fn problem(description: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
    ResponseBuilder::new().description(description).content(CONTENT_TYPE, content).build()
}
