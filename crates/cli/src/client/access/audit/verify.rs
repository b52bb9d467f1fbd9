//! `guildhall audit verify`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use guildhall_identity::audit_key::AuditPublicKey;
use serde_json::{Value, json};

use super::chain::{ChainVerifier, VerificationReport};
use super::trust::{AnchorIndex, TrustReport, TrustSources, TrustVerifier};
use crate::output::print_result;

/// Longest line that is read; an entry has at most 64 KiB.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// Longest key file.
const MAX_KEY_BYTES: u64 = 4096;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Output of `guildhall audit export`; - reads standard input
    file: PathBuf,
    /// Verify the signatures with this key: 64 hexadecimal digits, or a file that contains them. Repeat it for logs that
    /// several keys signed
    #[arg(long, value_name = "KEY", required_unless_present_any = ["anchor", "chain_only"])]
    public_key: Vec<String>,
    /// Compare the log with the anchors in this file
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// Verify only that the hashes fit each other. Whoever can write to the database can compute them
    #[arg(long, conflicts_with_all = ["public_key", "anchor"])]
    chain_only: bool,
    /// Accept entries whose body was erased
    #[arg(long)]
    allow_erased: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &VerifyArgs) -> Result<()> {
    let file = &args.file;
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(stdin())
    } else {
        Box::new(File::open(file).with_context(|| format!("cannot open {}", file.display()))?)
    };
    let sources = read_sources(args)?;
    let incomplete_anchors = sources.anchors.as_ref().map_or(0, |anchors| anchors.incomplete_lines);
    let verifier = ExportVerifier {
        chain: ChainVerifier::default(),
        trust: TrustVerifier::new(sources),
        allow_erased: args.allow_erased,
    };
    let report = match verifier.verify(BufReader::new(input)) {
        Ok(report) => report,
        Err(VerifyError::Read(error)) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
        Err(VerifyError::Fault { line, reason }) => {
            if args.json {
                print_result(true, &json!({ "ok": false, "line": line, "fault": reason }), String::new)?;
            }
            match line {
                Some(line) => bail!("line {line}: {reason}"),
                None => bail!("{reason}"),
            }
        }
    };
    if incomplete_anchors > 0 {
        eprintln!("{incomplete_anchors} incomplete lines of the anchor file were ignored");
    }
    print_result(args.json, &report.to_json(), || report.to_text(args.chain_only))?;
    Ok(())
}

fn read_sources(args: &VerifyArgs) -> Result<TrustSources> {
    let keys = args.public_key.iter().map(|key| read_key(key)).collect::<Result<_>>()?;
    let anchors = match &args.anchor {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.with_context(|| format!("cannot read the anchor file {}", path.display()))?;
            Some(AnchorIndex::parse(&text).map_err(anyhow::Error::msg)?)
        }
    };
    Ok(TrustSources { keys, anchors })
}

fn read_key(text: &str) -> Result<AuditPublicKey> {
    if let Ok(key) = text.parse::<AuditPublicKey>() {
        return Ok(key);
    }
    let mut key = String::new();
    let read = File::open(text).and_then(|file| file.take(MAX_KEY_BYTES).read_to_string(&mut key));
    read.with_context(|| format!("--public-key is neither a key nor a file that can be read: {text}"))?;
    key.parse::<AuditPublicKey>().with_context(|| format!("cannot use the key in {text}"))
}

#[derive(Debug)]
enum VerifyError {
    Read(std::io::Error),
    Fault {
        /// None: the fault is not in a single line.
        line: Option<u64>,
        reason: String,
    },
}

/// What was verified.
#[derive(Debug, PartialEq, Eq)]
struct ExportReport {
    chain: VerificationReport,
    trust: TrustReport,
}

struct ExportVerifier {
    chain: ChainVerifier,
    trust: TrustVerifier,
    allow_erased: bool,
}

impl ExportVerifier {
    fn verify(mut self, mut input: impl BufRead) -> Result<ExportReport, VerifyError> {
        for line in 1.. {
            let mut text = Vec::new();
            let count =
                (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut text).map_err(VerifyError::Read)?;
            if count == 0 {
                break;
            }
            self.verify_line(&text).map_err(|reason| VerifyError::Fault { line: Some(line), reason })?;
        }
        let fault = |reason: String| VerifyError::Fault { line: None, reason };
        let chain = self.chain.finish();
        if chain == VerificationReport::default() {
            // Most likely from a failed export; a script must not take it for valid.
            return Err(fault("the file is empty: nothing is proved".to_owned()));
        }
        if chain.proved == 0 {
            return Err(fault(
                "no entry is proved: the hashes were removed, or the entries are not sealed yet; \
                 export again after a few seconds"
                    .to_owned(),
            ));
        }
        Ok(ExportReport { trust: self.trust.finish().map_err(fault)?, chain })
    }

    fn verify_line(&mut self, text: &[u8]) -> Result<(), String> {
        let line = text.strip_suffix(b"\n").ok_or("incomplete: the line feed at the end is missing")?;
        let entry = self.chain.verify_line(line)?;
        if entry.is_erased && !self.allow_erased {
            return Err("the body was erased: if that is expected, add --allow-erased".to_owned());
        }
        self.trust.add(&entry)
    }
}

impl ExportReport {
    fn to_json(&self) -> Value {
        let VerificationReport { proved, unsealed, erased, begins_within, head } = &self.chain;
        let TrustReport { log, signed_to, anchored_to } = &self.trust;
        json!({
            "ok": true, "log": log.map(|log| log.to_string()), "proved": proved, "unsealed": unsealed,
            "erased": erased, "beginsWithin": begins_within, "head": head,
            "signedTo": signed_to, "anchoredTo": anchored_to,
        })
    }

    fn to_text(&self, chain_only: bool) -> String {
        let VerificationReport { proved, unsealed, erased, begins_within, head } = &self.chain;
        let mut lines = vec![format!("{proved} entries verified, {unsealed} without a hash yet")];
        if let Some(log) = self.trust.log {
            lines.push(format!("log {log}"));
        }
        if let Some(signed_to) = self.trust.signed_to {
            lines.push(format!("signed up to entry {signed_to}"));
        }
        if let Some(anchored_to) = self.trust.anchored_to {
            lines.push(format!("anchored up to entry {anchored_to}"));
        }
        if *erased > 0 {
            lines.push(format!("{erased} entries have an erased body"));
        }
        if *begins_within {
            lines.push(
                "the file does not start with the first entry of the log: the hash of its first line cannot be verified"
                    .to_owned(),
            );
        }
        if let Some(head) = head {
            lines.push(format!("last hash {head}"));
        }
        if chain_only {
            lines.push("only the hashes were verified: a rewritten log has valid hashes too".to_owned());
        }
        lines.join("\n")
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
