//! Paths of the real coding agents that `.ci/setup` installs.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the path of the Codex binary. Panics with an instruction if it is not installed.
///
/// This is the native binary inside the npm package, not its Node wrapper, which would be one more process to kill.
#[must_use]
pub fn codex_program() -> PathBuf {
    let modules = tools_folder().join("agents/node_modules");
    let program = codex_candidates(&modules.join("@openai")).into_iter().find(|program| program.is_file());
    program.unwrap_or_else(|| panic!("no codex binary under {}: run .ci/setup", modules.display()))
}

/// Returns the Python that has the packages of the tests.
#[must_use]
pub fn python() -> PathBuf {
    tools_folder().join("bin/python")
}

/// Returns the folder of the installed agents.
#[must_use]
pub fn node_modules() -> PathBuf {
    tools_folder().join("agents/node_modules")
}

/// Returns the path of Qwen Code, which speaks the Agent Client Protocol with `--acp`. It needs Node on the `PATH`.
#[must_use]
pub fn qwen_program() -> PathBuf {
    node_program("agents", "qwen")
}

/// Returns the path of the adapter with which Claude Code speaks the Agent Client Protocol. It needs Node on the `PATH`.
#[must_use]
pub fn claude_program() -> PathBuf {
    node_program("claude", "claude-agent-acp")
}

/// Returns the path of Gemini CLI, which speaks the Agent Client Protocol with `--acp`. It needs Node on the `PATH`.
#[must_use]
pub fn gemini_program() -> PathBuf {
    node_program("gemini", "gemini")
}

fn node_program(folder: &str, name: &str) -> PathBuf {
    let program = tools_folder().join(folder).join("node_modules/.bin").join(name);
    assert!(program.is_file(), "no {name} at {}: run .ci/setup", program.display());
    program
}

/// Lists the possible binary paths, one per platform package: `codex-<platform>/vendor/<target>/bin/codex`.
fn codex_candidates(scope: &Path) -> Vec<PathBuf> {
    let targets =
        folder_entries(scope).into_iter().flat_map(|package| folder_entries(&package.join("vendor")));
    targets.map(|target| target.join("bin/codex")).collect()
}

fn folder_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

pub(crate) fn tools_folder() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    cache.expect("HOME or XDG_CACHE_HOME is set").join("guildhall/tools")
}
