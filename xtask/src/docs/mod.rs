//! `cargo xtask docs`: checks that the documentation is true, and writes its generated pages.
//!
//! Console blocks run against a real `guildhall dev`; commands, links, paths, configuration keys, routes, failure kinds,
//! event types and metrics are compared with the code, and the list of tools in CONTRIBUTING.md with `.ci/setup`.

mod commands;
mod console;
mod generated;
mod links;
mod markdown;
mod names;
mod routes;
mod session;
mod setup;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build_workspace, root};
use markdown::Document;

#[derive(Args, Default)]
pub(crate) struct DocsArgs {
    /// Write docs/reference/cli.md and configuration.md before the checks
    #[arg(long)]
    pub(crate) write: bool,
    /// Do not run the console blocks
    #[arg(long)]
    pub(crate) no_run: bool,
}

/// Pages that other commands generate. Only their links are checked.
const GENERATED_ELSEWHERE: [&str; 2] = ["docs/ledger.md", "docs/conformance.md"];

/// Folders of packages with a README each. Their own subfolders, such as `node_modules`, are not read.
const FOLDERS_WITH_PAGES: [&str; 4] = ["crates/store", "examples", "interop", "sdks"];

pub(crate) fn run(args: &DocsArgs) -> Result<()> {
    build_workspace()?;
    let root = root();
    let mut problems = generated::check(&root, args.write)?;
    let documents = read_documents(&root)?;
    problems.extend(check_texts(&root, &documents)?);
    if !args.no_run {
        problems.extend(session::check(&written_by_people(&documents))?);
    }
    if problems.is_empty() {
        println!("docs: {} pages are correct", documents.len());
        return Ok(());
    }
    bail!("the documentation is wrong in {} places:\n  {}", problems.len(), problems.join("\n  "))
}

/// Runs the checks that execute no console block.
fn check_texts(root: &Path, documents: &[Document]) -> Result<Vec<String>> {
    let checked = written_by_people(documents);
    let mut problems = links::check(root, documents);
    problems.extend(names::check(root, &checked)?);
    problems.extend(commands::check(&checked)?);
    problems.extend(setup::check(root)?);
    Ok(problems)
}

/// Returns the commands of a document that run.
pub(crate) fn runnable_commands(path: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let steps = console::steps(&Document::parse(path.to_owned(), &text));
    Ok(steps.into_iter().map(|step| step.command).collect())
}

fn written_by_people(documents: &[Document]) -> Vec<&Document> {
    documents.iter().filter(|document| !GENERATED_ELSEWHERE.contains(&document.path.as_str())).collect()
}

/// Reads the Markdown files of the root, of docs and of changes, and the page of each folder in `FOLDERS_WITH_PAGES`.
fn read_documents(root: &Path) -> Result<Vec<Document>> {
    let mut files = markdown_files(root, false)?;
    files.extend(markdown_files(&root.join("docs"), true)?);
    files.extend(markdown_files(&root.join("changes"), true)?);
    for folder in FOLDERS_WITH_PAGES {
        for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot read {folder}"))? {
            let path = entry?.path();
            if path.is_dir() {
                files.extend(markdown_files(&path, false)?);
            }
        }
    }
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            Ok(Document::parse(path, &text))
        })
        .collect()
}

fn markdown_files(folder: &Path, recursive: bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && recursive {
            files.extend(markdown_files(&path, true)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
