//! Reads the modules of a crate and what they import.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use super::import_graph::{ModulePath, Modules, SourceFile};

/// Collects what a file names: in `use` items and inline.
struct Imports<'a>(&'a mut SourceFile);

impl Imports<'_> {
    fn add_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                self.add_tree(&[prefix, &[path.ident.to_string()]].concat(), &path.tree);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(prefix, tree)),
            syn::UseTree::Name(name) => self.add_name(prefix, &name.ident, &name.ident),
            syn::UseTree::Rename(rename) => self.add_name(prefix, &rename.ident, &rename.rename),
            syn::UseTree::Glob(_) => {
                self.0.imports.insert(prefix.to_vec());
                self.0.globs.push(prefix.to_vec());
            }
        }
    }

    fn add_name(&mut self, prefix: &[String], name: &syn::Ident, alias: &syn::Ident) {
        let (mut path, mut alias) = (prefix.to_vec(), alias.to_string());
        if name != "self" {
            path.push(name.to_string());
        }
        if alias == "self" {
            alias = path.last().cloned().unwrap_or_default();
        }
        self.0.imports.insert(path.clone());
        self.0.aliases.insert(alias, path);
    }

    /// Adds the paths in the arguments of a macro or an attribute.
    fn add_tokens(&mut self, tokens: &str) {
        let joined = tokens.replace(" :: ", "::");
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for path in joined.split(|c| !is_path(c)).filter(|word| word.contains("::")) {
            self.0.imports.insert(path.split("::").map(str::to_owned).collect());
        }
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.0.imports.insert(segments.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(&item.tokens.to_string());
        visit::visit_macro(self, item);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.add_tokens(&list.tokens.to_string());
        visit::visit_meta_list(self, list);
    }

    /// Inline modules are tests here; what tests import makes no cycle.
    fn visit_item_mod(&mut self, _item: &'ast syn::ItemMod) {}
}

/// Returns the name of an item that other files can import.
#[expect(clippy::wildcard_enum_match_arm, reason = "other items of Rust have no name to import")]
fn item_name(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns a module with what its source names.
pub(crate) fn source_file(file: String, module: ModulePath, source: &syn::File) -> SourceFile {
    let items = source.items.iter().filter_map(item_name).collect();
    let mut found = SourceFile { file, module, items, ..SourceFile::default() };
    Imports(&mut found).visit_file(source);
    found
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

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

pub(crate) fn parse(file: &Path) -> syn::File {
    let source = std::fs::read_to_string(file).expect("a source file can be read");
    syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Reads a module and its submodules. Test modules are left out.
fn read_module(root: &Path, file: &Path, module: ModulePath, found: &mut Modules) {
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
    let file = file.strip_prefix(root).unwrap_or(file).display().to_string();
    found.0.push(source_file(file, module, &source));
}

pub(crate) fn read_crate(root: &Path, name: &str) -> Modules {
    let mut found = Modules::default();
    for file in ["lib.rs", "main.rs"].map(|file| root.join(name).join("src").join(file)) {
        if file.is_file() {
            read_module(root, &file, Vec::new(), &mut found);
        }
    }
    found
}

/// Returns the folders of the crates of the workspace.
pub(crate) fn crates(root: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(root.join("crates")).expect("crates can be listed");
    let names = folders.map(|folder| folder.expect("a folder").file_name().to_string_lossy().into_owned());
    names.map(|name| format!("crates/{name}")).chain(["xtask".to_owned(), "bench".to_owned()]).collect()
}
