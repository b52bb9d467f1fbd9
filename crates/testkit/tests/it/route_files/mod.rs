//! The files of a route follow from its group and noun.
//!
//! `POST /api/v1/runs/{run}/commands` is the noun `commands` of the group `runs`: `api/http/runs/commands.rs` calls
//! `service/runs/commands.rs`, `domain/runs/command.rs` decides, `store/queries/commands/*.sql` reads and writes. The
//! noun that gives a group its name is in the group's `mod.rs`, or in a file per verb in its directory.

mod nouns;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nouns::{NOUNS, Noun};
use serde_json::Value;

use crate::authority::source_files;
use crate::modules::import_graph::Modules;
use crate::modules::source::{parse, read_crate, source_file, workspace};

/// Operations of the API document. Whoever adds one looks at its files here.
const OPERATIONS: usize = 209;

/// Nouns whose handlers need no service: they only read the configuration.
const WITHOUT_SERVICE: &[&str] = &["capabilities", "gateways", "scopes"];

/// A crate with its groups, and which of its files imports which.
struct Layer {
    groups: &'static str,
    modules: Modules,
    edges: BTreeMap<usize, BTreeSet<usize>>,
}

impl Layer {
    fn read(root: &Path, crate_folder: &str, groups: &'static str) -> Self {
        let modules = read_crate(root, crate_folder);
        Self { groups, edges: modules.edges(), modules }
    }
}

/// What the checks read, once.
struct Sources {
    root: PathBuf,
    api: Layer,
    service: Layer,
    /// The modules of `store` that run queries of a table.
    store_modules: BTreeMap<String, BTreeSet<String>>,
}

impl Sources {
    fn read() -> Self {
        let root = workspace();
        let store = root.join("crates/store/src");
        let mut store_modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in source_files(&store) {
            let module = file.strip_prefix(&store).expect("a file of the store").components().next();
            let module = module.expect("a name").as_os_str().to_string_lossy().replace(".rs", "");
            for table in read(&file).split("\"queries/").skip(1).filter_map(|rest| rest.split('/').next()) {
                store_modules.entry(table.to_owned()).or_default().insert(module.clone());
            }
        }
        let api = Layer::read(&root, "crates/api", "crates/api/src/http");
        let service = Layer::read(&root, "crates/service", "crates/service/src");
        Self { root, api, service, store_modules }
    }

    /// Returns the text of the files of a noun in a layer, and of the files that they import.
    fn text(&self, noun: &Noun, layer: &Layer) -> String {
        let Layer { groups, modules, edges } = layer;
        let own: BTreeSet<String> = noun
            .tree(&self.root, groups)
            .iter()
            .map(|file| file.strip_prefix(&self.root).unwrap_or(file).display().to_string())
            .collect();
        let mut files = own.clone();
        for (from, targets) in edges {
            if own.contains(&modules.0[*from].file) {
                files.extend(targets.iter().map(|to| modules.0[*to].file.clone()));
            }
        }
        files.iter().map(|file| read(&self.root.join(file))).collect()
    }

    /// Returns the names of the items that a file of `domain` defines, or re-exports where it defines none.
    fn domain_items(&self, file: &str) -> BTreeSet<String> {
        let path = self.root.join("crates/domain/src").join(file);
        let found = source_file(file.to_owned(), Vec::new(), &parse(&path));
        if found.items.is_empty() { found.aliases.into_keys().collect() } else { found.items }
    }
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the identifiers in a source text.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

impl Noun {
    /// Returns how long the route of this noun is that covers a request.
    fn covers(&self, method: &str, path: &str) -> Option<usize> {
        let is_below =
            |route: &str| path == route || path.strip_prefix(route).is_some_and(|rest| rest.starts_with('/'));
        let routes =
            self.routes.iter().filter(|(verb, route)| [method, "*"].contains(verb) && is_below(route));
        routes.map(|(_, route)| route.len()).max()
    }

    /// Returns whether a source text calls the service of this noun.
    fn is_called_by(&self, source: &str) -> bool {
        let source: String = source.split_whitespace().collect();
        let Self { group, name, .. } = self;
        [format!(".{group}.{name}"), format!(".{name}."), format!("{group}::{name}")]
            .iter()
            .any(|call| source.contains(call.as_str()))
    }

    /// Returns the files of this noun in a layer, with those below them.
    fn tree(&self, root: &Path, layer: &str) -> Vec<PathBuf> {
        let group = root.join(layer).join(self.group);
        let (folder, mut files) = match self.name == self.group {
            true => (group, Vec::new()),
            false => (group.join(self.name), self.files(root, layer)),
        };
        if folder.is_dir() {
            files.extend(source_files(&folder));
        }
        files
    }

    /// Returns the files of this noun in a layer: its own, or those of its group where it has the group's name.
    fn files(&self, root: &Path, layer: &str) -> Vec<PathBuf> {
        let group = root.join(layer).join(self.group);
        if self.name == self.group {
            let files = std::fs::read_dir(&group).into_iter().flatten().flatten().map(|entry| entry.path());
            return files
                .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
                .collect();
        }
        let files = [group.join(format!("{}.rs", self.name)), group.join(self.name).join("mod.rs")];
        files.into_iter().filter(|file| file.is_file()).collect()
    }
}

/// Returns the noun of an operation.
fn noun_of(method: &str, path: &str) -> Option<&'static Noun> {
    let covering = NOUNS.iter().filter_map(|noun| Some((noun.covers(method, path)?, noun)));
    covering.max_by_key(|(length, _)| *length).map(|(_, noun)| noun)
}

/// Returns what is missing for an operation.
fn operation_faults(root: &Path, operation: &str, method: &str, path: &str) -> Vec<String> {
    let Some(noun) = noun_of(method, path) else {
        return vec![format!("{operation} ({method} {path}) belongs to no noun: add its route to NOUNS")];
    };
    let Noun { group, name, .. } = noun;
    let names_operation = |file: &&PathBuf| read(file).contains(&format!("\"{operation}\""));
    let handlers = noun.files(root, "crates/api/src/http");
    let Some(handler) = handlers.iter().find(names_operation) else {
        return vec![format!("{operation}: no handler in api/src/http/{group} for the noun {name}")];
    };
    // A handler may call a function of its group's file.
    let callers = [handler.clone(), handler.with_file_name("mod.rs")];
    if !callers.iter().any(|file| file.is_file() && noun.is_called_by(&read(file)))
        && !WITHOUT_SERVICE.contains(name)
    {
        return vec![format!("{operation}: {} does not call {group}.{name}", handler.display())];
    }
    Vec::new()
}

/// Returns what a row of the table says that the files of its noun do not.
fn noun_faults(sources: &Sources, noun: &Noun) -> Vec<String> {
    let Noun { group, name, domain, tables, .. } = noun;
    let service = sources.text(noun, &sources.service);
    let mut faults = Vec::new();
    if service.is_empty() && !WITHOUT_SERVICE.contains(name) {
        faults.push(format!("{group}/{name}: no service/src/{group}/{name}.rs"));
    }
    let handlers = sources.text(noun, &sources.api);
    let (in_service, in_handlers) = (words(&service), words(&handlers));
    for file in *domain {
        if !sources.root.join("crates/domain/src").join(file).is_file() {
            faults.push(format!("{group}/{name}: crates/domain/src/{file} does not exist"));
        } else if !sources
            .domain_items(file)
            .iter()
            .any(|item| in_service.contains(item.as_str()) || in_handlers.contains(item.as_str()))
        {
            faults.push(format!("{group}/{name}: its files name nothing of crates/domain/src/{file}"));
        }
    }
    for table in *tables {
        let modules = sources.store_modules.get(*table);
        if !modules.is_some_and(|modules| modules.iter().any(|module| in_service.contains(module.as_str()))) {
            let modules = modules.into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
            faults.push(format!("{group}/{name}: its files do not name a module of {table}: {modules}"));
        }
    }
    faults
}

/// Returns the committed API document.
pub(crate) fn api_document() -> Value {
    serde_json::from_str(&read(&workspace().join("schemas/openapi.json"))).expect("JSON")
}

/// Returns the id, method and path of each operation.
fn operations(document: &Value) -> Vec<(&str, &str, &str)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods");
        methods.iter().map(move |(method, operation)| {
            let id = operation["operationId"].as_str().expect("an operationId");
            (id, method.as_str(), path.as_str())
        })
    });
    operations.collect()
}

#[test]
fn every_operation_has_its_files_by_group_and_noun() {
    let (root, document) = (workspace(), api_document());
    let operations = operations(&document);
    let faults = operations.iter().flat_map(|(id, method, path)| operation_faults(&root, id, method, path));
    let found: Vec<String> = faults.collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    assert_eq!(operations.len(), OPERATIONS, "operations of the API document");
}

#[test]
fn files_of_every_noun_use_its_rules_and_tables() {
    let sources = Sources::read();
    let found: Vec<String> = NOUNS.iter().flat_map(|noun| noun_faults(&sources, noun)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_noun_has_an_operation() {
    let document = api_document();
    let used: BTreeSet<(&str, &str)> = operations(&document)
        .into_iter()
        .filter_map(|(_, method, path)| noun_of(method, path).map(|noun| (noun.group, noun.name)))
        .collect();
    let rows: BTreeSet<(&str, &str)> = NOUNS.iter().map(|noun| (noun.group, noun.name)).collect();
    assert_eq!(rows.difference(&used).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}

#[test]
fn operation_without_files_is_reported() {
    let root = workspace();
    assert_eq!(
        operation_faults(&root, "launchRockets", "post", "/api/v1/rockets"),
        ["launchRockets (post /api/v1/rockets) belongs to no noun: add its route to NOUNS"]
    );
    assert_eq!(
        operation_faults(&root, "unheardOf", "post", "/api/v1/runs"),
        ["unheardOf: no handler in api/src/http/runs for the noun runs"]
    );
}

#[test]
fn row_that_names_unused_rules_and_tables_is_reported() {
    let (routes, domain, tables) = (&[], &["webhooks/url.rs", "no/such.rs"], &["inbox_messages", "rockets"]);
    let noun = Noun { group: "access", name: "keys", routes, domain, tables };
    assert_eq!(
        noun_faults(&Sources::read(), &noun),
        [
            "access/keys: its files name nothing of crates/domain/src/webhooks/url.rs",
            "access/keys: crates/domain/src/no/such.rs does not exist",
            "access/keys: its files do not name a module of inbox_messages: inbox_messages",
            "access/keys: its files do not name a module of rockets: ",
        ]
    );
}
