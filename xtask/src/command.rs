//! Running other programs, from the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Returns the root of the repository that cargo runs xtask from, which may differ from where it was built.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().map(Path::to_owned).unwrap_or_default()
}

/// Returns the target folder of cargo.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the path of a program that [`build_workspace`] has built.
pub(crate) fn program(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Builds all programs and tests. Every task uses this one build: a build of single packages enables other features of
/// their dependencies, and so compiles most of them again.
pub(crate) fn build_workspace() -> Result<()> {
    step("build", &mut cargo(["build", "--workspace", "--all-targets", "--locked"]))
}

/// Returns the folder in which `.ci/setup` installs tools.
pub(crate) fn tools() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("guildhall/tools"))
}

/// Returns a Python tool as installed by `.ci/setup`, or else the one on the PATH.
pub(crate) fn python_tool(name: &str) -> PathBuf {
    let installed = tools().map(|tools| tools.join("bin").join(name)).filter(|path| path.exists());
    installed.unwrap_or_else(|| name.into())
}

/// Prepares a cargo command of the same toolchain. Subcommands of `.ci/setup` come before those on the PATH.
pub(crate) fn cargo<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    let installed = tools().map(|tools| tools.join("cargo/bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Ok(path) = std::env::join_paths(installed.into_iter().chain(std::env::split_paths(&path))) {
        command.env("PATH", path);
    }
    command
}

/// Runs a command, prints its name and duration, and fails if the command fails.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("\n=== {name}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    println!("=== {name}: {} s", start.elapsed().as_secs());
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed ({})", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}
