//! Which file of a crate imports which: names are followed through `use` and `pub use` to the file that defines them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Re-exports that one name is followed through: more means that they form a loop.
const MAX_REEXPORTS: usize = 16;

/// A path of modules or items, from the root of the crate.
pub(crate) type ModulePath = Vec<String>;

/// A file of a crate, and the names that it imports.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceFile {
    /// Relative to the workspace, for messages.
    pub(crate) file: String,
    pub(crate) module: ModulePath,
    /// Paths as written, in `use` items and inline.
    pub(crate) imports: BTreeSet<Vec<String>>,
    /// Names that `use` items bring into the module, with the path as written.
    pub(crate) aliases: BTreeMap<String, Vec<String>>,
    /// Paths as written of `use path::*`.
    pub(crate) globs: Vec<Vec<String>>,
    /// Names of the items that the file defines.
    pub(crate) items: BTreeSet<String>,
}

/// The files of one crate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules(pub(crate) Vec<SourceFile>);

impl Modules {
    /// Returns the files that each file imports, without its ancestors and descendants.
    pub(crate) fn edges(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let resolver = Resolver::new(self);
        let mut edges = BTreeMap::new();
        for (from, file) in self.0.iter().enumerate() {
            let targets = file.imports.iter().filter_map(|path| resolver.written(from, path, MAX_REEXPORTS));
            let targets = targets.filter(|to| !is_related(&file.module, &self.0[*to].module));
            edges.insert(from, targets.collect());
        }
        edges
    }

    /// Returns a message for each cycle: the two files that import each other, directly or over others.
    pub(crate) fn cycles(&self) -> Vec<String> {
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

/// Finds the file that defines a name.
struct Resolver<'a> {
    files: &'a [SourceFile],
    by_module: BTreeMap<&'a [String], usize>,
}

impl<'a> Resolver<'a> {
    fn new(modules: &'a Modules) -> Self {
        let files = modules.0.as_slice();
        let by_module =
            files.iter().enumerate().map(|(index, file)| (file.module.as_slice(), index)).collect();
        Self { files, by_module }
    }

    /// Resolves a path as a file has written it. None leads to another crate, or to a local name.
    fn written(&self, from: usize, path: &[String], hops: usize) -> Option<usize> {
        let file = &self.files[from];
        let first = path.first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => file.module.clone(),
            _ if self.has_child(&file.module, first) || file.aliases.contains_key(first) => {
                // `use name::…` of another crate with the name of the alias itself.
                if file.aliases.get(first).is_some_and(|target| target.first() == Some(first)) {
                    return None;
                }
                file.module.clone()
            }
            _ => return None,
        };
        for segment in path {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    base.pop();
                }
                name => base.push(name.to_owned()),
            }
        }
        self.absolute(&base, hops)
    }

    /// Resolves a path from the root of the crate.
    fn absolute(&self, path: &[String], hops: usize) -> Option<usize> {
        let (end, index) =
            (0..=path.len()).rev().find_map(|end| Some((end, *self.by_module.get(&path[..end])?)))?;
        let file = &self.files[index];
        let Some(name) = path.get(end).filter(|name| !file.items.contains(*name)) else { return Some(index) };
        let hops = hops.checked_sub(1)?;
        let rest = &path[end + 1..];
        if let Some(target) = file.aliases.get(name) {
            return self.written(index, &[target, rest].concat(), hops);
        }
        let from_glob = file.globs.iter().find_map(|target| {
            let origin = self.written(index, target, hops)?;
            let module = &self.files[origin].module;
            self.has_name(origin, name)
                .then(|| self.absolute(&[module, &path[end..]].concat(), hops))
                .flatten()
        });
        Some(from_glob.unwrap_or(index))
    }

    fn has_child(&self, module: &[String], name: &str) -> bool {
        self.by_module.contains_key([module, &[name.to_owned()]].concat().as_slice())
    }

    fn has_name(&self, index: usize, name: &str) -> bool {
        let file = &self.files[index];
        file.items.contains(name) || file.aliases.contains_key(name) || self.has_child(&file.module, name)
    }
}

/// Returns whether one module contains the other.
fn is_related(a: &[String], b: &[String]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Returns the shortest way from one file to another.
fn path(edges: &BTreeMap<usize, BTreeSet<usize>>, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut paths = VecDeque::from([vec![from]]);
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
