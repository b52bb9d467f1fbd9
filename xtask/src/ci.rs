//! The checks that every change must pass, the cheapest first.

use std::io::{self, Seek};
use std::num::NonZero;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::command::{build_workspace, cargo, program, root, step};
use crate::engines::Engines;
use crate::{attack, contract, docs, doctests, junit, ledger, schemas, sdks, sqlx};

#[derive(Args)]
pub(crate) struct CiArgs {
    /// Run only these steps
    #[arg(value_parser = STEPS.map(|(name, _)| name))]
    steps: Vec<String>,
}

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Arguments for `cargo nextest run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

type Step = (&'static str, fn() -> Result<()>);

/// The steps that run beside each other, each as a process of its own: they mostly wait for agents and servers.
const SIDE_BY_SIDE: [&str; 2] = ["attack", "contract"];

const STEPS: [Step; 14] = [
    ("format", || step("format", &mut cargo(["fmt", "--all", "--check"]))),
    ("deny", check_dependency_policy),
    ("machete", check_unused_dependencies),
    ("build", build_workspace),
    ("clippy", || sqlx::run_with(&sqlx::SqlxArgs { check: true }, &mut clippy())),
    ("doc", || {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--locked"]);
        step("doc", doc.env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("doctest", doctests::run),
    ("schemas", || schemas::run(&schemas::SchemasArgs { check: true, update_baseline: false })),
    ("docs", || docs::run(&docs::DocsArgs::default())),
    ("sdks", || sdks::run(&sdks::SdksArgs::default())),
    ("test", test_workspace),
    ("ledger", || ledger::run(&ledger::LedgerArgs { check: true })),
    ("attack", attack::run_ci),
    ("contract", || contract::run(&contract::ContractArgs::default())),
];

/// Read by nextest.
const TEST_THREADS: &str = "NEXTEST_TEST_THREADS";

/// How many of the slowest tests are printed.
const SLOWEST_TESTS: usize = 10;

pub(crate) fn run(args: &CiArgs) -> Result<()> {
    let mut durations = Vec::new();
    let mut result = Ok(());
    let is_selected = |name: &str| args.steps.is_empty() || args.steps.iter().any(|step| step == name);
    let is_beside = |name: &str| SIDE_BY_SIDE.contains(&name) && SIDE_BY_SIDE.into_iter().all(is_selected);
    for (name, run) in STEPS {
        if !is_selected(name) || (is_beside(name) && name != SIDE_BY_SIDE[0]) {
            continue;
        }
        let start = Instant::now();
        let (name, run): Step =
            if is_beside(name) { ("attack, contract", run_side_by_side) } else { (name, run) };
        result = run().with_context(|| format!("CI step `{name}` failed"));
        durations.push((name, start.elapsed()));
        if result.is_err() {
            break;
        }
    }
    if durations.iter().any(|(name, _)| *name == "test") {
        print_slowest_tests();
    }
    print_durations(&durations);
    result
}

/// Prints what each of the steps printed after all of them have ended.
fn run_side_by_side() -> Result<()> {
    build_workspace()?;
    let start = |name| -> Result<_> {
        let printed = tempfile::tempfile()?;
        // The build may have replaced the program that runs now.
        let mut command = Command::new(program("xtask"));
        command.args(["ci", name]).stdout(printed.try_clone()?).stderr(printed.try_clone()?);
        Ok((name, printed, command.spawn().context("cannot start a step")?))
    };
    let mut failed = Vec::new();
    for (name, mut printed, mut process) in SIDE_BY_SIDE.map(start).into_iter().collect::<Result<Vec<_>>>()? {
        let status = process.wait()?;
        printed.rewind()?;
        io::copy(&mut printed, &mut io::stdout())?;
        if !status.success() {
            failed.push(name);
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn print_durations(durations: &[(&str, Duration)]) {
    println!("\n=== time of each step");
    for (name, duration) in durations {
        println!("{:>6} s  {name}", duration.as_secs());
    }
    println!("{:>6} s  total", durations.iter().map(|(_, duration)| duration.as_secs()).sum::<u64>());
}

/// A missing report is no failure: the tests did not start, and their step said why.
fn print_slowest_tests() {
    let Ok(cases) = junit::read(&root()) else { return };
    println!("\n=== slowest tests");
    for case in junit::slowest_tests(cases, SLOWEST_TESTS) {
        println!("{:>8.1} s  {} {}", case.seconds, case.binary, case.path);
    }
}

/// One compilation for both checks: the lints, and the committed descriptions of the queries.
fn clippy() -> Command {
    cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
}

/// Advisories need a download of their database; the GitHub workflow checks them.
fn check_dependency_policy() -> Result<()> {
    let args = ["deny", "--locked", "--log-level", "error", "check", "bans", "licenses", "sources"];
    step("deny", &mut cargo(args)).context("see deny.toml (`.ci/setup` installs cargo-deny)")
}

fn check_unused_dependencies() -> Result<()> {
    // With this variable, cargo-machete takes itself for a program that `cargo run` started.
    step("machete", cargo(["machete", "crates", "bench", "xtask"]).env_remove("CARGO_PKG_NAME")).context(
        "remove the unused dependencies from the Cargo.toml files (`.ci/setup` installs cargo-machete); \
         a false positive goes into `[package.metadata.cargo-machete] ignored`, with a reason",
    )
}

fn test_workspace() -> Result<()> {
    // A failed build must not leave the report of an earlier run.
    let _missing = fs::remove_file(root().join(junit::REPORT));
    let rest = ["--workspace", "--locked", "--profile", "ci"].map(str::to_owned).to_vec();
    test(&TestArgs { rest })
}

pub(crate) fn test(args: &TestArgs) -> Result<()> {
    // Tests start the runner as a separate program, which cargo does not know as a dependency of their package.
    build_workspace()?;
    let engines = Engines::temporary()?;
    let mut command = cargo(["nextest", "run"]);
    if env::var_os(TEST_THREADS).is_none() {
        command.env(TEST_THREADS, test_threads().to_string());
    }
    step("test", command.args(&args.rest).envs(engines.env()))
}

/// Three tests for two cores: tests wait for agents, leases and restarts in a third of their time.
fn test_threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores + cores.div_ceil(2)
}
