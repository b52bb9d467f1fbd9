//! A check, and the function that runs a list of checks.

use std::io::Write;
use std::pin::Pin;
use std::time::{Duration, Instant};

use guildhall_domain::ops::checks::{CheckAction, CheckOutcome, CheckOutcomes, CheckSpec};
use serde_json::{Value, json};

use super::problem::Problem;
use crate::output::{Colour, sanitize_line};

/// Timeout of a check that starts nothing.
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of all checks together; the remaining checks fail after it.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The detail of a passed check, or the problem.
pub(super) type CheckResult = Result<String, Problem>;

pub(super) type CheckFuture<'a> = Pin<Box<dyn Future<Output = CheckResult> + 'a>>;

/// A check of a target. It can store results in the target for later checks.
pub(super) struct Check<T> {
    pub(super) spec: CheckSpec,
    pub(super) timeout: Duration,
    pub(super) run: for<'a> fn(&'a mut T) -> CheckFuture<'a>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportLine {
    id: &'static str,
    outcome: CheckOutcome,
    detail: String,
    fix: Option<String>,
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    mode: &'static str,
    lines: Vec<ReportLine>,
    root_cause: Option<&'static str>,
}

/// Prints results while the checks run.
pub(super) trait Progress {
    fn print_line(&mut self, text: &str) -> std::io::Result<()>;
    fn has_colour(&self) -> bool;
}

/// Runs the checks in order and prints each result.
pub(super) async fn run_checks<T>(
    mode: &'static str,
    target: &mut T,
    checks: &[Check<T>],
    progress: &mut dyn Progress,
) -> std::io::Result<Report> {
    let started = Instant::now();
    let (mut outcomes, mut lines) = (CheckOutcomes::default(), Vec::new());
    let width = checks.iter().map(|check| check.spec.id.len()).max().unwrap_or(0);
    for check in checks {
        let id = check.spec.id;
        let line = match outcomes.next(&check.spec) {
            CheckAction::Skip { because } => {
                let detail = format!("skipped: requires {because}");
                ReportLine { id, outcome: CheckOutcome::Skipped { because }, detail, fix: None }
            }
            CheckAction::Run => {
                run_check(target, check, TOTAL_TIMEOUT.saturating_sub(started.elapsed())).await
            }
        };
        outcomes.push(id, line.outcome);
        progress.print_line(&line.text(width, progress.has_colour()))?;
        lines.push(line);
    }
    let report = Report { mode, lines, root_cause: outcomes.root_cause() };
    progress.print_line(&report.summary())?;
    Ok(report)
}

async fn run_check<T>(target: &mut T, check: &Check<T>, remaining: Duration) -> ReportLine {
    let timeout = check.timeout.min(remaining);
    let result = tokio::time::timeout(timeout, (check.run)(target)).await.unwrap_or_else(|_| {
        let detail = format!("timed out after {} s", timeout.as_secs_f32().round());
        Err(Problem::new(detail, "guildhall doctor"))
    });
    let id = check.spec.id;
    match result {
        Ok(detail) => ReportLine { id, outcome: CheckOutcome::Passed, detail, fix: None },
        Err(Problem { detail, fix, is_warning }) => {
            let outcome = if is_warning { CheckOutcome::Warned } else { CheckOutcome::Failed };
            ReportLine { id, outcome, detail, fix: Some(fix) }
        }
    }
}

impl ReportLine {
    fn text(&self, width: usize, colour: bool) -> String {
        let (mark, colour_code) = match self.outcome {
            CheckOutcome::Passed => ("✓", "32"),
            CheckOutcome::Warned => ("!", "33"),
            CheckOutcome::Failed => ("✗", "31"),
            CheckOutcome::Skipped { .. } => ("–", "2"),
        };
        let mark = if colour { format!("\u{1b}[{colour_code}m{mark}\u{1b}[0m") } else { mark.to_owned() };
        let text = format!("  {mark} {:<width$}  {}", self.id, sanitize_line(&self.detail));
        match &self.fix {
            Some(fix) => format!("{text}\n    {:<width$}  fix: {}", "", sanitize_line(fix)),
            None => text,
        }
    }

    fn json(&self) -> Value {
        let (status, because) = match self.outcome {
            CheckOutcome::Passed => ("ok", None),
            CheckOutcome::Warned => ("warning", None),
            CheckOutcome::Failed => ("failed", None),
            CheckOutcome::Skipped { because } => ("skipped", Some(because)),
        };
        json!({ "id": self.id, "status": status, "detail": self.detail, "fix": self.fix, "because": because })
    }
}

impl Report {
    pub(super) fn all_passed(&self) -> bool {
        self.root_cause.is_none()
    }

    /// Returns the report as JSON. docs/doctor.md documents the format.
    pub(super) fn json(&self) -> Value {
        let checks: Vec<Value> = self.lines.iter().map(ReportLine::json).collect();
        json!({ "v": 1, "mode": self.mode, "ok": self.all_passed(), "rootCause": self.root_cause, "checks": checks })
    }

    fn summary(&self) -> String {
        let count = |matches: fn(&CheckOutcome) -> bool| {
            self.lines.iter().filter(|line| matches(&line.outcome)).count()
        };
        let warned = count(|outcome| *outcome == CheckOutcome::Warned);
        let Some(root_cause) = self.root_cause else {
            return if warned == 0 {
                "all checks passed".to_owned()
            } else {
                format!("no check failed; warnings: {warned}")
            };
        };
        let failed = count(|outcome| *outcome == CheckOutcome::Failed);
        let skipped = count(|outcome| matches!(outcome, CheckOutcome::Skipped { .. }));
        format!("{failed} failed, {skipped} skipped; fix {root_cause} first")
    }
}

/// Prints to standard output.
pub(super) struct StdoutProgress;

/// Prints to standard error, below the error of a command.
pub(super) struct StderrProgress;

/// Prints nothing: the report is printed as JSON at the end.
pub(super) struct NoProgress;

impl Progress for StdoutProgress {
    fn print_line(&mut self, text: &str) -> std::io::Result<()> {
        crate::output::print_line(text)
    }

    fn has_colour(&self) -> bool {
        Colour::of(&std::io::stdout()) == Colour::Yes
    }
}

impl Progress for StderrProgress {
    fn print_line(&mut self, text: &str) -> std::io::Result<()> {
        writeln!(std::io::stderr(), "{text}")
    }

    fn has_colour(&self) -> bool {
        Colour::of(&std::io::stderr()) == Colour::Yes
    }
}

impl Progress for NoProgress {
    fn print_line(&mut self, _: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn has_colour(&self) -> bool {
        false
    }
}
