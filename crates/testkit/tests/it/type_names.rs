//! A public type has a name of its own in its crate, and services return types of `domain`.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::import_graph::ModulePath;
use crate::modules::source::{crates, parse, read_crate, workspace};

/// Names that several types of a crate have, with the crate.
const SHARED_NAMES: &[(&str, &str)] = &[
    // One per feature group, always with the group before it: `runs::Group`.
    ("crates/service", "Group"),
];

/// Returns the names of the types that are visible outside their file.
#[expect(clippy::wildcard_enum_match_arm, reason = "other items of Rust are no types")]
fn public_types(source: &syn::File) -> Vec<String> {
    let mut found = Vec::new();
    for item in &source.items {
        let (visibility, name) = match item {
            syn::Item::Enum(item) => (&item.vis, &item.ident),
            syn::Item::Struct(item) => (&item.vis, &item.ident),
            syn::Item::Trait(item) => (&item.vis, &item.ident),
            syn::Item::Type(item) => (&item.vis, &item.ident),
            _ => continue,
        };
        if !matches!(visibility, syn::Visibility::Inherited) {
            found.push(name.to_string());
        }
    }
    found
}

/// Returns a message for each name that several files use.
fn name_faults(crate_folder: &str, files: &[(String, syn::File)]) -> Vec<String> {
    let mut places: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (file, source) in files {
        for name in public_types(source) {
            places.entry(name).or_default().insert(file);
        }
    }
    let repeated = places
        .into_iter()
        .filter(|(name, files)| files.len() > 1 && !SHARED_NAMES.contains(&(crate_folder, name.as_str())));
    repeated
        .map(|(name, files)| {
            let files: Vec<&str> = files.into_iter().collect();
            format!(
                "{crate_folder} has several types `{name}`: {}: name each for what it holds",
                files.join(", ")
            )
        })
        .collect()
}

#[test]
fn public_type_has_a_name_of_its_own_in_its_crate() {
    let root = workspace();
    let mut faults = Vec::new();
    for crate_folder in crates(&root) {
        let files = read_crate(&root, &crate_folder).0.into_iter();
        let files: Vec<_> = files.map(|file| (parse(&root.join(&file.file)), file.file)).collect();
        let files: Vec<_> = files.into_iter().map(|(source, file)| (file, source)).collect();
        faults.extend(name_faults(&crate_folder, &files));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn name_of_two_types_is_reported_with_both_files() {
    let file = |name: &str, source: &str| (name.to_owned(), syn::parse_file(source).expect("Rust"));
    let files = [
        file("a.rs", "pub struct Lane; pub(crate) struct Group; struct Row;"),
        file("b.rs", "pub(super) enum Lane {} pub trait Group {} pub struct Row;"),
    ];
    let lane = "crates/service has several types `Lane`: a.rs, b.rs: name each for what it holds";
    let group = "crates/store has several types `Group`: a.rs, b.rs: name each for what it holds";
    assert_eq!(name_faults("crates/service", &files), [lane]);
    assert_eq!(name_faults("crates/store", &files), [group, &lane.replace("service", "store")]);
}

/// Returns the paths of `store` that a file re-exports.
fn store_reexports(source: &syn::File) -> Vec<String> {
    let mut found = Vec::new();
    for item in &source.items {
        let syn::Item::Use(item) = item else { continue };
        let syn::UseTree::Path(path) = &item.tree else { continue };
        if path.ident == "guildhall_store" && matches!(item.vis, syn::Visibility::Public(_)) {
            found.push(leaf_names(&path.tree).join(", "));
        }
    }
    found
}

fn leaf_names(tree: &syn::UseTree) -> ModulePath {
    match tree {
        syn::UseTree::Path(path) => leaf_names(&path.tree),
        syn::UseTree::Name(name) => vec![name.ident.to_string()],
        syn::UseTree::Rename(rename) => vec![rename.rename.to_string()],
        syn::UseTree::Glob(_) => vec!["*".to_owned()],
        syn::UseTree::Group(group) => group.items.iter().flat_map(leaf_names).collect(),
    }
}

#[test]
fn service_reexports_no_type_of_the_store() {
    let root = workspace();
    let mut faults = Vec::new();
    for file in read_crate(&root, "crates/service").0 {
        for names in store_reexports(&parse(&root.join(&file.file))) {
            faults.push(format!("{}: re-exports {names} of store: read models belong to domain", file.file));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn reexport_of_the_store_is_found() {
    let source = "pub use guildhall_store::relations::{Page, Row as Line}; use guildhall_store::Store;
                  pub use guildhall_domain::ids::RunId; pub use guildhall_store::runs::*;";
    assert_eq!(store_reexports(&syn::parse_file(source).expect("Rust")), ["Page, Line", "*"]);
}
