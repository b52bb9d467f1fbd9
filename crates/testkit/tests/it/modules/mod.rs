//! The module test: no import cycle between the files of a crate, only the listed edges between the groups of
//! `service`, and no service with more than [`MAX_METHODS`] public methods.
//!
//! A module and its own submodules count as one unit: an import between them is no edge.

pub(crate) mod import_graph;
pub(crate) mod source;

use std::collections::{BTreeMap, BTreeSet};

use import_graph::{Modules, SourceFile};
use source::{crates, parse, read_crate, source_file, workspace};

/// Groups of `service` that each group may import, besides the shared files of [`SHARED`].
const SERVICE_EDGES: &[(&str, &[&str])] = &[
    ("journal", &[]),
    ("ops", &[]),
    ("access", &["journal"]),
    ("identity", &["access"]),
    ("messages", &["identity", "ops"]),
    ("relations", &["access"]),
    ("webhooks", &["access", "messages", "ops"]),
    ("agents", &["access", "identity", "webhooks"]),
    ("retention", &["access"]),
    ("run_steps", &["journal", "webhooks"]),
    ("profiles", &["access", "run_steps"]),
    ("runs", &["access", "journal", "run_steps"]),
    ("approvals", &["access", "journal", "run_steps", "runs"]),
    ("front", &["access", "approvals", "identity", "messages", "run_steps", "runs"]),
    ("sessions", &["access", "journal", "run_steps", "runs"]),
    ("runners", &["access", "journal", "ops", "run_steps", "runs", "sessions"]),
];

/// Files at the root of `service` that every group may import.
const SHARED: &[&str] = &["deps", "error", "failures", "idempotency"];

/// Public methods that one struct of `service` may have.
const MAX_METHODS: usize = 12;

#[test]
fn crates_have_no_import_cycles() {
    let root = workspace();
    let cycles: Vec<String> =
        crates(&root).iter().flat_map(|name| read_crate(&root, name).cycles()).collect();
    assert!(cycles.is_empty(), "\n{}", cycles.join("\n"));
}

/// A file of a made-up crate.
fn made_up(file: &str, module: &[&str], source: &str) -> SourceFile {
    let module = module.iter().map(|name| (*name).to_owned()).collect();
    source_file(file.to_owned(), module, &syn::parse_file(source).expect("Rust"))
}

#[test]
fn import_cycle_error_names_both_files() {
    let cycles = |first: &str, second: &str| {
        let files =
            [made_up("crates/x/src/a.rs", &["a"], first), made_up("crates/x/src/b.rs", &["b"], second)];
        Modules(files.to_vec()).cycles()
    };
    let expected = "crates/x/src/a.rs and crates/x/src/b.rs import each other: move what both need into a module that \
                    imports neither";
    assert_eq!(cycles("use crate::b::Thing;", "use super::a::{self, Other};"), [expected]);
    assert_eq!(cycles("use crate::b::Thing;", "use std::fmt;"), [""; 0]);
}

/// `a/one.rs` imports `a/two.rs`, which names `One` over the re-exports that are given.
fn reexporting_crate(root: &str, parent: &str, import: &str) -> Vec<String> {
    let files = [
        made_up("lib.rs", &[], root),
        made_up("a/mod.rs", &["a"], parent),
        made_up("a/one.rs", &["a", "one"], "use super::two::Two; pub struct One; const MAX: u8 = 1;"),
        made_up("a/two.rs", &["a", "two"], import),
    ];
    Modules(files.to_vec()).cycles()
}

#[test]
fn import_cycle_behind_a_reexport_is_found() {
    let expected =
        ["a/one.rs and a/two.rs import each other: move what both need into a module that imports neither"];
    for (root, parent, import) in [
        ("", "pub use one::One;", "use super::One;"),
        ("", "pub use self::one::One as First;", "use crate::a::First;"),
        ("", "pub use one::*;", "use super::One;"),
        ("pub use a::One;", "pub use one::One;", "fn f(_: crate::One) {}"),
        ("pub use a::*;", "pub use one::One;", "use crate as x; fn f(_: x::One) {}"),
        ("", "pub use one::One;", "fn f() { debug_assert!(super::One::is_one()) }"),
        ("", "pub use one::MAX;", "#[error(\"{}\", super::MAX)] struct Two;"),
        ("", "pub use one as first;", "use crate::a; fn f(_: a::first::One) {}"),
    ] {
        assert_eq!(reexporting_crate(root, parent, import), expected, "{parent} {import}");
    }
}

#[test]
fn name_that_the_parent_defines_makes_no_cycle() {
    for (parent, import) in [
        ("pub struct One;", "use super::One;"),
        ("pub use other_crate::One;", "use super::One;"),
        ("pub use loops::One; use One as loops;", "use super::One;"),
    ] {
        assert_eq!(reexporting_crate("", parent, import), [""; 0], "{parent} {import}");
    }
}

/// Returns a message for each edge between groups of `service` that is not in the table.
fn edge_faults(modules: &Modules) -> Vec<String> {
    let group = |module: &[String]| module.first().cloned().unwrap_or_default();
    let mut faults = BTreeSet::new();
    for (from, targets) in modules.edges() {
        let file = &modules.0[from];
        let from_group = group(&file.module);
        let Some((_, allowed)) = SERVICE_EDGES.iter().find(|(name, _)| *name == from_group) else { continue };
        for to in targets {
            let target = &modules.0[to];
            let to_group = group(&target.module);
            if from_group != to_group
                && !allowed.contains(&to_group.as_str())
                && !SHARED.contains(&to_group.as_str())
            {
                faults.insert(format!(
                    "{} imports {}: {from_group} → {to_group} is not an edge between groups of service; move the shared \
                     step to run_steps, or change SERVICE_EDGES in crates/testkit/tests/it/modules/mod.rs",
                    file.file, target.file
                ));
            }
        }
    }
    faults.into_iter().collect()
}

#[test]
fn service_group_imports_match_the_table() {
    let modules = read_crate(&workspace(), "crates/service");
    let groups: BTreeSet<&str> =
        modules.0.iter().filter(|file| file.module.len() > 1).map(|file| file.module[0].as_str()).collect();
    let rows: BTreeSet<&str> = SERVICE_EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(groups, rows, "each group of service has one row");
    let faults = edge_faults(&modules);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn group_edge_outside_the_table_names_both_files() {
    let file = |module: [&str; 2], import: &str| {
        made_up(&format!("crates/service/src/{}.rs", module.join("/")), &module, import)
    };
    let modules = Modules(vec![
        file(["runs", "create"], "use crate::sessions::storage::Storages;"),
        file(["sessions", "storage"], ""),
    ]);
    let expected = "crates/service/src/runs/create.rs imports crates/service/src/sessions/storage.rs: runs → sessions is \
                    not an edge between groups of service; move the shared step to run_steps, or change SERVICE_EDGES in \
                    crates/testkit/tests/it/modules/mod.rs";
    assert_eq!(edge_faults(&modules), [expected]);
}

#[test]
fn group_table_has_no_cycle() {
    for (index, (group, allowed)) in SERVICE_EDGES.iter().enumerate() {
        for target in *allowed {
            let row = SERVICE_EDGES.iter().position(|(name, _)| name == target);
            assert!(row.is_some_and(|row| row < index), "{group} → {target}: list {target} before {group}");
        }
    }
}

/// Counts the public methods of each type in the inherent `impl` blocks of a file.
fn public_methods(source: &syn::File) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for item in &source.items {
        let syn::Item::Impl(block) = item else { continue };
        let (None, syn::Type::Path(path)) = (&block.trait_, &*block.self_ty) else { continue };
        let name = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let is_public = |item: &&syn::ImplItem| matches!(item, syn::ImplItem::Fn(function) if matches!(function.vis, syn::Visibility::Public(_)));
        *counts.entry(name).or_default() += block.items.iter().filter(is_public).count();
    }
    counts
}

#[test]
fn no_service_has_more_than_twelve_public_methods() {
    let root = workspace();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for file in read_crate(&root, "crates/service").0 {
        let group = file.module.first().cloned().unwrap_or_default();
        for (name, count) in public_methods(&parse(&root.join(&file.file))) {
            *counts.entry((group.clone(), name)).or_default() += count;
        }
    }
    let large: Vec<_> = counts.iter().filter(|(_, count)| **count > MAX_METHODS).collect();
    assert!(large.is_empty(), "split by noun: {large:?}");
}

#[test]
fn public_methods_are_counted_over_impl_blocks() {
    let source = "impl A { pub fn a() {} fn b() {} pub(crate) fn c() {} } impl A { pub async fn d() {} } impl X for A { fn e() {} }";
    let counts = public_methods(&syn::parse_file(source).expect("Rust"));
    assert_eq!(counts, BTreeMap::from([("A".to_owned(), 2)]));
}
