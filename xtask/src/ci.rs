//! Everything that must pass before a change lands, in the order in which it fails cheapest.

use anyhow::Result;
use clap::Args;

use crate::command::{cargo, step};
use crate::engines::Engines;
use crate::{contract, ledger, schemas, sqlx};

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Passed on to cargo nextest run
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    step("format", &mut cargo(["fmt", "--all", "--check"]))?;
    step(
        "clippy",
        &mut cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    )?;
    step("doc", cargo(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    step("build", &mut cargo(["build", "--workspace", "--locked"]))?;
    sqlx::run(&sqlx::SqlxArgs { check: true })?;
    schemas::run(&schemas::SchemasArgs { check: true })?;
    test(&TestArgs { rest: ["--workspace", "--locked", "--profile", "ci"].map(str::to_owned).to_vec() })?;
    ledger::run(&ledger::LedgerArgs { check: true })?;
    contract::run(&contract::ContractArgs::default())
}

pub(crate) fn test(args: &TestArgs) -> Result<()> {
    // The command's tests start the runner's program too, which cargo builds for the tests of its own package alone.
    if args.rest.iter().any(|word| word == "guildhall-cli") {
        step("runner", &mut cargo(["build", "-p", "guildhall-cli", "-p", "guildhall-runner"]))?;
    }
    let engines = Engines::temporary()?;
    step("test", cargo(["nextest", "run"]).args(&args.rest).envs(engines.env()))
}
