//! `guildhall runs diff`, `apply`, `branch` and `discard`.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::diff::DiffView;
use guildhall_sdk::Client;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::error::NoChangesError;
use crate::output::{print_result, sanitize_text};

const NOTHING: &str = "the agent has changed nothing";

/// Reads the changes of a run. A run without changes is another error than a run that does not exist.
async fn read_diff(client: &Client, run: RunId) -> Result<DiffView> {
    match client.run_diff(run).await {
        Err(error) if error.kind() == Some(FailureKind::NotFound) => {
            client.get_run(run).await?;
            Err(NoChangesError(run).into())
        }
        read => Ok(read?),
    }
}

/// Prints the changes: as they are for a pipe, without control characters for a terminal.
pub(super) async fn show(run: RunId, common: &CommonArgs) -> Result<()> {
    let diff = read_diff(&common.connect()?.client, run).await?;
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
    let diff = read_diff(&common.connect()?.client, run).await?;
    let files = if diff.diff.0.is_empty() { Vec::new() } else { apply_diff(run, &diff)? };
    print_result(common.json, &json!({ "runId": diff.run_id, "files": files }), || {
        if files.is_empty() { NOTHING.to_owned() } else { format!("applied:\n  {}", files.join("\n  ")) }
    })?;
    Ok(())
}

/// Commits the changes on top of `HEAD` to a new branch. The working tree stays as it is.
pub(super) async fn branch(run: RunId, name: Option<&str>, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let (diff, view) = (read_diff(&client, run).await?, client.get_run(run).await?);
    if diff.diff.0.is_empty() {
        return Ok(print_result(common.json, &json!({ "runId": diff.run_id, "branch": null }), || {
            NOTHING.to_owned()
        })?);
    }
    let name = name.map_or_else(|| format!("guildhall/{run}"), str::to_owned);
    let message =
        format!("{}\n\nGuildhall-Run: {run}\n", view.title.as_deref().unwrap_or("Changes of an agent"));
    commit_to_branch(run, &diff, &name, &message)?;
    print_result(common.json, &json!({ "runId": diff.run_id, "branch": name }), || {
        format!("committed the changes of {run} to the branch {name}; `git merge {name}` takes them over")
    })?;
    Ok(())
}

fn commit_to_branch(run: RunId, diff: &DiffView, name: &str, message: &str) -> Result<()> {
    let top = repository()?;
    let index = tempfile::tempdir().context("cannot create a temporary directory")?;
    let index = index.path().join("index");
    let git = |arguments: &[&str], input: &[u8]| -> Result<String> {
        let output = git_with_index(&top, Some(&index), arguments, input)?;
        if !output.status.success() {
            bail!("{}", sanitize_text(String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    git(&["read-tree", "HEAD"], &[])?;
    git(&["apply", "--cached", "--whitespace=nowarn", "-"], &diff.diff.0).with_context(|| {
        format!(
            "the changes of {run} do not fit the last commit: commit what the agent started from, or use `guildhall runs \
             apply {run}`; nothing was committed"
        )
    })?;
    let tree = git(&["write-tree"], &[])?;
    let commit = git(&["commit-tree", &tree, "-p", "HEAD", "-F", "-"], message.as_bytes())?;
    git(&["branch", "--", name, &commit], &[]).context("cannot create the branch")?;
    Ok(())
}

/// Deletes the changes on the server, and closes the run.
pub(super) async fn discard(run: RunId, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let closed = client.close_run(run).await?;
    client.delete_run_diff(run).await?;
    print_result(common.json, &json!(closed), || {
        format!("discarded the changes of {run}; the run is closed")
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

fn git(top: &Path, arguments: &[&str], input: &[u8]) -> Result<Output> {
    git_with_index(top, None, arguments, input)
}

/// Runs git with the index of the repository, or with another one.
fn git_with_index(top: &Path, index: Option<&Path>, arguments: &[&str], input: &[u8]) -> Result<Output> {
    let mut child = Command::new("git")
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(top)
        .envs(index.map(|index| ("GIT_INDEX_FILE", index)))
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
