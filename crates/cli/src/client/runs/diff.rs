//! `guildhall runs diff` and `guildhall runs apply`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::diff::DiffView;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::{print_result, sanitize_text};

const NOTHING: &str = "the agent has changed nothing";

/// Prints the changes: as they are for a pipe, without control characters for a terminal.
pub(super) async fn show(run: RunId, common: &CommonArgs) -> Result<()> {
    let diff = common.connect()?.client.run_diff(run).await?;
    if common.json {
        return Ok(print_result(true, &json!(diff), String::new)?);
    }
    let mut stdout = std::io::stdout();
    if diff.diff.0.is_empty() {
        eprintln!("{NOTHING}");
    } else if stdout.is_terminal() {
        stdout.write_all(sanitize_text(&String::from_utf8_lossy(&diff.diff.0)).as_bytes())?;
    } else {
        stdout.write_all(&diff.diff.0)?;
    }
    Ok(stdout.flush()?)
}

/// Applies the changes to the repository of the working directory: all of them or none.
pub(super) async fn apply(run: RunId, common: &CommonArgs) -> Result<()> {
    let diff = common.connect()?.client.run_diff(run).await?;
    let files = if diff.diff.0.is_empty() { Vec::new() } else { apply_diff(run, &diff)? };
    print_result(common.json, &json!({ "runId": diff.run_id, "files": files }), || {
        if files.is_empty() { NOTHING.to_owned() } else { format!("applied:\n  {}", files.join("\n  ")) }
    })?;
    Ok(())
}

/// Applies a diff and returns the paths of its files.
pub(super) fn apply_diff(run: RunId, diff: &DiffView) -> Result<Vec<String>> {
    let top = repository()?;
    let listed = git(&top, &["apply", "--numstat", "-"], &diff.diff.0)?;
    let applied = git(&top, &["apply", "--whitespace=nowarn", "-"], &diff.diff.0)?;
    if !applied.status.success() {
        bail!(
            "the changes of {run} do not fit this repository: {}; nothing was applied\n`guildhall runs diff {run} > \
             changes.diff` saves them",
            sanitize_text(String::from_utf8_lossy(&applied.stderr).trim())
        );
    }
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(lines.lines().filter_map(|line| line.split('\t').nth(2)).map(sanitize_text).collect())
}

/// Returns the top directory of the repository that contains the working directory.
pub(super) fn repository() -> Result<PathBuf> {
    let found = Command::new("git").args(["rev-parse", "--show-toplevel"]).stderr(Stdio::null()).output();
    let found = found.context("cannot start git: install it")?;
    if !found.status.success() {
        bail!("this is not a Git repository: run the command in the repository that the changes are for");
    }
    Ok(PathBuf::from(String::from_utf8(found.stdout)?.trim_end_matches('\n')))
}

fn git(top: &PathBuf, arguments: &[&str], input: &[u8]) -> Result<Output> {
    let mut child = Command::new("git")
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(top)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start git: install it")?;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that exits early says why on stderr.
        let _closed = stdin.write_all(input);
    }
    Ok(child.wait_with_output()?)
}
