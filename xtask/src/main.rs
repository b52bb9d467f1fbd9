//! Repository automation. `cargo xtask help` lists the commands; CI runs the same ones.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "output for a terminal")]

mod attack;
mod bench;
mod ci;
mod command;
mod compatibility;
mod contract;
mod dev_server;
mod dist;
mod docs;
mod doctests;
mod engines;
mod fake_model;
mod junit;
mod ledger;
mod long;
mod record;
mod schemas;
mod sdks;
mod sqlx;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Repository automation")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the checks that every change must pass
    Ci(ci::CiArgs),
    /// Run the tests on temporary engines
    Test(ci::TestArgs),
    /// Manage engines for tests that are started by hand
    Engines(engines::EnginesArgs),
    /// List the requirements that the last test run covered, and write docs/conformance.md
    Ledger(ledger::LedgerArgs),
    /// Write the API document and the example configuration, and check the API for breaking changes
    Schemas(schemas::SchemasArgs),
    /// Check, build and test the client libraries and examples
    Sdks(sdks::SdksArgs),
    /// Test a running server against the API document with generated requests
    Contract(contract::ContractArgs),
    /// Attack the sandbox of agents from inside of a run
    Attack(attack::AttackArgs),
    /// Update the query metadata in crates/store/.sqlx from a migrated database
    Sqlx(sqlx::SqlxArgs),
    /// Run a benchmark; the last line is its result
    Bench(bench::BenchArgs),
    /// Run a fault or size test at full size, and write its report to docs/measured
    Long(long::LongArgs),
    /// Build the tarball of a release, with its checksums and installer
    Dist(dist::DistArgs),
    /// Check the documentation against the code, and run its commands
    Docs(docs::DocsArgs),
    /// Record what a new user does, and write docs/recording
    Record(record::RecordArgs),
}

/// Returns the commands and flags of this program.
fn arguments() -> clap::Command {
    Arguments::command()
}

fn main() -> ExitCode {
    let Err(error) = run(Arguments::parse().task) else { return ExitCode::SUCCESS };
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Ci(args) => ci::run(&args),
        Task::Test(args) => ci::test(&args),
        Task::Engines(args) => engines::run(&args),
        Task::Ledger(args) => ledger::run(&args),
        Task::Schemas(args) => schemas::run(&args),
        Task::Sdks(args) => sdks::run(&args),
        Task::Contract(args) => contract::run(&args),
        Task::Attack(args) => attack::run(&args),
        Task::Sqlx(args) => sqlx::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Long(args) => long::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Docs(args) => docs::run(&args),
        Task::Record(args) => record::run(&args),
    }
}
