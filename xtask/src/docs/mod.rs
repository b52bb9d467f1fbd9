//! `cargo xtask docs`: checks that the documentation is true, and writes its generated pages.
//!
//! Console blocks run against a real `guildhall dev`; commands, links, paths, configuration keys, routes, failure kinds,
//! event types and metrics are compared with the code.

mod commands;
mod console;
mod generated;
mod links;
mod markdown;
mod names;
mod session;

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

pub(crate) fn run(args: &DocsArgs) -> Result<()> {
    build_workspace()?;
    let root = root();
    let mut problems = generated::check(&root, args.write)?;
    let documents = read_documents(&root)?;
    problems.extend(links::check(&root, &documents));
    let (checked, _) = partition(&documents);
    problems.extend(names::check(&root, &checked)?);
    problems.extend(commands::check(&checked)?);
    if !args.no_run {
        problems.extend(session::check(&checked)?);
    }
    if problems.is_empty() {
        println!("docs: {} pages are correct", documents.len());
        return Ok(());
    }
    bail!("the documentation is wrong in {} places:\n  {}", problems.len(), problems.join("\n  "))
}

/// Returns the commands of a document that run.
pub(crate) fn runnable_commands(path: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let steps = console::steps(&Document::parse(path.to_owned(), &text));
    Ok(steps.into_iter().map(|step| step.command).collect())
}

/// Splits the documents into those that people write and those that other commands generate.
fn partition(documents: &[Document]) -> (Vec<&Document>, Vec<&Document>) {
    documents.iter().partition(|document| !GENERATED_ELSEWHERE.contains(&document.path.as_str()))
}

/// Reads the Markdown files of the root, of docs and of changes.
fn read_documents(root: &Path) -> Result<Vec<Document>> {
    let mut files = markdown_files(root, false)?;
    files.extend(markdown_files(&root.join("docs"), true)?);
    files.extend(markdown_files(&root.join("changes"), true)?);
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
