//! Repository automation. `cargo xtask help` lists what there is; CI calls the same commands.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "xtask talks to a person at a terminal")]

mod bench;
mod ci;
mod command;
mod contract;
mod engines;
mod ledger;
mod long;
mod record;
mod schemas;
mod sqlx;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Repository automation")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs everything that must pass before a change lands
    Ci,
    /// Runs the tests on engines of its own; further arguments go to cargo nextest
    Test(ci::TestArgs),
    /// Keeps engines running for tests that are started by hand
    Engines(engines::EnginesArgs),
    /// Lists which requirements the last test run covered; writes docs/conformance.md
    Ledger(ledger::LedgerArgs),
    /// Writes what leaves the house: the API document, the example configuration
    Schemas(schemas::SchemasArgs),
    /// Sends generated requests to a running server and holds its answers against the API document
    Contract(contract::ContractArgs),
    /// Renews the committed query data from a migrated database
    Sqlx(sqlx::SqlxArgs),
    /// Runs a benchmark; its figure is the last line
    Bench(bench::BenchArgs),
    /// Runs the full-size form of a fault or size test; its report goes to docs/measured
    Long(long::LongArgs),
    /// Records the first run of a developer from the real commands; writes docs/recording
    Record,
}

fn main() -> ExitCode {
    let Err(error) = run(Arguments::parse().task) else { return ExitCode::SUCCESS };
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Ci => ci::run(),
        Task::Test(args) => ci::test(&args),
        Task::Engines(args) => engines::run(&args),
        Task::Ledger(args) => ledger::run(&args),
        Task::Schemas(args) => schemas::run(&args),
        Task::Contract(args) => contract::run(&args),
        Task::Sqlx(args) => sqlx::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Long(args) => long::run(&args),
        Task::Record => record::run(),
    }
}
