//! One check, and the examination that goes through all of them.

use std::io::{IsTerminal, Write};
use std::pin::Pin;
use std::time::{Duration, Instant};

use guildhall_domain::ops::checkup::{Next, Outcome, Outcomes, Step};
use serde_json::{Value, json};

use crate::output::clean;

/// A check that only asks.
pub(super) const QUICK: Duration = Duration::from_secs(5);

/// All checks together: after it the rest has failed. Whoever waits must get an answer.
const ALL_WITHIN: Duration = Duration::from_secs(60);

/// What a check found wrong, and the one command to repair it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    what: String,
    fix: String,
}

impl Trouble {
    pub(super) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// What a check says when all is well, or the trouble.
pub(super) type Finding = Result<String, Trouble>;

pub(super) type Looking<'a> = Pin<Box<dyn Future<Output = Finding> + 'a>>;

/// One check of a patient. It may leave what it found for later ones.
pub(super) struct Check<P> {
    pub(super) step: Step,
    pub(super) within: Duration,
    pub(super) look: for<'a> fn(&'a mut P) -> Looking<'a>,
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    id: &'static str,
    outcome: Outcome,
    detail: String,
    fix: Option<String>,
}

/// What an examination found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    mode: &'static str,
    lines: Vec<Line>,
    root_cause: Option<&'static str>,
}

/// Where the progress is shown.
pub(super) trait Progress {
    fn line(&mut self, text: &str) -> std::io::Result<()>;
    fn has_colour(&self) -> bool;
}

/// Makes the checks in their order, and shows each as it is done.
pub(super) async fn examine<P>(
    mode: &'static str,
    patient: &mut P,
    checks: &[Check<P>],
    progress: &mut dyn Progress,
) -> std::io::Result<Report> {
    let began = Instant::now();
    let (mut outcomes, mut lines) = (Outcomes::default(), Vec::new());
    let width = checks.iter().map(|check| check.step.id.len()).max().unwrap_or(0);
    for check in checks {
        let id = check.step.id;
        let line = match outcomes.next(&check.step) {
            Next::Skip { because } => {
                let detail = format!("skipped: it needs {because}");
                Line { id, outcome: Outcome::Skipped { because }, detail, fix: None }
            }
            Next::Look => look(patient, check, ALL_WITHIN.saturating_sub(began.elapsed())).await,
        };
        outcomes.push(id, line.outcome);
        progress.line(&line.text(width, progress.has_colour()))?;
        lines.push(line);
    }
    let report = Report { mode, lines, root_cause: outcomes.root_cause() };
    progress.line(&report.sentence())?;
    Ok(report)
}

async fn look<P>(patient: &mut P, check: &Check<P>, left: Duration) -> Line {
    let within = check.within.min(left);
    let found = tokio::time::timeout(within, (check.look)(patient)).await.unwrap_or_else(|_| {
        let what = format!("no answer within {} s", within.as_secs_f32().round());
        Err(Trouble::new(what, "guildhall doctor"))
    });
    let id = check.step.id;
    match found {
        Ok(detail) => Line { id, outcome: Outcome::Passed, detail, fix: None },
        Err(Trouble { what, fix }) => Line { id, outcome: Outcome::Failed, detail: what, fix: Some(fix) },
    }
}

impl Line {
    fn text(&self, width: usize, colour: bool) -> String {
        let (mark, paint) = match self.outcome {
            Outcome::Passed => ("✓", "32"),
            Outcome::Failed => ("✗", "31"),
            Outcome::Skipped { .. } => ("–", "2"),
        };
        let mark = if colour { format!("\u{1b}[{paint}m{mark}\u{1b}[0m") } else { mark.to_owned() };
        let text = format!("  {mark} {:<width$}  {}", self.id, clean(&self.detail));
        match &self.fix {
            Some(fix) => format!("{text}\n    {:<width$}  fix: {}", "", clean(fix)),
            None => text,
        }
    }

    fn json(&self) -> Value {
        let (status, because) = match self.outcome {
            Outcome::Passed => ("ok", None),
            Outcome::Failed => ("failed", None),
            Outcome::Skipped { because } => ("skipped", Some(because)),
        };
        json!({ "id": self.id, "status": status, "detail": self.detail, "fix": self.fix, "because": because })
    }
}

impl Report {
    pub(super) fn is_well(&self) -> bool {
        self.root_cause.is_none()
    }

    /// Writes the report for programs. The form is documented in docs/doctor.md.
    pub(super) fn json(&self) -> Value {
        let checks: Vec<Value> = self.lines.iter().map(Line::json).collect();
        json!({ "v": 1, "mode": self.mode, "ok": self.is_well(), "rootCause": self.root_cause, "checks": checks })
    }

    fn sentence(&self) -> String {
        let count =
            |wanted: fn(&Outcome) -> bool| self.lines.iter().filter(|line| wanted(&line.outcome)).count();
        let Some(root_cause) = self.root_cause else { return "all is well".to_owned() };
        let failed = count(|outcome| *outcome == Outcome::Failed);
        let skipped = count(|outcome| matches!(outcome, Outcome::Skipped { .. }));
        format!("begin with {root_cause}: {failed} failed, {skipped} skipped")
    }
}

/// Shows progress to a person on standard output.
pub(super) struct ToStdout;

/// Shows progress below an error.
pub(super) struct ToStderr;

/// Shows nothing: a program reads the report.
pub(super) struct Silent;

impl Progress for ToStdout {
    fn line(&mut self, text: &str) -> std::io::Result<()> {
        crate::output::line(text)
    }

    fn has_colour(&self) -> bool {
        std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

impl Progress for ToStderr {
    fn line(&mut self, text: &str) -> std::io::Result<()> {
        writeln!(std::io::stderr(), "{text}")
    }

    fn has_colour(&self) -> bool {
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

impl Progress for Silent {
    fn line(&mut self, _: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn has_colour(&self) -> bool {
        false
    }
}
