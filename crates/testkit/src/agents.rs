//! Real coding agents, as `.ci/setup` installs them.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the program of the real Codex. A test that needs it fails without it, and says what to do.
///
/// This is the native program inside the npm package, not its Node wrapper, which would be one more process to end.
#[must_use]
pub fn codex() -> PathBuf {
    let modules = tools().join("agents/node_modules");
    let found = natives(&modules.join("@openai")).into_iter().find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no codex under {}: run .ci/setup", modules.display()))
}

/// Returns the program of the real Qwen Code, which speaks the Agent Client Protocol when it is told `--acp`. It needs
/// Node on the search path.
#[must_use]
pub fn qwen() -> PathBuf {
    let program = tools().join("agents/node_modules/.bin/qwen");
    assert!(program.is_file(), "there is no qwen at {}: run .ci/setup", program.display());
    program
}

/// Lists where the program stands in a package for some platform: `codex-<platform>/vendor/<target>/bin/codex`.
fn natives(scope: &Path) -> Vec<PathBuf> {
    let targets = entries(scope).into_iter().flat_map(|package| entries(&package.join("vendor")));
    targets.map(|target| target.join("bin/codex")).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    listed.map(|entry| entry.path()).collect()
}

fn tools() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    cache.expect("HOME or XDG_CACHE_HOME is set").join("guildhall/tools")
}
