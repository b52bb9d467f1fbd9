//! Node.js scripts that tests run: identity providers, a browser and a receiver of webhooks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The available scripts; their files are in `crates/testkit/oidc` and `crates/testkit/webhooks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeScript {
    /// A real identity provider (oidc-provider).
    Provider,
    /// An identity provider that can be told to misbehave.
    FaultyProvider,
    /// A sign-in with headless Chromium.
    Browser,
    /// An answer to a question of an agent, with headless Chromium in the size of a phone.
    Phone,
    /// A receiver that verifies webhooks with the official library (standardwebhooks).
    WebhookReceiver,
}

impl NodeScript {
    fn source(self) -> &'static str {
        match self {
            Self::Provider => include_str!("../oidc/provider.mjs"),
            Self::FaultyProvider => include_str!("../oidc/faulty-provider.mjs"),
            Self::Browser => include_str!("../oidc/browser.mjs"),
            Self::Phone => include_str!("../oidc/phone.mjs"),
            Self::WebhookReceiver => include_str!("../webhooks/receiver.mjs"),
        }
    }

    /// The folder below that of the tools where `.ci/setup` installs the packages of the script.
    const fn packages(self) -> &'static str {
        match self {
            Self::Provider | Self::FaultyProvider | Self::Browser | Self::Phone => "node",
            Self::WebhookReceiver => "webhooks",
        }
    }
}

/// A running script, killed when this value is dropped or when the thread that started it exits.
#[derive(Debug)]
pub struct NodeProcess {
    child: Child,
    /// The line of JSON that it printed.
    pub output: Value,
    folder: TempDir,
}

impl NodeProcess {
    /// Starts a script and waits for its line of JSON.
    #[must_use]
    pub fn start(script: NodeScript, argument: &Value) -> Self {
        let folder = create_script_folder(script);
        let mut child =
            command(&folder, argument).stdout(Stdio::piped()).spawn().expect("setpriv is installed");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with('{'));
        let line = line.expect("the script prints a line of JSON; `.ci/setup` installs its packages");
        // Keep reading, so that the script never blocks on a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, output: serde_json::from_str(&line).expect("JSON"), folder }
    }

    /// Runs a script to completion and returns its line of JSON.
    #[must_use]
    pub fn run(script: NodeScript, argument: &Value) -> Value {
        let mut node = Self::start(script, argument);
        let status = node.child.wait().expect("the script exits");
        assert!(status.success(), "{script:?} ended with {status} in {}", node.folder.path().display());
        node.output.take()
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Creates a folder with the script and a link to the packages that `.ci/setup` installed.
fn create_script_folder(script: NodeScript) -> TempDir {
    let folder = tempfile::Builder::new().prefix("guildhall-node-").tempdir().expect("a folder");
    std::fs::write(folder.path().join("script.mjs"), script.source()).expect("written");
    std::os::unix::fs::symlink(packages_folder(script), folder.path().join("node_modules")).expect("linked");
    folder
}

fn packages_folder(script: NodeScript) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let tools = cache.expect("HOME is set").join("guildhall/tools");
    tools.join(script.packages()).join("node_modules")
}

fn command(folder: &TempDir, argument: &Value) -> Command {
    let mut command = Command::new("setpriv");
    // The kernel kills the script if the test process is killed.
    command.args(["--pdeathsig=KILL", "--", "node", "script.mjs", &argument.to_string()]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    command
}
