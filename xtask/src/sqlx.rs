//! The committed `.sqlx` folder: what PostgreSQL said of every query, so that a build needs no database.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use crate::command::{cargo, output, root, step};
use crate::engines::Engines;

#[derive(Args)]
pub(crate) struct SqlxArgs {
    /// Fails when the committed folder is not what this run would write
    #[arg(long)]
    pub(crate) check: bool,
}

pub(crate) fn run(args: &SqlxArgs) -> Result<()> {
    let engines = Engines::temporary()?;
    let fresh = tempfile::tempdir()?;
    describe_queries(&engines, fresh.path())?;
    let committed = root().join("crates/store/.sqlx");
    if args.check {
        return compare(&read(fresh.path())?, &read(&committed)?);
    }
    let _missing = fs::remove_dir_all(&committed);
    fs::create_dir_all(&committed)?;
    for (name, text) in read(fresh.path())? {
        fs::write(committed.join(name), text)?;
    }
    println!("wrote {}", committed.display());
    Ok(())
}

/// Compiles the store with a database at hand; its macros then write what they learn.
fn describe_queries(engines: &Engines, into: &Path) -> Result<()> {
    let mut migrated =
        cargo(["run", "--quiet", "--package", "guildhall-testkit", "--bin", "migrated-database"]);
    let url = output(migrated.envs(engines.env()))?;
    // A changed file compiles the crate anew; the queries of an unchanged crate would not be described.
    fs::File::options().append(true).open(root().join("crates/store/src/lib.rs"))?.set_modified(now())?;
    let mut check = cargo(["check", "--quiet", "--package", "guildhall-store"]);
    check.env("SQLX_OFFLINE", "false").env("SQLX_OFFLINE_DIR", into).env("DATABASE_URL", url.trim());
    step("describe queries", &mut check)?;
    // Cargo remembers the last build by time: the next one must not take this folder for its own.
    Ok(fs::File::options().append(true).open(root().join("crates/store/src/lib.rs"))?.set_modified(now())?)
}

#[expect(clippy::disallowed_methods, reason = "a file's time, not a fact of ours")]
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

fn compare(fresh: &BTreeMap<String, String>, committed: &BTreeMap<String, String>) -> Result<()> {
    if fresh == committed {
        return Ok(());
    }
    bail!(
        "crates/store/.sqlx does not fit the queries and migrations: run `cargo xtask sqlx` and commit the folder"
    )
}
