//! `cargo xtask ledger`: says which requirements a passing test claims, and keeps docs/conformance.md true.

mod claims;
mod outcomes;
mod points;
mod report;
mod rust_source;
mod weigh;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use claims::Claims;
use outcomes::Outcomes;
use points::Ledger;
use weigh::Weighed;

const LEDGER: &str = "docs/ledger.md";
const CONFORMANCE: &str = "docs/conformance.md";

#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    /// Fails when docs/conformance.md is not what this run would write
    #[arg(long)]
    pub(crate) check: bool,
}

/// Prints what is covered and what is not; fails on a claim that does not hold.
#[expect(clippy::print_stdout, reason = "the summary is for a person at a terminal")]
pub(crate) fn run(args: &LedgerArgs) -> anyhow::Result<()> {
    let root = &crate::command::root();
    let mode = if args.check { Mode::Check } else { Mode::Write };
    let examined = examine(root, mode)?;
    println!("{}", examined.summary);
    if !examined.faults.is_empty() {
        bail!("the ledger does not hold:\n{}", examined.faults.join("\n"));
    }
    Ok(())
}

/// Says what happens to docs/conformance.md.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Write,
    Check,
}

/// What one run found: text for the terminal, and the reasons to fail.
#[derive(Debug)]
struct Examined {
    summary: String,
    faults: Vec<String>,
}

fn examine(root: &Path, mode: Mode) -> anyhow::Result<Examined> {
    let text = fs::read_to_string(root.join(LEDGER)).with_context(|| format!("cannot read {LEDGER}"))?;
    let ledger = Ledger::parse(&text)?;
    let Claims { claims, faults } = claims::scan(root)?;
    if !faults.is_empty() {
        bail!("some claims cannot be read:\n{}", faults.join("\n"));
    }
    let weighed = weigh::weigh(&ledger, claims, &Outcomes::read(root)?);
    let mut faults = faults_of(&weighed);
    // A claim that does not hold leaves the page alone: a run of half the tests must not take points away.
    if faults.is_empty() {
        faults.extend(settle_page(root, &report::page(&ledger, &weighed), mode)?);
    }
    Ok(Examined { summary: report::summary(&ledger, &weighed), faults })
}

fn faults_of(weighed: &Weighed) -> Vec<String> {
    let mut faults = Vec::new();
    if !weighed.unknown.is_empty() {
        faults
            .push(format!("unknown numbers are claimed: correct the claims, or add the numbers to {LEDGER}"));
    }
    if !weighed.not_passed.is_empty() {
        let run = outcomes::HOW_TO_RUN;
        faults.push(format!(
            "tests with claims did not pass: run the whole suite (`{run}`) and repair what fails"
        ));
    }
    faults
}

/// Writes the page, or says that the committed one is stale.
fn settle_page(root: &Path, page: &str, mode: Mode) -> anyhow::Result<Option<String>> {
    let path = root.join(CONFORMANCE);
    match mode {
        Mode::Write => {
            fs::write(&path, page).with_context(|| format!("cannot write {CONFORMANCE}"))?;
            Ok(None)
        }
        Mode::Check if fs::read_to_string(&path).is_ok_and(|committed| committed == page) => Ok(None),
        Mode::Check => Ok(Some(format!("{CONFORMANCE} is stale: run `cargo xtask ledger` and commit it"))),
    }
}

#[cfg(test)]
mod tests;
