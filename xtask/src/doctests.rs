//! Runs the doctests of the crates that have some: rustdoc takes seconds for each crate without any.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::command::{cargo, root, step};

pub(crate) fn run() -> Result<()> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let folder = entry?.path();
        // A crate without a library has no doctests.
        if folder.join("src/lib.rs").exists() && contains_doctest(&folder.join("src"))? {
            let name =
                folder.file_name().context("a crate folder has a name")?.to_string_lossy().into_owned();
            packages.push(format!("guildhall-{name}"));
        }
    }
    if packages.is_empty() {
        println!("\n=== doctest: no crate has doctests");
        return Ok(());
    }
    packages.sort();
    let mut test = cargo(["test", "--doc", "--locked"]);
    test.args(packages.iter().flat_map(|package| ["--package", package]));
    step("doctest", &mut test)
}

fn contains_doctest(folder: &Path) -> Result<bool> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let found = if path.is_dir() {
            contains_doctest(&path)?
        } else {
            path.extension().is_some_and(|extension| extension == "rs")
                && has_doctest(&fs::read_to_string(&path)?)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether rustdoc may find a doctest: a code block of Rust, or documentation from another file.
fn has_doctest(source: &str) -> bool {
    let mut is_inside_block = false;
    let mut previous = "text";
    for line in source.lines() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            if line.starts_with("#[doc = include_str!") || line.starts_with("#![doc = include_str!") {
                return true;
            }
            (is_inside_block, previous) = (false, "text");
            continue;
        };
        if let Some(language) = text.trim_start().strip_prefix("```") {
            if !is_inside_block && is_tested(language) {
                return true;
            }
            is_inside_block = !is_inside_block;
        } else if !is_inside_block && previous.trim().is_empty() && text.starts_with("     ") {
            // Four more columns than usual are a code block too.
            return true;
        }
        previous = text;
    }
    false
}

/// Rust is the default language of a block; the other words here are attributes of Rust blocks.
fn is_tested(language: &str) -> bool {
    let rust = ["", "rust", "should_panic", "no_run", "compile_fail", "edition2021", "edition2024"];
    language.split([',', ' ']).all(|word| rust.contains(&word.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_code_blocks_are_doctests() {
        for source in [
            "/// ```\n/// f();\n/// ```\nfn f() {}",
            "//! ```rust,no_run\n//! f();\n//! ```",
            "    /// Text.\n    ///\n    ///     f();\n    fn f() {}",
            "/// ```text\n/// x\n/// ```\n/// ```should_panic\n/// f();\n/// ```",
            "#![doc = include_str!(\"../README.md\")]",
        ] {
            assert!(has_doctest(source), "{source}");
        }
    }

    #[test]
    fn other_text_is_not_a_doctest() {
        for source in [
            "fn f() {}",
            "// ```\n// f();\n// ```",
            "/// ```text\n/// f();\n///\n///     indented\n/// ```\nfn f() {}",
            "/// ```ignore\n/// f();\n/// ```",
            "/// - a list\n///     with an indented line",
            "const X: &str = \"\n```\n\";",
        ] {
            assert!(!has_doctest(source), "{source}");
        }
    }
}
