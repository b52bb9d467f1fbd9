//! The committed `.sqlx` folder: metadata of every query, so that a build needs no database.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::command::{cargo, output, program, root, step};
use crate::engines::Engines;

#[derive(Args)]
pub(crate) struct SqlxArgs {
    /// Fail if the committed folder is out of date, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
}

pub(crate) fn run(args: &SqlxArgs) -> Result<()> {
    // Only this package: the store does not compile before a new query is described.
    let database = ["build", "--quiet", "--package", "guildhall-testkit", "--bin", "migrated-database"];
    step("build", &mut cargo(database))?;
    run_with(args, &mut cargo(["check", "--quiet", "--package", "guildhall-store"]))
}

/// Describes the queries with this command, which must compile the store. `migrated-database` must be built.
pub(crate) fn run_with(args: &SqlxArgs, compile: &mut Command) -> Result<()> {
    let engines = Engines::temporary()?;
    let generated = tempfile::tempdir()?;
    describe_queries(&engines, generated.path(), compile)?;
    let committed = root().join("crates/store/.sqlx");
    if args.check {
        return compare(&read(generated.path())?, &read(&committed)?);
    }
    let _missing = fs::remove_dir_all(&committed);
    fs::create_dir_all(&committed)?;
    for (name, text) in read(generated.path())? {
        fs::write(committed.join(name), text)?;
    }
    println!("wrote {}", committed.display());
    Ok(())
}

/// Compiles the store against a migrated database; its macros then write the metadata.
fn describe_queries(engines: &Engines, into: &Path, compile: &mut Command) -> Result<()> {
    let url = output(Command::new(program("migrated-database")).envs(engines.env()))?;
    // Cargo would skip an unchanged crate, and its macros would write nothing. Other builds stay as they are.
    let source = fs::File::options().append(true).open(root().join("crates/store/src/lib.rs"))?;
    let modified = source.metadata()?.modified()?;
    source.set_modified(now())?;
    compile.env("SQLX_OFFLINE", "false").env("SQLX_OFFLINE_DIR", into).env("DATABASE_URL", url.trim());
    let described = step("describe queries", compile);
    source.set_modified(modified)?;
    described
}

#[expect(clippy::disallowed_methods, reason = "modification time of a file")]
fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

fn read(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read_to_string(entry.path())?);
    }
    Ok(files)
}

fn compare(generated: &BTreeMap<String, String>, committed: &BTreeMap<String, String>) -> Result<()> {
    if generated == committed {
        return Ok(());
    }
    bail!("crates/store/.sqlx is out of date: run `cargo xtask sqlx` and commit the folder")
}
