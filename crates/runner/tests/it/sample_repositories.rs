//! Tests of small repositories in Rust, Python and JavaScript, run by an agent in the default sandbox: the agent is not
//! root, has no network, and sees the operator's tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_runner::backend::{ThreadStart, TurnOutcome};
use guildhall_runner::sandbox::{AgentUser, Containment, Sandbox, ToolVariables, find_tools, give_to_agent};

use crate::suite::Harness;

const RUST: [(&str, &str); 2] = [
    (
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\npath = \"sample.rs\"\n",
    ),
    (
        "sample.rs",
        "pub fn double(number: u32) -> u32 {\n    number * 2\n}\n\n\
         #[test]\nfn doubles() {\n    std::fs::write(std::env::temp_dir().join(\"made\"), \"x\").unwrap();\n    \
         assert_eq!(double(21), 42);\n}\n",
    ),
];

const PYTHON: [(&str, &str); 2] = [
    ("sample.py", "def double(number):\n    return number * 2\n"),
    (
        "test_sample.py",
        "from sample import double\n\n\ndef test_doubles(tmp_path):\n    (tmp_path / 'made').write_text('x')\n    \
         assert double(21) == 42\n",
    ),
];

const JAVASCRIPT: [(&str, &str); 2] = [
    (
        "package.json",
        "{ \"name\": \"sample\", \"version\": \"0.1.0\", \"scripts\": { \"test\": \"node --test\" } }\n",
    ),
    (
        "sample.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\n\
         test('doubles', () => assert.strictEqual(21 * 2, 42));\n",
    ),
];

/// The directory in which `.ci/setup` installs tools.
fn ci_tools() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or(home).expect("HOME is set").join("guildhall/tools")
}

fn write_files(workspace: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        fs::write(workspace.join(name), text).expect("write file");
    }
}

/// Runs a command in a repository with these files, twice: also after the first run left its output there.
async fn assert_passes(files: &[(&str, &str)], command: &str, expected: &str) {
    let fixture = crate::script::fixture();
    let mut harness = Harness::new(&fixture).await;
    let Containment::Sandboxed(sandbox) = &harness.config.containment else { panic!("no sandbox") };
    let tools = find_tools(&ToolVariables::of_this_process(), &[ci_tools()]);
    harness.config.containment = Containment::Sandboxed(Arc::new(Sandbox { tools, ..(**sandbox).clone() }));
    harness.config.turn_timeout = Duration::from_secs(120);
    // As a runner that prepares a workspace does it.
    write_files(&harness.config.workspace, files);
    for (name, _) in files {
        give_to_agent(&harness.path(name), AgentUser::default()).expect("change the owner");
    }
    harness.start(ThreadStart::New).await.expect("start a thread");
    for _ in 0..2 {
        let report = harness.turn(&format!("run:id -u; {command} 2>&1")).await;
        let output = report.tool_output().0;
        assert_eq!(report.outcome, TurnOutcome::Completed, "{output}");
        assert!(output.contains(expected), "{output}");
        let user = output.lines().next().and_then(|line| line.parse::<u32>().ok());
        assert!(user.is_some_and(|user| user != 0), "the agent is root: {output}");
    }
    harness.finish();
}

#[tokio::test]
async fn cargo_test_passes_in_the_sandbox() {
    assert_passes(&RUST, "cargo test", "test doubles ... ok").await;
}

#[tokio::test]
async fn pytest_passes_in_the_sandbox() {
    let pytest = ci_tools().join("bin/pytest");
    assert_passes(&PYTHON, &pytest.to_string_lossy(), "1 passed").await;
}

#[tokio::test]
async fn npm_test_passes_in_the_sandbox() {
    assert_passes(&JAVASCRIPT, "npm test", "pass 1").await;
}
