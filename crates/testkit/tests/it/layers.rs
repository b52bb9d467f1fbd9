//! Checks which crate may depend on which. A dependency outside these tables needs a design decision (an ADR).

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Workspace crates that each crate may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("cli", &["server", "runner", "sdk", "engines", "protocol", "identity", "runtime", "domain"]),
    ("server", &["api", "service", "store", "bus", "launcher", "egress", "identity", "runtime", "domain"]),
    ("runner", &["sdk", "egress", "protocol", "runtime", "domain"]),
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

/// Crates that may depend on anything: they measure the others, and nothing depends on them.
const UNRESTRICTED: &[&str] = &["bench"];

/// Additional dev-dependencies.
const ALLOWED_DEV: &[(&str, &[&str])] = &[("server", &["engines"]), ("cli", &["engines"])];

/// The crate that all tests may use, except those of [`PURE`].
const TEST_SUPPORT: &str = "testkit";

/// Crates whose tests may not use the testkit: they must be testable without engines.
const PURE: &[&str] = &["domain", "runtime"];

/// External crates that only one workspace crate may depend on, in any dependency kind.
const EXCLUSIVE_DEPENDENCIES: &[(&str, &str)] = &[
    ("sqlx", "store"),
    ("async-nats", "bus"),
    ("kube", "launcher"),
    ("axum", "api"),
    ("object_store", "service"),
];

/// Development tools: they may depend on any external crate.
const TOOLS: &[&str] = &["testkit", "xtask", "bench"];

/// Names that say nothing about the content, so that such crates collect everything.
const FORBIDDEN_NAMES: &[&str] = &["core", "common", "util", "shared"];

const DESIGN_CHANGE_HINT: &str = "if the design must change, update the tables in \
     crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";

/// The parts of a workspace package that the rules check.
#[derive(Debug, Clone)]
struct Package {
    name: String,
    /// Path relative to the workspace root, for messages.
    manifest: String,
    dependencies: Vec<Dependency>,
    features: Vec<String>,
}

#[derive(Debug, Clone)]
struct Dependency {
    name: String,
    kind: DependencyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DependencyKind {
    Normal,
    Dev,
    Build,
}

/// Returns a message for each violation: where it is and how to fix it.
fn find_violations(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(package_violations).collect()
}

fn package_violations(package: &Package) -> Vec<String> {
    let mut violations = Vec::new();
    violations.extend(name_violation(package));
    violations.extend(feature_violation(package));
    violations.extend(package.dependencies.iter().filter_map(|dependency| {
        dependency_violation(package, dependency).or_else(|| exclusivity_violation(package, dependency))
    }));
    violations
}

fn name_violation(package: &Package) -> Option<String> {
    let Package { name, manifest, .. } = package;
    if FORBIDDEN_NAMES.contains(&short_name(name)) {
        let forbidden = FORBIDDEN_NAMES.join(", ");
        return Some(format!(
            "{name} ({manifest}) has a forbidden name ({forbidden}): such a crate collects everything; name it after \
             its content, or move its code to the crates that use it"
        ));
    }
    if allowed_dependencies(short_name(name)).is_none() && !UNRESTRICTED.contains(&short_name(name)) {
        return Some(format!(
            "{name} ({manifest}) is not in the design tables: move its code to a crate that is; \
             {DESIGN_CHANGE_HINT}"
        ));
    }
    None
}

fn feature_violation(package: &Package) -> Option<String> {
    let Package { name, manifest, features, .. } = package;
    let names = features.join(", ");
    (!features.is_empty()).then(|| {
        format!(
            "{name} has cargo features ({names}) in {manifest}: remove [features] and `optional = true`, and \
             select by configuration at run time, so that there is one build to test"
        )
    })
}

fn dependency_violation(package: &Package, dependency: &Dependency) -> Option<String> {
    // A crate without a table row is already reported; do not report its dependencies too.
    let (from, row) = (short_name(&package.name), allowed_dependencies(short_name(&package.name))?);
    let to = short_name(&dependency.name);
    let is_workspace_crate = dependency.name.starts_with("guildhall-")
        || allowed_dependencies(to).is_some()
        || UNRESTRICTED.contains(&to);
    if !is_workspace_crate
        || row.contains(&to)
        || (dependency.kind == DependencyKind::Dev && is_allowed_dev(from, to))
    {
        return None;
    }
    let (dependency_kind, advice) = (kind_description(dependency.kind), advice(to, dependency.kind));
    Some(format!(
        "{} → {} ({}) is not {dependency_kind}: {advice}, or pass the value in; {DESIGN_CHANGE_HINT}",
        package.name, dependency.name, package.manifest
    ))
}

fn is_allowed_dev(from: &str, to: &str) -> bool {
    let is_listed = ALLOWED_DEV.iter().any(|(crate_, more)| *crate_ == from && more.contains(&to));
    is_listed || (to == TEST_SUPPORT && !PURE.contains(&from))
}

fn kind_description(kind: DependencyKind) -> &'static str {
    match kind {
        DependencyKind::Normal => "an allowed dependency",
        DependencyKind::Dev => "an allowed dev-dependency",
        DependencyKind::Build => "an allowed build-dependency",
    }
}

/// Returns where to move the code that uses `to`.
fn advice(to: &str, kind: DependencyKind) -> String {
    let may = |user: &str, row: &[&str]| {
        row.contains(&to) || (kind == DependencyKind::Dev && is_allowed_dev(user, to))
    };
    let users: Vec<&str> =
        ALLOWED.iter().filter(|(user, row)| may(user, row)).map(|(user, _)| *user).collect();
    let code = if kind == DependencyKind::Dev { "test" } else { "code" };
    if users.is_empty() {
        return format!("no crate may depend on {to}; move the needed code down to a lower crate");
    }
    format!("move the {code} up to a crate that may depend on {to} ({})", users.join(", "))
}

fn exclusivity_violation(package: &Package, dependency: &Dependency) -> Option<String> {
    let (external, user) =
        EXCLUSIVE_DEPENDENCIES.iter().find(|(external, _)| *external == dependency.name)?;
    let from = short_name(&package.name);
    if from == *user || TOOLS.contains(&from) {
        return None;
    }
    Some(format!(
        "{} → {external} ({}): only {user} may depend on {external}; move the code to crates/{user} and call it from there; \
         {DESIGN_CHANGE_HINT}",
        package.name, package.manifest
    ))
}

/// Returns the allowed dependencies of a crate, from [`ALLOWED`].
fn allowed_dependencies(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED.iter().find(|(crate_, _)| *crate_ == name).map(|(_, row)| *row)
}

/// Strips the `guildhall-` prefix.
fn short_name(name: &str) -> &str {
    name.strip_prefix("guildhall-").unwrap_or(name)
}

/// Reads the workspace packages from `cargo metadata`.
fn workspace_packages() -> Vec<Package> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace root exists");
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
        None => DependencyKind::Normal,
        Some("dev") => DependencyKind::Dev,
        Some("build") => DependencyKind::Build,
        Some(other) => panic!("unknown cargo dependency kind {other}: add a rule here"),
    };
    Dependency { name: text(&dependency["name"]).to_owned(), kind }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("cargo metadata has an array here")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has a string here")
}

#[test]
fn workspace_dependencies_match_the_design() {
    let packages = workspace_packages();
    let missing: Vec<_> =
        ALLOWED.iter().filter(|(row, _)| !packages.iter().any(|p| short_name(&p.name) == *row)).collect();
    assert!(missing.is_empty(), "table rows without a crate: {missing:?}");
    let violations = find_violations(&packages);
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

/// Returns a package with one dependency.
fn package_with_dependency(name: &str, dependency: &str, kind: DependencyKind) -> Vec<Package> {
    vec![Package {
        name: name.to_owned(),
        manifest: format!("crates/{}/Cargo.toml", short_name(name)),
        dependencies: vec![Dependency { name: dependency.to_owned(), kind }],
        features: Vec::new(),
    }]
}

fn violations_for(name: &str, dependency: &str, kind: DependencyKind) -> Vec<String> {
    find_violations(&package_with_dependency(name, dependency, kind))
}

#[test]
fn dependency_outside_the_table_is_a_violation() {
    let expected = "guildhall-domain → guildhall-store (crates/domain/Cargo.toml) is not an allowed dependency: move \
                    the code up to a crate that may depend on store (server, service), or pass the value in; if the \
                    design must change, update the tables in crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";
    assert_eq!(violations_for("guildhall-domain", "guildhall-store", DependencyKind::Normal), [expected]);
}

#[test]
fn dependency_on_an_unusable_crate_is_a_violation() {
    let violations = violations_for("guildhall-api", "guildhall-cli", DependencyKind::Normal);
    assert!(
        violations[0].contains("no crate may depend on cli; move the needed code down"),
        "{violations:?}"
    );
    for to in ["guildhall-bench", "xtask", "guildhall-unheard-of"] {
        assert_eq!(violations_for("guildhall-api", to, DependencyKind::Normal).len(), 1, "{to}");
    }
}

#[test]
fn dev_dependency_outside_the_table_is_a_violation() {
    let expected = "guildhall-store → guildhall-engines (crates/store/Cargo.toml) is not an allowed dev-dependency: \
                    move the test up to a crate that may depend on engines (cli, server, testkit, xtask), or pass the value \
                    in; if the design must change, update the tables in crates/testkit/tests/it/layers.rs and write an \
                    ADR in docs/adr";
    assert_eq!(violations_for("guildhall-store", "guildhall-engines", DependencyKind::Dev), [expected]);
}

#[test]
fn testkit_is_a_dev_dependency_of_all_but_pure_crates() {
    for (from, kind, expected_count) in [
        ("guildhall-store", DependencyKind::Dev, 0),
        ("guildhall-server", DependencyKind::Dev, 0),
        ("guildhall-domain", DependencyKind::Dev, 1),
        ("guildhall-runtime", DependencyKind::Dev, 1),
        ("guildhall-store", DependencyKind::Normal, 1),
        ("guildhall-store", DependencyKind::Build, 1),
    ] {
        assert_eq!(violations_for(from, "guildhall-testkit", kind).len(), expected_count, "{from} {kind:?}");
    }
}

#[test]
fn server_may_use_engines_only_as_dev_dependency() {
    assert_eq!(violations_for("guildhall-server", "guildhall-engines", DependencyKind::Dev), [""; 0]);
    assert_eq!(violations_for("guildhall-server", "guildhall-engines", DependencyKind::Normal).len(), 1);
}

#[test]
fn sqlx_outside_store_is_a_violation_in_every_kind() {
    let expected = "guildhall-api → sqlx (crates/api/Cargo.toml): only store may depend on sqlx; move the code to \
                    crates/store and call it from there; if the design must change, update the tables in \
                    crates/testkit/tests/it/layers.rs and write an ADR in docs/adr";
    for kind in [DependencyKind::Normal, DependencyKind::Dev, DependencyKind::Build] {
        assert_eq!(violations_for("guildhall-api", "sqlx", kind), [expected]);
        assert_eq!(violations_for("guildhall-store", "sqlx", kind), [""; 0]);
        assert_eq!(violations_for("guildhall-testkit", "sqlx", kind), [""; 0]);
    }
}

#[test]
fn exclusive_dependency_in_another_crate_is_a_violation() {
    for external in ["sqlx", "async-nats", "kube", "axum"] {
        assert_eq!(
            violations_for("guildhall-service", external, DependencyKind::Normal).len(),
            1,
            "{external}"
        );
        assert_eq!(violations_for("guildhall-bench", external, DependencyKind::Normal), [""; 0]);
    }
}

#[test]
fn cargo_features_are_a_violation() {
    let mut packages = package_with_dependency("guildhall-bus", "guildhall-domain", DependencyKind::Normal);
    packages[0].features = vec!["fast".to_owned(), "tls".to_owned()];
    let expected = "guildhall-bus has cargo features (fast, tls) in crates/bus/Cargo.toml: remove [features] and \
                    `optional = true`, and select by configuration at run time, so that there is one build to test";
    assert_eq!(find_violations(&packages), [expected]);
}

#[test]
fn crate_without_a_table_row_is_a_violation() {
    let expected = "guildhall-extras (crates/extras/Cargo.toml) is not in the design tables: move its code to a \
                    crate that is; if the design must change, update the tables in crates/testkit/tests/it/layers.rs \
                    and write an ADR in docs/adr";
    assert_eq!(violations_for("guildhall-extras", "guildhall-domain", DependencyKind::Normal), [expected]);
}

#[test]
fn catch_all_crate_name_is_a_violation() {
    for name in ["guildhall-core", "guildhall-common", "guildhall-util", "guildhall-shared", "util"] {
        let violations = violations_for(name, "serde", DependencyKind::Normal);
        assert!(
            violations.len() == 1
                && violations[0].contains("has a forbidden name (core, common, util, shared)"),
            "{violations:?}"
        );
    }
}
