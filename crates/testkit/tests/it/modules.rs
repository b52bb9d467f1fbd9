//! The module test: no import cycle between the files of a crate, only the listed edges between the groups of
//! `service`, and no service with more than [`MAX_METHODS`] public methods.
//!
//! A module and its own submodules count as one unit: an import between them is no edge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

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

/// A file of a crate, and the module paths that it imports.
#[derive(Debug, Clone)]
struct SourceFile {
    /// Relative to the workspace, for messages.
    file: String,
    module: Vec<String>,
    imports: BTreeSet<Vec<String>>,
}

/// The files of one crate.
#[derive(Debug, Clone, Default)]
struct Modules(Vec<SourceFile>);

impl Modules {
    /// Returns the files that each file imports, without its ancestors and descendants.
    fn edges(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let by_module: BTreeMap<&[String], usize> =
            self.0.iter().enumerate().map(|(index, file)| (file.module.as_slice(), index)).collect();
        let resolve =
            |path: &[String]| (0..=path.len()).rev().find_map(|end| by_module.get(&path[..end]).copied());
        let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (from, file) in self.0.iter().enumerate() {
            let targets = file.imports.iter().filter_map(|path| resolve(path));
            let targets = targets.filter(|to| !is_related(&file.module, &self.0[*to].module));
            edges.insert(from, targets.collect());
        }
        edges
    }

    /// Returns a message for each cycle: the two files that import each other, directly or over others.
    fn cycles(&self) -> Vec<String> {
        let edges = self.edges();
        let mut found = BTreeSet::new();
        for &from in edges.keys() {
            for &to in &edges[&from] {
                if let Some(back) = path(&edges, to, from) {
                    let files: BTreeSet<&str> =
                        back.iter().map(|index| self.0[*index].file.as_str()).collect();
                    found.insert(files);
                }
            }
        }
        found
            .into_iter()
            .map(|files| {
                let files: Vec<&str> = files.into_iter().collect();
                format!(
                    "{} import each other: move what both need into a module that imports neither",
                    files.join(" and ")
                )
            })
            .collect()
    }
}

/// Returns whether one module contains the other.
fn is_related(a: &[String], b: &[String]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Returns the shortest way from one file to another.
fn path(edges: &BTreeMap<usize, BTreeSet<usize>>, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut paths = std::collections::VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(path) = paths.pop_front() {
        let last = path[path.len() - 1];
        if last == to {
            return Some(path);
        }
        for &next in edges.get(&last).into_iter().flatten() {
            if seen.insert(next) {
                paths.push_back([path.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

/// Collects the module paths that a file names: in `use` items and inline.
struct Imports<'a> {
    module: &'a [String],
    found: BTreeSet<Vec<String>>,
}

impl Imports<'_> {
    /// Resolves `crate::`, `self::` and `super::`. Other paths lead to other crates or to what was imported.
    fn add(&mut self, segments: &[String]) {
        let mut base = match segments.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.to_vec(),
            _ => return,
        };
        for segment in segments {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    base.pop();
                }
                name => base.push(name.to_owned()),
            }
        }
        self.found.insert(base);
    }

    fn add_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                self.add_tree(&[prefix, &[path.ident.to_string()]].concat(), &path.tree);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(prefix, tree)),
            syn::UseTree::Name(name) if name.ident == "self" => self.add(prefix),
            syn::UseTree::Name(name) => self.add(&[prefix, &[name.ident.to_string()]].concat()),
            syn::UseTree::Rename(rename) if rename.ident == "self" => self.add(prefix),
            syn::UseTree::Rename(rename) => self.add(&[prefix, &[rename.ident.to_string()]].concat()),
            syn::UseTree::Glob(_) => self.add(prefix),
        }
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }

    /// Inline modules are tests here; what tests import makes no cycle.
    fn visit_item_mod(&mut self, _item: &'ast syn::ItemMod) {}
}

fn imports(source: &syn::File, module: &[String]) -> BTreeSet<Vec<String>> {
    let mut imports = Imports { module, found: BTreeSet::new() };
    imports.visit_file(source);
    imports.found
}

/// Returns the names of the submodules that only tests have.
fn test_modules(source: &syn::File) -> BTreeSet<String> {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("test"))
    };
    let mut names = BTreeSet::new();
    for item in &source.items {
        if let syn::Item::Mod(module) = item
            && module.attrs.iter().any(is_test)
        {
            names.insert(module.ident.to_string());
        }
    }
    names
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

fn parse(file: &Path) -> syn::File {
    let source = std::fs::read_to_string(file).expect("a source file can be read");
    syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Reads a module and its submodules. Test modules are left out.
fn read_module(root: &Path, file: &Path, module: Vec<String>, found: &mut Modules) {
    let source = parse(file);
    let is_directory_owner = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
    let folder = if is_directory_owner { file.with_file_name("") } else { file.with_extension("") };
    let tests = test_modules(&source);
    for item in &source.items {
        let syn::Item::Mod(child) = item else { continue };
        let name = child.ident.to_string();
        let files = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        if let Some(file) = files.iter().find(|file| file.is_file() && !tests.contains(&name)) {
            read_module(root, file, [module.as_slice(), &[name]].concat(), found);
        }
    }
    let imports = imports(&source, &module);
    let file = file.strip_prefix(root).unwrap_or(file).display().to_string();
    found.0.push(SourceFile { file, module, imports });
}

fn read_crate(root: &Path, name: &str) -> Modules {
    let mut found = Modules::default();
    for file in ["lib.rs", "main.rs"].map(|file| root.join(name).join("src").join(file)) {
        if file.is_file() {
            read_module(root, &file, Vec::new(), &mut found);
        }
    }
    found
}

fn crates(root: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(root.join("crates")).expect("crates can be listed");
    let names = folders.map(|folder| folder.expect("a folder").file_name().to_string_lossy().into_owned());
    names.map(|name| format!("crates/{name}")).chain(["xtask".to_owned(), "bench".to_owned()]).collect()
}

#[test]
fn crates_have_no_import_cycles() {
    let root = workspace();
    let cycles: Vec<String> =
        crates(&root).iter().flat_map(|name| read_crate(&root, name).cycles()).collect();
    assert!(cycles.is_empty(), "\n{}", cycles.join("\n"));
}

/// Two files of a made-up crate that import what is given.
fn two_file_crate(first: &[&str], second: &[&str]) -> Modules {
    let file = |name: &str, imports: &[&str]| {
        let source: String = imports.iter().map(|import| format!("use {import};\n")).collect();
        let module = vec![name.to_owned()];
        let source = syn::parse_file(&source).expect("Rust");
        let imports = self::imports(&source, &module);
        SourceFile { file: format!("crates/x/src/{name}.rs"), module, imports }
    };
    Modules(vec![file("a", first), file("b", second)])
}

#[test]
fn import_cycle_error_names_both_files() {
    let expected = "crates/x/src/a.rs and crates/x/src/b.rs import each other: move what both need into a module that \
                    imports neither";
    assert_eq!(two_file_crate(&["crate::b::Thing"], &["super::a::{self, Other}"]).cycles(), [expected]);
    assert_eq!(two_file_crate(&["crate::b::Thing"], &["std::fmt"]).cycles(), [""; 0]);
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
                     step to run_steps, or change SERVICE_EDGES in crates/testkit/tests/it/modules.rs",
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
        let module: Vec<String> = module.map(str::to_owned).to_vec();
        let source = syn::parse_file(import).expect("Rust");
        let imports = imports(&source, &module);
        SourceFile { file: format!("crates/service/src/{}.rs", module.join("/")), module, imports }
    };
    let modules = Modules(vec![
        file(["runs", "create"], "use crate::sessions::storage::Storages;"),
        file(["sessions", "storage"], ""),
    ]);
    let expected = "crates/service/src/runs/create.rs imports crates/service/src/sessions/storage.rs: runs → sessions is \
                    not an edge between groups of service; move the shared step to run_steps, or change SERVICE_EDGES in \
                    crates/testkit/tests/it/modules.rs";
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
