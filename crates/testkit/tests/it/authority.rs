//! Handlers name in their signatures who may call them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The extractors that check a caller or a runner (`api/src/edge/caller.rs`).
const AUTHORIZATION_EXTRACTORS: &[&str] = &[
    "Authorized",
    "Follower",
    "OperatorFollower",
    "PendingAuthorization",
    "WaitingCaller",
    "ThreadOwner",
    "InstallationOperator",
    "EnrolledRunner",
    "EnrolmentBearer",
    "RunHolder",
    "CachedRunHolder",
    "SignedRunHolder",
];

/// Handlers for anyone with a valid token: they show or change what is the caller's own.
const OWN: &[&str] = &[
    "access/account.rs::change_password",
    "access/account.rs::end_logins",
    "access/account.rs::get_settings",
    "access/account.rs::set_settings",
    "access/audit.rs::public_key",
    "access/auth.rs::logout",
    "access/auth.rs::whoami",
    "access/browser_session.rs::get",
    "access/invitations.rs::accept",
    "access/tenants.rs::list",
    "identity/aids.rs::get",
    "identity/aids.rs::list",
    "identity/aids.rs::renew",
    "identity/aids.rs::revoke",
    "relations/mod.rs::acknowledge",
    "relations/mod.rs::create",
    "relations/mod.rs::delete",
    "relations/mod.rs::get",
    "relations/mod.rs::history",
    "relations/mod.rs::list",
    "relations/mod.rs::update",
    "relations/specified.rs::create_relation",
    "relations/specified.rs::delete_relation",
    "relations/specified.rs::get_relation",
    "relations/specified.rs::list_relations",
    "relations/specified.rs::update_relation",
    "relations/stream.rs::follow",
];

/// Handlers that need no token.
const PUBLIC: &[&str] = &[
    "access/auth.rs::login",
    "access/auth.rs::refresh",
    "access/browser_session.rs::create",
    "access/oidc.rs::callback",
    "access/oidc.rs::exchange",
    "access/oidc.rs::start",
    "access/signing.rs::jwks",
    "agents/manifests.rs::get_published",
    "agents/manifests.rs::get_published_version",
    "front/attachments.rs::get_content",
    "identity/gateways.rs::list",
    "identity/pki.rs::certificate",
    "identity/pki.rs::chain",
    "identity/pki.rs::ocsp",
    "identity/pki.rs::revocation_list",
    "identity/pki.rs::root",
    "identity/pki.rs::trust_authority",
    "identity/pki.rs::trusted_roots",
    "identity/pki.rs::trusted_roots_of_issuer",
    "identity/transparency.rs::certificate_entry",
    "identity/transparency.rs::consistency_proof",
    "identity/transparency.rs::entries",
    "identity/transparency.rs::entry",
    "identity/transparency.rs::head",
    "identity/transparency.rs::inclusion_proof",
    "ops/capabilities.rs::get",
    "ops/health.rs::get",
    "ops/health.rs::live",
    "ops/health.rs::readiness",
    "relations/scopes.rs::list",
];

/// The extractor that counts a caller without a token (`api/src/edge/rates.rs`).
const COUNTED_BY_ADDRESS: &str = "AnonymousCaller";

/// Public handlers without a rate limit by address: they cost a read from memory, or one query at most. The content of an
/// attachment is counted for its owner, after the signature was verified.
const UNLIMITED: &[&str] = &[
    "access/signing.rs::jwks",
    "agents/manifests.rs::get_published",
    "agents/manifests.rs::get_published_version",
    "front/attachments.rs::get_content",
    "identity/gateways.rs::list",
    "identity/pki.rs::certificate",
    "identity/pki.rs::chain",
    "identity/pki.rs::ocsp",
    "identity/pki.rs::revocation_list",
    "identity/pki.rs::root",
    "identity/pki.rs::trust_authority",
    "identity/pki.rs::trusted_roots",
    "identity/pki.rs::trusted_roots_of_issuer",
    "identity/transparency.rs::certificate_entry",
    "identity/transparency.rs::consistency_proof",
    "identity/transparency.rs::entries",
    "identity/transparency.rs::entry",
    "identity/transparency.rs::head",
    "identity/transparency.rs::inclusion_proof",
    "ops/capabilities.rs::get",
    "ops/health.rs::get",
    "ops/health.rs::live",
    "ops/health.rs::readiness",
    "relations/scopes.rs::list",
];

pub(crate) fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(source_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the parsed files below a folder of the workspace, with their paths in it.
pub(crate) fn parse_all(folder: &str) -> Vec<(String, syn::File)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let parse = |file: PathBuf| {
        let source = std::fs::read_to_string(&file).expect("a source file can be read");
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        (name, syn::parse_file(&source).expect("Rust"))
    };
    source_files(&root).into_iter().map(parse).collect()
}

/// Returns the names of the parameter types of a function, without references and generics.
pub(crate) fn parameter_types(signature: &syn::Signature) -> BTreeSet<String> {
    let name = |argument: &syn::FnArg| {
        let syn::FnArg::Typed(argument) = argument else { return None };
        let reference =
            if let syn::Type::Reference(reference) = &*argument.ty { Some(reference) } else { None };
        let named = reference.map_or(&*argument.ty, |reference| &*reference.elem);
        let syn::Type::Path(path) = named else { return None };
        path.path.segments.last().map(|segment| segment.ident.to_string())
    };
    signature.inputs.iter().filter_map(name).collect()
}

pub(crate) fn is_handler(function: &syn::ItemFn) -> bool {
    function
        .attrs
        .iter()
        .any(|attribute| attribute.path().segments.first().is_some_and(|segment| segment.ident == "utoipa"))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct HandlersWithoutRight {
    own: BTreeSet<String>,
    public: BTreeSet<String>,
    /// Those of `public` that are not counted.
    unlimited: BTreeSet<String>,
}

/// Sorts the handlers of a file that have no right in their signature.
fn add_handlers_without_right(file: &str, source: &syn::File, found: &mut HandlersWithoutRight) {
    for item in &source.items {
        let syn::Item::Fn(function) = item else { continue };
        let types = parameter_types(&function.sig);
        if !is_handler(function)
            || AUTHORIZATION_EXTRACTORS.iter().any(|extractor| types.contains(*extractor))
        {
            continue;
        }
        let name = format!("{file}::{}", function.sig.ident);
        let is_own = types.contains("AuthenticatedCaller");
        if is_own {
            found.own.insert(name);
            continue;
        }
        if !types.contains(COUNTED_BY_ADDRESS) {
            found.unlimited.insert(name.clone());
        }
        found.public.insert(name);
    }
}

pub(crate) fn names(listed: &[&str]) -> BTreeSet<String> {
    listed.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn handlers_name_their_right_in_the_signature() {
    let mut found = HandlersWithoutRight::default();
    for (file, source) in parse_all("crates/api/src/http") {
        add_handlers_without_right(&file, &source, &mut found);
    }
    let expected =
        HandlersWithoutRight { own: names(OWN), public: names(PUBLIC), unlimited: names(UNLIMITED) };
    assert_eq!(found, expected);
}

/// Routes outside the API document. `every_public_route_names_its_tier` in `server/tests/it/authorization.rs` lists
/// them.
#[test]
fn routes_outside_the_api_document_are_listed() {
    let mut found = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/src");
    for file in source_files(&folder) {
        let source = std::fs::read_to_string(&file).expect("a source file can be read");
        let routes = source.split(".route(").skip(1).filter_map(|rest| rest.split(',').next());
        found.extend(routes.map(|path| path.trim().to_owned()));
    }
    assert_eq!(
        found,
        names(&[
            "\"/metrics\"",
            "CONFIRMATION_PATH",
            "CONSENT_PAGE_PATH",
            "CONSENT_SIGN_IN_PATH",
            "QUESTION_PAGE_PATH",
            "SIGN_IN_PATH",
            "SOCKET_PATH",
        ])
    );
}

#[test]
fn handler_without_a_right_is_found() {
    let source = "
        #[utoipa::path(get)] async fn a(State(app): State<App>, caller: Authorized<RunsRead>) {}
        #[utoipa::path(get)] async fn b(caller: AuthenticatedCaller) {}
        #[utoipa::path(get)] async fn c(State(app): State<App>) {}
        #[utoipa::path(get)] async fn d(State(app): State<App>, _: AnonymousCaller) {}
        async fn helper(app: &App) {}";
    let mut found = HandlersWithoutRight::default();
    add_handlers_without_right("x.rs", &syn::parse_file(source).expect("Rust"), &mut found);
    let (own, public) = (names(&["x.rs::b"]), names(&["x.rs::c", "x.rs::d"]));
    assert_eq!(found, HandlersWithoutRight { own, public, unlimited: names(&["x.rs::c"]) });
}

/// An external subject has a right in the objects of its own threads only. The files of the front door find them by their
/// owner; no other file may use the right.
#[test]
fn rights_in_own_threads_are_used_in_the_front_door_only() {
    let mut found = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in ["api/src", "cli/src", "server/src", "service/src"] {
        for file in source_files(&root.join(folder)) {
            let source = std::fs::read_to_string(&file).expect("a source file can be read");
            if source.contains("in_own_thread()") {
                found.insert(file.strip_prefix(&root).unwrap_or(&file).display().to_string());
            }
        }
    }
    let expected = [
        "api/src/http/front/agui.rs",
        "api/src/http/front/interrupt_questions.rs",
        "service/src/front/agent_runs.rs",
        "service/src/front/interrupt_answers.rs",
    ];
    assert_eq!(found, names(&expected));
}
