//! Generated files that users read: printed by the program, committed, and checked.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::command::{build_workspace, output, program, root};
use crate::compatibility::breaking_changes;

#[derive(Args, Default)]
pub(crate) struct SchemasArgs {
    /// Fail if a committed file is out of date, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Copy the API document to the baseline: after a release, or to accept a breaking change
    #[arg(long, conflicts_with = "check")]
    pub(crate) update_baseline: bool,
}

const API_DOCUMENT: &str = "schemas/openapi.json";

/// The API that existing clients rely on; the API document must stay compatible with it.
const API_BASELINE: &str = "schemas/openapi.baseline.json";

/// Each committed file, and the arguments of `guildhall` that print it.
const GENERATED: [(&str, &[&str]); 4] = [
    (API_DOCUMENT, &["openapi"]),
    ("schemas/openrpc.json", &["openrpc"]),
    ("schemas/rpc.schema.json", &["openrpc", "--format", "json-schema"]),
    ("guildhall.example.toml", &["config", "example"]),
];

pub(crate) fn run(args: &SchemasArgs) -> Result<()> {
    build_workspace()?;
    let mut stale = Vec::new();
    for (file, command) in GENERATED {
        let path: PathBuf = root().join(file);
        let text = output(Command::new(program("guildhall")).args(command).current_dir(root()))?;
        if !args.check {
            fs::write(&path, text)?;
            println!("wrote {file}");
        } else if fs::read_to_string(&path).unwrap_or_default() != text {
            stale.push(file);
        }
    }
    if !stale.is_empty() {
        bail!("out of date: {}. Run `cargo xtask schemas` and commit the result", stale.join(", "));
    }
    if args.update_baseline {
        fs::copy(root().join(API_DOCUMENT), root().join(API_BASELINE))?;
        println!("wrote {API_BASELINE}");
        return Ok(());
    }
    check_compatibility()
}

fn check_compatibility() -> Result<()> {
    let changes = breaking_changes(&read_json(API_BASELINE)?, &read_json(API_DOCUMENT)?);
    if changes.is_empty() {
        println!("{API_DOCUMENT} is compatible with {API_BASELINE}");
        return Ok(());
    }
    let lines: Vec<String> = changes.iter().map(|change| format!("  {change}")).collect();
    bail!(
        "{API_DOCUMENT} breaks clients of {API_BASELINE}:\n{}\n\
         Undo these changes. If they are meant, run `cargo xtask schemas --update-baseline`, commit the baseline \
         and describe the break in a change note",
        lines.join("\n")
    )
}

fn read_json(file: &str) -> Result<Value> {
    let text = fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {file}"))?;
    serde_json::from_str(&text).with_context(|| format!("{file} is not JSON"))
}
