//! `guildhall audit verify`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::chain::{Checker, Verdict};
use crate::output::show;

/// The longest line that is read; an entry has 64 KiB at most.
const LINE_BYTES: u64 = 1024 * 1024;

pub(super) fn run(file: &Path, json: bool) -> Result<()> {
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(stdin())
    } else {
        Box::new(File::open(file).with_context(|| format!("cannot open {}", file.display()))?)
    };
    let verdict = match check(BufReader::new(input)) {
        Ok(verdict) => verdict,
        Err(Stop::Read(error)) => {
            return Err(error).with_context(|| format!("cannot read {}", file.display()));
        }
        Err(Stop::Fault { line, fault }) => {
            if json {
                show(true, &json!({ "ok": false, "line": line, "fault": fault }), String::new)?;
            }
            bail!("line {line}: {fault}");
        }
    };
    let Verdict { proved, unsealed, begins_within, head } = &verdict;
    let value = json!({
        "ok": true, "proved": proved, "unsealed": unsealed, "beginsWithin": begins_within, "head": head,
    });
    show(json, &value, || sentence(&verdict))?;
    Ok(())
}

#[derive(Debug)]
enum Stop {
    Read(std::io::Error),
    Fault { line: u64, fault: String },
}

fn check(mut input: impl BufRead) -> Result<Verdict, Stop> {
    let mut checker = Checker::default();
    for line in 1.. {
        let mut text = Vec::new();
        let count = (&mut input).take(LINE_BYTES).read_until(b'\n', &mut text).map_err(Stop::Read)?;
        if count == 0 {
            break;
        }
        let fault = match text.strip_suffix(b"\n") {
            Some(entry) => checker.take(entry).err(),
            None => Some("it breaks off: a line ends with a line feed".to_owned()),
        };
        if let Some(fault) = fault {
            return Err(Stop::Fault { line, fault });
        }
    }
    let verdict = checker.end();
    if verdict == Verdict::default() {
        // Most likely of an export that failed; a script must not take it for proved.
        return Err(Stop::Fault { line: 1, fault: "the file is empty".to_owned() });
    }
    Ok(verdict)
}

fn sentence(verdict: &Verdict) -> String {
    let Verdict { proved, unsealed, begins_within, head } = verdict;
    let Some(head) = head else {
        return format!("nothing is sealed: {unsealed} entries stand in order, and none is proved");
    };
    let mut text = format!("{proved} entries are proved, {unsealed} are not sealed yet");
    if *begins_within {
        text.push_str(
            "\nthe file begins within the log: its first entry is taken on trust, the others follow from it",
        );
    }
    format!("{text}\nlast hash {head}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_and_a_line_that_breaks_off_are_faults() {
        for (file, expected) in
            [("", "the file is empty"), ("{}", "it breaks off: a line ends with a line feed")]
        {
            let Err(Stop::Fault { line, fault }) = check(file.as_bytes()) else { panic!("taken: {file:?}") };
            assert_eq!((line, fault.as_str()), (1, expected));
        }
    }
}
