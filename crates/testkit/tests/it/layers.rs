//! The layer test: which crate may know which. The tables are the design's; a new edge is a decision, not an accident.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crates of ours that each crate may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("cli", &["server", "runner", "sdk", "engines", "protocol", "identity", "runtime", "domain"]),
    ("server", &["api", "service", "store", "bus", "launcher", "egress", "identity", "runtime", "domain"]),
    ("runner", &["sdk", "protocol", "runtime", "domain"]),
    ("sdk", &["protocol", "identity", "runtime", "domain"]),
    ("api", &["service", "protocol", "identity", "runtime", "domain"]),
    ("service", &["store", "bus", "launcher", "egress", "identity", "runtime", "domain"]),
    ("egress", &["protocol", "runtime", "domain"]),
    ("store", &["runtime", "domain"]),
    ("bus", &["runtime", "domain"]),
    ("launcher", &["runtime", "domain"]),
    ("engines", &["runtime"]),
    ("protocol", &["domain"]),
    ("identity", &["domain"]),
    ("domain", &[]),
    ("runtime", &[]),
    ("testkit", &["engines", "runtime", "domain"]),
    ("xtask", &["engines"]),
];

/// Crates that may depend on anything: they measure the others and nothing depends on them.
const UNBOUND: &[&str] = &["bench"];

/// Dev edges beyond those that are allowed anyway.
const ALLOWED_IN_DEV: &[(&str, &[&str])] = &[("server", &["engines"]), ("cli", &["engines"])];

/// What every crate's tests may use, except those of [`PURE`].
const FOR_TESTS: &str = "testkit";

/// Crates whose tests need nothing of ours: needing it would mean they are not pure.
const PURE: &[&str] = &["domain", "runtime"];

/// Foreign crates that one crate of ours alone may name, in any kind of dependency.
const SOLE_USERS: &[(&str, &str)] =
    &[("sqlx", "store"), ("async-nats", "bus"), ("kube", "launcher"), ("axum", "api")];

/// Tools, not product: they may name what they test, check or measure.
const TOOLS: &[&str] = &["testkit", "xtask", "bench"];

/// Names that collect everything, because nothing is out of place in them.
const REFUSED_NAMES: &[&str] = &["core", "common", "util", "shared"];

const IF_THE_DESIGN_IS_WRONG: &str = "if the design is wrong, change the tables in \
     crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";

/// A workspace member, as far as the rules look at it.
#[derive(Debug, Clone)]
struct Package {
    name: String,
    /// Relative to the workspace, for messages.
    manifest: String,
    dependencies: Vec<Dependency>,
    features: Vec<String>,
}

#[derive(Debug, Clone)]
struct Dependency {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
    Build,
}

/// Returns a message for each breach of the design: where it stands and what to do about it.
fn faults(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(faults_of).collect()
}

fn faults_of(package: &Package) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(name_fault(package));
    faults.extend(feature_fault(package));
    faults.extend(package.dependencies.iter().filter_map(|dependency| {
        edge_fault(package, dependency).or_else(|| sole_user_fault(package, dependency))
    }));
    faults
}

fn name_fault(package: &Package) -> Option<String> {
    let Package { name, manifest, .. } = package;
    if REFUSED_NAMES.contains(&short(name)) {
        let refused = REFUSED_NAMES.join(", ");
        return Some(format!(
            "{name} ({manifest}) has a refused name ({refused}): such a crate collects everything; name it after \
             what it holds, or move its code to the crates that use it"
        ));
    }
    if allowed(short(name)).is_none() && !UNBOUND.contains(&short(name)) {
        return Some(format!(
            "{name} ({manifest}) stands in no row of the design: move its code to a crate that does; \
             {IF_THE_DESIGN_IS_WRONG}"
        ));
    }
    None
}

fn feature_fault(package: &Package) -> Option<String> {
    let Package { name, manifest, features, .. } = package;
    let listed = features.join(", ");
    (!features.is_empty()).then(|| {
        format!(
            "{name} has cargo features ({listed}) in {manifest}: remove [features] and `optional = true`, and \
             choose by configuration at run time, so that one build is what everyone tests"
        )
    })
}

fn edge_fault(package: &Package, dependency: &Dependency) -> Option<String> {
    // A crate without a row has its own fault; its edges would only repeat it.
    let (from, row) = (short(&package.name), allowed(short(&package.name))?);
    let to = short(&dependency.name);
    let ours = dependency.name.starts_with("guildhall-") || allowed(to).is_some() || UNBOUND.contains(&to);
    if !ours || row.contains(&to) || (dependency.kind == Kind::Dev && allowed_in_dev(from, to)) {
        return None;
    }
    let (edge, advice) = (edge_name(dependency.kind), advice(to, dependency.kind));
    Some(format!(
        "{} → {} ({}) is not {edge} of the design: {advice}, or pass the value in; {IF_THE_DESIGN_IS_WRONG}",
        package.name, dependency.name, package.manifest
    ))
}

fn allowed_in_dev(from: &str, to: &str) -> bool {
    let listed = ALLOWED_IN_DEV.iter().any(|(crate_, more)| *crate_ == from && more.contains(&to));
    listed || (to == FOR_TESTS && !PURE.contains(&from))
}

fn edge_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "an edge",
        Kind::Dev => "a dev edge",
        Kind::Build => "a build edge",
    }
}

/// Says where the code belongs that wanted to use `to`.
fn advice(to: &str, kind: Kind) -> String {
    let may = |user: &str, row: &[&str]| row.contains(&to) || (kind == Kind::Dev && allowed_in_dev(user, to));
    let users: Vec<&str> =
        ALLOWED.iter().filter(|(user, row)| may(user, row)).map(|(user, _)| *user).collect();
    let code = if kind == Kind::Dev { "test" } else { "code" };
    if users.is_empty() {
        return format!("no crate may depend on {to}; move what is needed of it down to a crate below");
    }
    format!("move the {code} up to a crate that may depend on {to} ({})", users.join(", "))
}

fn sole_user_fault(package: &Package, dependency: &Dependency) -> Option<String> {
    let (foreign, user) = SOLE_USERS.iter().find(|(foreign, _)| *foreign == dependency.name)?;
    let from = short(&package.name);
    if from == *user || TOOLS.contains(&from) {
        return None;
    }
    Some(format!(
        "{} → {foreign} ({}): {user} alone names {foreign}; move the code to crates/{user} and call it from there; \
         {IF_THE_DESIGN_IS_WRONG}",
        package.name, package.manifest
    ))
}

/// Returns the row of a crate in [`ALLOWED`].
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED.iter().find(|(crate_, _)| *crate_ == name).map(|(_, row)| *row)
}

/// Strips the prefix that all our packages but xtask have.
fn short(name: &str) -> &str {
    name.strip_prefix("guildhall-").unwrap_or(name)
}

/// Reads the workspace as cargo sees it.
fn workspace() -> Vec<Package> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(&root)
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    list(&metadata["packages"]).iter().map(|package| package_from(package, &root)).collect()
}

fn package_from(package: &Value, root: &Path) -> Package {
    let manifest = Path::new(text(&package["manifest_path"]));
    Package {
        name: text(&package["name"]).to_owned(),
        manifest: manifest.strip_prefix(root).unwrap_or(manifest).display().to_string(),
        dependencies: list(&package["dependencies"]).iter().map(dependency_from).collect(),
        features: package["features"].as_object().expect("features is a table").keys().cloned().collect(),
    }
}

fn dependency_from(dependency: &Value) -> Dependency {
    let kind = match dependency["kind"].as_str() {
        None => Kind::Normal,
        Some("dev") => Kind::Dev,
        Some("build") => Kind::Build,
        Some(other) => panic!("cargo has a new kind of dependency, {other}: give it a rule here"),
    };
    Dependency { name: text(&dependency["name"]).to_owned(), kind }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("cargo metadata has a list here")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has a text here")
}

#[test]
fn the_workspace_keeps_to_the_design() {
    let packages = workspace();
    let missing: Vec<_> =
        ALLOWED.iter().filter(|(row, _)| !packages.iter().any(|p| short(&p.name) == *row)).collect();
    assert!(missing.is_empty(), "rows without a crate check nothing: {missing:?}");
    let faults = faults(&packages);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// A crate at crates/x with one dependency.
fn planted(name: &str, dependency: &str, kind: Kind) -> Vec<Package> {
    vec![Package {
        name: name.to_owned(),
        manifest: format!("crates/{}/Cargo.toml", short(name)),
        dependencies: vec![Dependency { name: dependency.to_owned(), kind }],
        features: Vec::new(),
    }]
}

#[test]
fn a_normal_edge_outside_the_table_is_refused() {
    let expected = "guildhall-domain → guildhall-store (crates/domain/Cargo.toml) is not an edge of the design: move \
                    the code up to a crate that may depend on store (server, service), or pass the value in; if the \
                    design is wrong, change the tables in crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";
    assert_eq!(faults(&planted("guildhall-domain", "guildhall-store", Kind::Normal)), [expected]);
}

#[test]
fn an_edge_to_a_crate_that_nothing_may_use_says_so() {
    let found = faults(&planted("guildhall-api", "guildhall-cli", Kind::Normal));
    assert!(found[0].contains("no crate may depend on cli; move what is needed of it down"), "{found:?}");
    for to in ["guildhall-bench", "xtask", "guildhall-unheard-of"] {
        assert_eq!(faults(&planted("guildhall-api", to, Kind::Normal)).len(), 1, "{to}");
    }
}

#[test]
fn a_dev_edge_outside_the_table_is_refused() {
    let expected = "guildhall-store → guildhall-engines (crates/store/Cargo.toml) is not a dev edge of the design: \
                    move the test up to a crate that may depend on engines (cli, server, testkit, xtask), or pass the value \
                    in; if the design is wrong, change the tables in crates/testkit/tests/it/layers.rs and write an \
                    ADR in docs/adr";
    assert_eq!(faults(&planted("guildhall-store", "guildhall-engines", Kind::Dev)), [expected]);
}

#[test]
fn tests_may_use_the_testkit_except_those_of_pure_crates() {
    for (from, kind, refused) in [
        ("guildhall-store", Kind::Dev, 0),
        ("guildhall-server", Kind::Dev, 0),
        ("guildhall-domain", Kind::Dev, 1),
        ("guildhall-runtime", Kind::Dev, 1),
        ("guildhall-store", Kind::Normal, 1),
        ("guildhall-store", Kind::Build, 1),
    ] {
        assert_eq!(faults(&planted(from, "guildhall-testkit", kind)).len(), refused, "{from} {kind:?}");
    }
}

#[test]
fn whole_system_tests_may_use_the_engines() {
    assert_eq!(faults(&planted("guildhall-server", "guildhall-engines", Kind::Dev)), [""; 0]);
    assert_eq!(faults(&planted("guildhall-server", "guildhall-engines", Kind::Normal)).len(), 1);
}

#[test]
fn sqlx_outside_the_store_is_refused_in_every_kind() {
    let expected = "guildhall-api → sqlx (crates/api/Cargo.toml): store alone names sqlx; move the code to \
                    crates/store and call it from there; if the design is wrong, change the tables in \
                    crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";
    for kind in [Kind::Normal, Kind::Dev, Kind::Build] {
        assert_eq!(faults(&planted("guildhall-api", "sqlx", kind)), [expected]);
        assert_eq!(faults(&planted("guildhall-store", "sqlx", kind)), [""; 0]);
        assert_eq!(faults(&planted("guildhall-testkit", "sqlx", kind)), [""; 0]);
    }
}

#[test]
fn each_engine_client_has_its_one_crate() {
    for foreign in ["sqlx", "async-nats", "kube", "axum"] {
        assert_eq!(faults(&planted("guildhall-service", foreign, Kind::Normal)).len(), 1, "{foreign}");
        assert_eq!(faults(&planted("guildhall-bench", foreign, Kind::Normal)), [""; 0]);
    }
}

#[test]
fn a_features_table_is_refused() {
    let mut packages = planted("guildhall-bus", "guildhall-domain", Kind::Normal);
    packages[0].features = vec!["fast".to_owned(), "tls".to_owned()];
    let expected = "guildhall-bus has cargo features (fast, tls) in crates/bus/Cargo.toml: remove [features] and \
                    `optional = true`, and choose by configuration at run time, so that one build is what everyone tests";
    assert_eq!(faults(&packages), [expected]);
}

#[test]
fn a_crate_without_a_row_is_refused() {
    let expected = "guildhall-extras (crates/extras/Cargo.toml) stands in no row of the design: move its code to a \
                    crate that does; if the design is wrong, change the tables in crates/testkit/tests/it/layers.rs \
                    and write an ADR in docs/adr";
    assert_eq!(faults(&planted("guildhall-extras", "guildhall-domain", Kind::Normal)), [expected]);
}

#[test]
fn a_crate_that_would_collect_everything_is_refused() {
    for name in ["guildhall-core", "guildhall-common", "guildhall-util", "guildhall-shared", "util"] {
        let found = faults(&planted(name, "serde", Kind::Normal));
        assert!(
            found.len() == 1 && found[0].contains("has a refused name (core, common, util, shared)"),
            "{found:?}"
        );
    }
}
