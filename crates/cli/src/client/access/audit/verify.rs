//! `guildhall audit verify`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::chain::{ChainVerifier, VerificationReport};
use crate::output::print_result;

/// Longest line that is read; an entry has at most 64 KiB.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

pub(super) fn run(file: &Path, json: bool) -> Result<()> {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(stdin())
    } else {
        Box::new(File::open(file).with_context(|| format!("cannot open {}", file.display()))?)
    };
    let report = match verify(BufReader::new(input)) {
        Ok(report) => report,
        Err(VerifyError::Read(error)) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
        Err(VerifyError::InvalidLine { line, reason }) => {
            if json {
                print_result(true, &json!({ "ok": false, "line": line, "fault": reason }), String::new)?;
            }
            bail!("line {line}: {reason}");
        }
    };
    let VerificationReport { proved, unsealed, begins_within, head } = &report;
    let value = json!({
        "ok": true, "proved": proved, "unsealed": unsealed, "beginsWithin": begins_within, "head": head,
    });
    print_result(json, &value, || format_report(&report))?;
    Ok(())
}

#[derive(Debug)]
enum VerifyError {
    Read(std::io::Error),
    InvalidLine { line: u64, reason: String },
}

fn verify(mut input: impl BufRead) -> Result<VerificationReport, VerifyError> {
    let mut verifier = ChainVerifier::default();
    for line in 1.. {
        let mut text = Vec::new();
        let count =
            (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut text).map_err(VerifyError::Read)?;
        if count == 0 {
            break;
        }
        let reason = match text.strip_suffix(b"\n") {
            Some(entry) => verifier.verify_line(entry).err(),
            None => Some("incomplete: the line feed at the end is missing".to_owned()),
        };
        if let Some(reason) = reason {
            return Err(VerifyError::InvalidLine { line, reason });
        }
    }
    let report = verifier.finish();
    if report == VerificationReport::default() {
        // Most likely from a failed export; a script must not take it for valid.
        return Err(VerifyError::InvalidLine { line: 1, reason: "the file is empty".to_owned() });
    }
    Ok(report)
}

fn format_report(report: &VerificationReport) -> String {
    let VerificationReport { proved, unsealed, begins_within, head } = report;
    let Some(head) = head else {
        return format!("no entry has a hash yet: {unsealed} entries are in order, none is verified");
    };
    let mut text = format!("{proved} entries verified, {unsealed} without a hash yet");
    if *begins_within {
        text.push_str(
            "\nthe file does not start with the first entry of the log: the hash of its first line cannot be verified",
        );
    }
    format!("{text}\nlast hash {head}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_file_and_incomplete_line_are_rejected() {
        for (file, expected) in
            [("", "the file is empty"), ("{}", "incomplete: the line feed at the end is missing")]
        {
            let Err(VerifyError::InvalidLine { line, reason }) = verify(file.as_bytes()) else {
                panic!("accepted: {file:?}")
            };
            assert_eq!((line, reason.as_str()), (1, expected));
        }
    }
}
