//! The API document declares the headers that each handler reads, and no others.
//!
//! What a handler reads follows from its source: the functions that it calls (`idempotency_key`), and the extractors in
//! its signature, which count the request for a rate limit or check the CSRF token of a browser session.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use syn::visit::Visit;

use crate::authority::{is_handler, parameter_types, parse_all};

/// Functions that read a header, and the header.
const READERS: [(&str, &str); 4] = [
    ("idempotency_key", "Idempotency-Key"),
    ("idempotency_key_or", "Idempotency-Key"),
    ("last_event_id", "Last-Event-ID"),
    ("client_id", "X-Guildhall-Client-Id"),
];

/// Extractors that count the request of a principal, and accept a browser session.
const PRINCIPAL_EXTRACTORS: [&str; 9] = [
    "AuthenticatedCaller",
    "Authorized",
    "Follower",
    "InstallationOperator",
    "OperatorFollower",
    "OptionalCaller",
    "PendingAuthorization",
    "ThreadOwner",
    "WaitingCaller",
];

/// Counts the request by address.
const COUNTED_BY_ADDRESS: &str = "AnonymousCaller";

const CSRF: &str = "X-Guildhall-CSRF";

/// The layer of traces reads it for every operation.
const TRACEPARENT: &str = "traceparent";

#[derive(Debug, PartialEq, Eq)]
struct Headers {
    read: BTreeSet<String>,
    /// Whether the response shows the status of a rate limit.
    is_counted: bool,
}

/// Collects the names of the called functions.
#[derive(Default)]
struct Calls(BTreeSet<String>);

impl<'a> Visit<'a> for Calls {
    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func
            && let Some(segment) = path.path.segments.last()
        {
            self.0.insert(segment.ident.to_string());
        }
        syn::visit::visit_expr_call(self, call);
    }
}

/// Returns the operation id and the method in the `utoipa::path` attribute of a handler.
fn operation(function: &syn::ItemFn) -> Option<(String, String)> {
    let attribute = function.attrs.iter().find(|attribute| attribute.path().segments.len() == 2)?;
    let text = attribute.meta.require_list().ok()?.tokens.to_string();
    let (method, rest) = text.split_once(',')?;
    let id = rest.split_once("operation_id = \"")?.1.split_once('"')?.0;
    Some((id.to_owned(), method.trim().to_owned()))
}

fn from_source(function: &syn::ItemFn, method: &str) -> Headers {
    let mut calls = Calls::default();
    calls.visit_item_fn(function);
    let called = READERS.iter().filter(|(name, _)| calls.0.contains(*name));
    let mut read: BTreeSet<String> = called.map(|(_, header)| (*header).to_owned()).collect();
    read.insert(TRACEPARENT.to_owned());
    let types = parameter_types(&function.sig);
    let is_principal = PRINCIPAL_EXTRACTORS.iter().any(|extractor| types.contains(*extractor));
    if is_principal && method != "get" {
        read.insert(CSRF.to_owned());
    }
    // `rates::count`: for a principal that the handler finds itself.
    let is_counted = is_principal || types.contains(COUNTED_BY_ADDRESS) || calls.0.contains("count");
    Headers { read, is_counted }
}

fn from_document(document: &Value, operation: &Value) -> Headers {
    let resolve = |value: &Value| {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(value).clone()
    };
    let parameters = operation["parameters"].as_array().into_iter().flatten().map(resolve);
    let read = parameters.filter(|parameter| parameter["in"] == "header");
    let read = read.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect();
    let is_counted = operation["responses"]["429"]["headers"]["X-RateLimit-Limit"].is_object();
    Headers { read, is_counted }
}

fn in_sources() -> BTreeMap<String, Headers> {
    let mut found = BTreeMap::new();
    for (file, source) in parse_all("crates/api/src/http") {
        for item in &source.items {
            let syn::Item::Fn(function) = item else { continue };
            if !is_handler(function) {
                continue;
            }
            let (id, method) =
                operation(function).unwrap_or_else(|| panic!("{file}: {}", function.sig.ident));
            found.insert(id, from_source(function, &method));
        }
    }
    found
}

fn in_document() -> BTreeMap<String, Headers> {
    let document = crate::route_files::api_document();
    let paths = document["paths"].as_object().expect("paths").values();
    let operations = paths.flat_map(|methods| methods.as_object().expect("methods").values());
    operations
        .map(|operation| {
            let id = operation["operationId"].as_str().expect("an operationId").to_owned();
            (id, from_document(&document, operation))
        })
        .collect()
}

#[test]
fn document_declares_the_headers_that_each_handler_reads() {
    let (sources, document) = (in_sources(), in_document());
    assert!(sources.len() > 80, "only {} handlers were read", sources.len());
    let reads_key = |headers: &&Headers| headers.read.contains("Idempotency-Key");
    assert_eq!(sources.values().filter(reads_key).count(), 16);
    assert_eq!(document, sources);
}

#[test]
fn headers_are_found_in_calls_and_extractors() {
    let function: syn::ItemFn = syn::parse_str(
        "#[utoipa::path(post, path = \"/a\", operation_id = \"createA\")]
         async fn create(caller: Authorized<A>, headers: HeaderMap) { let (a, b) = (1, input::idempotency_key(&headers)?); }",
    )
    .expect("a function");
    assert_eq!(operation(&function), Some(("createA".to_owned(), "post".to_owned())));
    let read = ["Idempotency-Key", CSRF, TRACEPARENT].map(str::to_owned).into();
    assert_eq!(from_source(&function, "post"), Headers { read, is_counted: true });
}
