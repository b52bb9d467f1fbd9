//! Programs of others that tests talk to, run by Node: identity providers and a browser.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What can be run. The files stand in `crates/testkit/oidc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// A real identity provider (oidc-provider).
    Provider,
    /// A provider that lies when it is told to.
    Twin,
    /// A person with headless Chromium.
    Browser,
}

impl Script {
    fn text(self) -> &'static str {
        match self {
            Self::Provider => include_str!("../oidc/provider.mjs"),
            Self::Twin => include_str!("../oidc/twin.mjs"),
            Self::Browser => include_str!("../oidc/browser.mjs"),
        }
    }
}

/// A running script. It ends with this value, and with the thread that started it.
#[derive(Debug)]
pub struct Node {
    child: Child,
    /// The line that it said when it was ready.
    pub said: Value,
    folder: TempDir,
}

impl Node {
    /// Starts a script and waits for its line.
    #[must_use]
    pub fn start(script: Script, told: &Value) -> Self {
        let folder = folder(script);
        let mut child = command(&folder, told).stdout(Stdio::piped()).spawn().expect("setpriv is there");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with('{'));
        let line = line.expect("the script says a line; `.ci/setup` installs what it needs");
        // Read on, so that it is never held up by its own words.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, said: serde_json::from_str(&line).expect("JSON"), folder }
    }

    /// Runs a script to its end and returns its line.
    #[must_use]
    pub fn run(script: Script, told: &Value) -> Value {
        let mut node = Self::start(script, told);
        let status = node.child.wait().expect("it ends");
        assert!(status.success(), "{script:?} ended with {status} in {}", node.folder.path().display());
        node.said.take()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Makes a folder in which a script finds the packages that `.ci/setup` installed.
fn folder(script: Script) -> TempDir {
    let folder = tempfile::Builder::new().prefix("guildhall-node-").tempdir().expect("a folder");
    std::fs::write(folder.path().join("script.mjs"), script.text()).expect("written");
    std::os::unix::fs::symlink(packages(), folder.path().join("node_modules")).expect("linked");
    folder
}

fn packages() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    cache.expect("HOME is set").join("guildhall/tools/node/node_modules")
}

fn command(folder: &TempDir, told: &Value) -> Command {
    let mut command = Command::new("setpriv");
    // The kernel ends it when we are killed.
    command.args(["--pdeathsig=KILL", "--", "node", "script.mjs", &told.to_string()]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    command
}
