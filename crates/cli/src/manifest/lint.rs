//! `guildhall manifest lint`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use guildhall_domain::agents::manifest::finding::{Finding, Findings, Severity};
use guildhall_protocol::manifest::check;
use serde_json::{Value, json};

use super::file::{count, read_text};
use crate::error::ChecksFailed;
use crate::output::{format_table, print_result};

const EXAMPLES: &str = "Examples:
  guildhall manifest lint manifest.json";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LintArgs {
    /// JSON file with the manifest
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &LintArgs) -> Result<()> {
    let checked = check(&read_text(&args.file)?);
    let (valid, findings) = match &checked {
        Ok(checked) => (Some(&checked.document), &checked.warnings),
        Err(findings) => (None, findings),
    };
    let value = json!({
        "valid": valid.is_some(),
        "bytes": valid.map(|document| document.canonical().len()),
        "hash": valid.map(|document| document.hash().to_string()),
        "findings": findings.as_slice().iter().map(finding_json).collect::<Vec<_>>(),
        "omitted": findings.omitted(),
    });
    print_result(args.json, &value, || {
        let mut lines = Vec::new();
        if !findings.as_slice().is_empty() {
            lines.push(findings_table(findings));
            lines.push(String::new());
        }
        let counts = format!("{}, {}", count(findings, Severity::Error), count(findings, Severity::Warning));
        lines.push(match valid {
            Some(document) => {
                format!("valid: {counts}, {} bytes, hash {}", document.canonical().len(), document.hash())
            }
            None => format!("not valid: {counts}"),
        });
        lines.join("\n")
    })?;
    if valid.is_some() { Ok(()) } else { Err(ChecksFailed.into()) }
}

fn findings_table(findings: &Findings) -> String {
    let row = |finding: &Finding| {
        let place = if finding.pointer.as_str().is_empty() { "(document)" } else { finding.pointer.as_str() };
        [
            finding.rule.severity().to_string(),
            place.to_owned(),
            finding.rule.to_string(),
            finding.message.clone(),
        ]
    };
    let rows: Vec<_> = findings.as_slice().iter().map(row).collect();
    let table = format_table(["SEVERITY", "PLACE", "RULE", "MESSAGE"], &rows);
    match findings.omitted() {
        0 => table,
        omitted => format!("{table}\nand {omitted} more"),
    }
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "severity": finding.rule.severity(),
        "rule": finding.rule,
        "pointer": finding.pointer.as_str(),
        "message": finding.message,
    })
}
