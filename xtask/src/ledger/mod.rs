//! `cargo xtask ledger`: finds the requirements that passing tests cover, and writes docs/conformance.md.

mod claims;
mod coverage;
mod lexer;
mod outcomes;
mod report;
mod requirements;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::junit;
use claims::Claims;
use coverage::Coverage;
use outcomes::Outcomes;
use requirements::Ledger;

const LEDGER: &str = "docs/ledger.md";
const CONFORMANCE: &str = "docs/conformance.md";

#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    /// Fail if docs/conformance.md is out of date, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
}

/// Prints covered and uncovered requirements; fails if a claim has no passing test.
pub(crate) fn run(args: &LedgerArgs) -> anyhow::Result<()> {
    let root = &crate::command::root();
    let mode = if args.check { Mode::Check } else { Mode::Write };
    let report = build_report(root, mode)?;
    println!("{}", report.summary);
    if !report.errors.is_empty() {
        bail!("the ledger check failed:\n{}", report.errors.join("\n"));
    }
    Ok(())
}

/// Whether docs/conformance.md is written or compared.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Write,
    Check,
}

/// The result of the command: text for the terminal, and the reasons to fail.
#[derive(Debug)]
struct LedgerReport {
    summary: String,
    errors: Vec<String>,
}

fn build_report(root: &Path, mode: Mode) -> anyhow::Result<LedgerReport> {
    let text = fs::read_to_string(root.join(LEDGER)).with_context(|| format!("cannot read {LEDGER}"))?;
    let ledger = Ledger::parse(&text)?;
    let Claims { claims, errors } = claims::scan(root)?;
    if !errors.is_empty() {
        bail!("invalid `covers` comments:\n{}", errors.join("\n"));
    }
    let coverage = Coverage::compute(&ledger, claims, &Outcomes::read(root)?);
    let mut errors = claim_errors(&coverage);
    errors.extend(contradictions(&ledger, &coverage));
    // With an unproven claim the page stays as it is: a run of half the tests must not remove requirements.
    if errors.is_empty() {
        errors.extend(update_page(root, &report::page(&ledger, &coverage), mode)?);
    }
    Ok(LedgerReport { summary: report::summary(&ledger, &coverage), errors })
}

fn claim_errors(coverage: &Coverage) -> Vec<String> {
    let mut errors = Vec::new();
    if !coverage.unknown.is_empty() {
        errors.push(format!("tests claim unknown requirements: correct the claims, or add them to {LEDGER}"));
    }
    if !coverage.unproven.is_empty() {
        let run = junit::HOW_TO_RUN;
        errors.push(format!(
            "tests that claim requirements did not pass: run the whole suite (`{run}`) and fix the failures"
        ));
    }
    errors
}

/// Returns an error text for each requirement that a test covers although the ledger says that it is not claimed.
fn contradictions(ledger: &Ledger, coverage: &Coverage) -> Vec<String> {
    let unclaimed = ledger.sections.iter().flat_map(|section| section.unclaimed.keys());
    let covered = unclaimed.filter(|id| coverage.covered.contains_key(id));
    covered
        .map(|id| format!("{id} is covered: remove its `Not claimed` from {LEDGER}, or the claim"))
        .collect()
}

/// Writes the page, or returns an error text if the committed one is out of date.
fn update_page(root: &Path, page: &str, mode: Mode) -> anyhow::Result<Option<String>> {
    let path = root.join(CONFORMANCE);
    match mode {
        Mode::Write => {
            fs::write(&path, page).with_context(|| format!("cannot write {CONFORMANCE}"))?;
            Ok(None)
        }
        Mode::Check if fs::read_to_string(&path).is_ok_and(|committed| committed == page) => Ok(None),
        Mode::Check => {
            Ok(Some(format!("{CONFORMANCE} is out of date: run `cargo xtask ledger` and commit it")))
        }
    }
}

#[cfg(test)]
mod tests;
