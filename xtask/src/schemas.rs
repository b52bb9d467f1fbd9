//! What leaves the house: written by the program itself, committed, and checked.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::command::{cargo, output, root};

#[derive(Args)]
pub(crate) struct SchemasArgs {
    /// Fails when a committed file is not what this run would write
    #[arg(long)]
    pub(crate) check: bool,
}

/// Each committed file and the command that prints it.
const WRITTEN: [(&str, &[&str]); 2] =
    [("schemas/openapi.json", &["openapi"]), ("guildhall.example.toml", &["config", "example"])];

pub(crate) fn run(args: &SchemasArgs) -> Result<()> {
    let mut stale = Vec::new();
    for (file, command) in WRITTEN {
        let path: PathBuf = root().join(file);
        let run = ["run", "--quiet", "--package", "guildhall-cli", "--bin", "guildhall", "--"];
        let fresh = output(&mut cargo(run.iter().chain(command)))?;
        if !args.check {
            fs::write(&path, fresh)?;
            println!("wrote {file}");
        } else if fs::read_to_string(&path).unwrap_or_default() != fresh {
            stale.push(file);
        }
    }
    if !stale.is_empty() {
        bail!("not up to date: {}. Run `cargo xtask schemas` and commit the result", stale.join(", "));
    }
    Ok(())
}
