//! Names in the documentation must exist in the code, and names that users meet must be documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::generated::{self, Key};
use super::markdown::{Block, Document};
use super::routes;

pub(super) type Names = BTreeSet<String>;

/// Words of the form `section.key` that are no keys: fields of responses, of spans and of names, files and columns.
const NOT_KEYS: [&str; 6] = [
    "postgres.reachable",
    "postgres.moved",
    "postgres.log",
    "runs.lost_runner",
    "failure.kind",
    "name.issuer",
];

/// Words in brackets that are no sections: a secret in a log, and a table of the file of `guildhall guard`.
const NOT_SECTIONS: [&str; 2] = ["redacted", "tools"];

/// Variables that our programs do not read: Kubernetes sets the first one for a Service called `guildhall`, and the
/// programs in `examples` read the others.
const NOT_VARIABLES: [&str; 4] = ["GUILDHALL_PORT", "GUILDHALL_KEY", "GUILDHALL_TENANT", "GUILDHALL_AGENT"];

/// Folders whose files are named by their path.
const FOLDERS: [&str; 6] = ["bench/", "changes/", "crates/", "docs/", "schemas/", "xtask/"];

pub(super) fn check(root: &Path, documents: &[&Document]) -> Result<Vec<String>> {
    let code = Code::read(root)?;
    let mut problems = Vec::new();
    for document in documents {
        problems.extend(unknown_sections(document, &code.keys));
        problems.extend(unknown_keys(document, &code.keys));
        problems.extend(unknown_variables(document, &code.variables));
        problems.extend(unknown_metrics(document, &code.metrics));
        problems.extend(missing_paths(document, |path| root.join(path).exists()));
    }
    for (page, what, names) in [
        ("docs/reference/events.md", "event type", &code.event_types),
        ("docs/reference/metrics.md", "metric", &code.metrics),
        ("docs/reference/api.md", "route", &code.routes),
    ] {
        problems.extend(undocumented(documents, page, what, names));
    }
    problems.extend(documents.iter().flat_map(|document| routes::unknown(document, &code.routes)));
    problems.extend(missing_error_pages(documents, &code.failure_kinds));
    Ok(problems)
}

/// The names that the code defines.
struct Code {
    keys: Vec<Key>,
    variables: Names,
    metrics: Names,
    event_types: Names,
    failure_kinds: Names,
    routes: Names,
}

impl Code {
    fn read(root: &Path) -> Result<Self> {
        let read =
            |file: &str| fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"));
        let keys = generated::keys(&read("guildhall.example.toml")?);
        let mut sources = String::new();
        read_sources(&root.join("crates"), &mut sources)?;
        let mut variables: Names = quoted(&sources, "\"GUILDHALL_");
        variables.extend(keys.iter().map(Key::variable));
        Ok(Self {
            keys,
            variables,
            metrics: metrics(&sources),
            event_types: event_types(&read("crates/domain/src/runs/event.rs")?),
            failure_kinds: failure_kinds(&read("crates/domain/src/failure.rs")?),
            routes: routes::of(&serde_json::from_str(&read("schemas/openapi.json")?)?),
        })
    }
}

fn read_sources(folder: &Path, sources: &mut String) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Returns the string literals that start with a text, which includes the opening quote.
fn quoted(source: &str, start: &str) -> Names {
    let literals = source.match_indices(start).filter_map(|(at, _)| source[at + 1..].split('"').next());
    literals.map(str::to_owned).collect()
}

/// Returns the first argument of `counter!`, `gauge!` and `histogram!`.
fn metrics(source: &str) -> Names {
    let calls =
        ["counter!(", "gauge!(", "histogram!("].into_iter().flat_map(|call| source.match_indices(call));
    let names = calls.filter_map(|(at, call)| {
        let argument = source[at + call.len()..].trim_start().strip_prefix('"')?;
        argument.split('"').next().filter(|name| name.starts_with("guildhall_"))
    });
    names.map(str::to_owned).collect()
}

/// Returns the values of the public string constants.
fn event_types(source: &str) -> Names {
    let constants =
        source.lines().filter(|line| line.starts_with("pub const ") && line.contains(": &str = "));
    constants.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// Returns the names of the rows of the failure table: `Variant: "name", 404, …;`.
fn failure_kinds(source: &str) -> Names {
    let rows = source.lines().filter_map(|line| line.trim().split_once(": \""));
    let rows = rows.filter(|(variant, rest)| {
        variant.bytes().all(|b| b.is_ascii_alphanumeric()) && rest.trim_end().ends_with("\";")
    });
    rows.filter_map(|(_, rest)| rest.split('"').next()).map(str::to_owned).collect()
}

/// Checks `[section]` in code spans and TOML blocks.
fn unknown_sections(document: &Document, keys: &[Key]) -> Vec<String> {
    let spans = document.spans.iter().map(|span| (span.line, span.text.as_str()));
    let blocks = document.blocks.iter().filter(|block| block.info == "toml");
    let lines = blocks.flat_map(|block| {
        block.lines.iter().enumerate().map(|(index, line)| (block.line + index, line.trim()))
    });
    spans
        .chain(lines)
        .filter_map(|(line, text)| Some((line, text.strip_prefix('[')?.strip_suffix(']')?)))
        .filter(|(_, name)| is_name(name) && !NOT_SECTIONS.contains(name))
        .filter(|(_, name)| keys.iter().all(|key| key.section != *name))
        .map(|(line, name)| format!("{}: there is no configuration section `{name}`", document.at(line)))
        .collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// Checks `section.key` in code spans, and the keys of TOML blocks with a section.
fn unknown_keys(document: &Document, keys: &[Key]) -> Vec<String> {
    let known: Names = keys.iter().map(Key::path).collect();
    let is_section = |name: &str| keys.iter().any(|key| key.section == name);
    // `htpp.listen` is meant as a key, `runs.rs` and `approval.requested` are not.
    let is_key_of_any_section = |name: &str| keys.iter().any(|key| key.name == name);
    let spans = document.spans.iter().filter_map(|span| {
        let path = span.text.split(" = ").next()?;
        let (section, name) = path.split_once('.')?;
        let is_file = ["rs", "md", "sql", "toml", "txt", "json"].contains(&name);
        let is_meant = is_section(section) || is_key_of_any_section(name);
        let is_key = is_meant && is_name(section) && is_name(name) && !is_file && !NOT_KEYS.contains(&path);
        is_key.then(|| (span.line, path.to_owned()))
    });
    let blocks = document.blocks.iter().filter(|block| block.info == "toml");
    spans
        .chain(blocks.flat_map(|block| toml_keys(block, is_section)))
        .filter(|(_, path)| !known.contains(path))
        .map(|(line, path)| format!("{}: there is no configuration key `{path}`", document.at(line)))
        .collect()
}

/// Returns the keys of a TOML block below a known section, with their lines.
fn toml_keys(block: &Block, is_section: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let (mut section, mut found) = (None, Vec::new());
    for (index, line) in block.lines.iter().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            section = is_section(name).then_some(name);
        } else if let (Some(section), Some((key, _))) = (section, line.split_once('='))
            && !line.starts_with('#')
        {
            found.push((block.line + index, format!("{section}.{}", key.trim())));
        }
    }
    found
}

/// Returns every line of text of a document that can contain names: code spans and code blocks.
fn code_lines(document: &Document) -> impl Iterator<Item = (usize, &str)> {
    let spans = document.spans.iter().map(|span| (span.line, span.text.as_str()));
    let blocks = document.blocks.iter().flat_map(|block| {
        block.lines.iter().enumerate().map(|(index, line)| (block.line + index, line.as_str()))
    });
    spans.chain(blocks)
}

/// Returns the words of a document's code that start with a prefix.
fn words<'a>(document: &'a Document, prefix: &'static str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code_lines(document).flat_map(move |(line, text)| {
        let words = text.split(move |c| !is_word(c)).filter(move |word| word.starts_with(prefix));
        words.map(move |word| (line, word))
    })
}

fn unknown_variables(document: &Document, known: &Names) -> Vec<String> {
    words(document, "GUILDHALL_")
        // `GUILDHALL_<SECTION>_<KEY>` is a pattern.
        .filter(|(_, word)| !word.ends_with('_') && !known.contains(*word) && !NOT_VARIABLES.contains(word))
        .map(|(line, word)| format!("{}: there is no environment variable `{word}`", document.at(line)))
        .collect()
}

fn unknown_metrics(document: &Document, known: &Names) -> Vec<String> {
    let is_metric =
        |word: &str| word.ends_with("_total") || word.ends_with("_seconds") || known.contains(word);
    let is_listed = document.path == "docs/reference/metrics.md";
    words(document, "guildhall_")
        .filter(|(_, word)| (is_listed || is_metric(word)) && !known.contains(*word))
        .map(|(line, word)| format!("{}: there is no metric `{word}`", document.at(line)))
        .collect()
}

/// Checks code spans that name a file or folder of the repository, in full or from the folder of a crate.
fn missing_paths(document: &Document, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    for span in &document.spans {
        let is_pattern = span.text.contains(['<', '*', '{', '…', ' ', '$']);
        let is_in_crate = span.text.split('/').nth(1).is_some_and(|part| ["src", "tests"].contains(&part));
        let full = match FOLDERS.iter().any(|folder| span.text.starts_with(folder)) {
            true => span.text.clone(),
            false if is_in_crate => format!("crates/{}", span.text),
            false => continue,
        };
        if !is_pattern && !exists(&full) {
            problems.push(format!("{}: there is no file `{full}`", document.at(span.line)));
        }
    }
    problems
}

/// Returns the names that a page does not contain as a code span.
fn undocumented(documents: &[&Document], page: &str, what: &str, names: &Names) -> Vec<String> {
    let spans = spans_of(documents, page);
    let missing = names.iter().filter(|name| !spans.contains(*name));
    missing.map(|name| format!("{page} does not describe the {what} `{name}`")).collect()
}

fn spans_of(documents: &[&Document], page: &str) -> Names {
    let page = documents.iter().find(|document| document.path == page);
    page.into_iter().flat_map(|page| page.spans.iter().map(|span| span.text.clone())).collect()
}

fn missing_error_pages(documents: &[&Document], kinds: &Names) -> Vec<String> {
    let index = documents.iter().find(|document| document.path == "docs/errors/README.md");
    let is_listed = |kind: &str| {
        index.is_some_and(|index| index.links.iter().any(|link| link.text == format!("{kind}.md")))
    };
    let missing = kinds.iter().filter(|kind| !is_listed(kind));
    missing.map(|kind| format!("docs/errors/README.md does not link the page of `{kind}`")).collect()
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
