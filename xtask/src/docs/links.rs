//! Relative links and anchors must resolve, and every page must be in the table of contents.

use std::path::{Component, Path, PathBuf};

use super::markdown::Document;

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(root: &Path, documents: &[Document]) -> Vec<String> {
    let exists = |path: &str| root.join(path).exists();
    let mut problems = broken_links(documents, exists);
    problems.extend(pages_without_entry(documents));
    problems
}

fn broken_links(documents: &[Document], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    for document in documents {
        for link in &document.links {
            if let Err(problem) = resolve(document, &link.text, documents, &exists) {
                problems.push(format!("{}: the link `{}` {problem}", document.at(link.line), link.text));
            }
        }
    }
    problems
}

fn resolve(
    document: &Document,
    link: &str,
    documents: &[Document],
    exists: impl Fn(&str) -> bool,
) -> Result<(), &'static str> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { document.path.clone() } else { join(&document.path, path) };
    if !exists(&target) {
        return Err("leads to no file");
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let page = documents.iter().find(|page| page.path == target);
    match page.is_some_and(|page| page.anchors.iter().any(|known| known == anchor)) {
        true => Ok(()),
        false => Err("names no heading of its target"),
    }
}

/// Resolves a relative path against the folder of a document.
fn join(document: &str, path: &str) -> String {
    let folder = Path::new(document).parent().unwrap_or(Path::new(""));
    let mut joined = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::Normal(name) => joined.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    joined.display().to_string()
}

fn pages_without_entry(documents: &[Document]) -> Vec<String> {
    let Some(summary) = documents.iter().find(|document| document.path == SUMMARY) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let listed: Vec<String> = summary.links.iter().map(|link| join(SUMMARY, &link.text)).collect();
    let pages = documents.iter().map(|document| &document.path);
    let pages = pages.filter(|path| path.starts_with("docs/") && *path != SUMMARY);
    pages
        .filter(|path| !listed.contains(path))
        .map(|path| format!("{SUMMARY} does not list {path}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents() -> Vec<Document> {
        let page = |path: &str, text: &str| Document::parse(path.to_owned(), text);
        vec![
            page("docs/SUMMARY.md", "[A](a.md)"),
            page("docs/a.md", "# Top\n[b](guides/b.md#part)"),
            page("docs/guides/b.md", "# B\n## Part\n[up](../a.md) [self](#part) [web](https://example.org)"),
        ]
    }

    #[test]
    fn links_to_files_and_headings_resolve() {
        let documents = documents();
        let exists = |path: &str| documents.iter().any(|document| document.path == path);
        assert_eq!(broken_links(&documents, exists), [""; 0]);
    }

    #[test]
    fn wrong_file_and_wrong_anchor_are_reported() {
        let mut documents = documents();
        let text = "[x](../missing.md)\n[y](../a.md#no-such)";
        documents.push(Document::parse("docs/guides/c.md".to_owned(), text));
        let exists = |path: &str| path != "docs/missing.md";
        assert_eq!(
            broken_links(&documents, exists),
            [
                "docs/guides/c.md:1: the link `../missing.md` leads to no file",
                "docs/guides/c.md:2: the link `../a.md#no-such` names no heading of its target",
            ]
        );
    }

    #[test]
    fn page_that_is_not_in_the_summary_is_reported() {
        let expected = ["docs/SUMMARY.md does not list docs/guides/b.md"];
        assert_eq!(pages_without_entry(&documents()), expected);
    }
}
