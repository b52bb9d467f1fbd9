//! Scripts that tests run, in Node.js and Python: identity providers, a browser and receivers of webhooks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::agents::{python, tools_folder};

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
    /// The same with the official library for Python.
    PythonWebhookReceiver,
}

impl NodeScript {
    fn source(self) -> &'static str {
        match self {
            Self::Provider => include_str!("../oidc/provider.mjs"),
            Self::FaultyProvider => include_str!("../oidc/faulty-provider.mjs"),
            Self::Browser => include_str!("../oidc/browser.mjs"),
            Self::Phone => include_str!("../oidc/phone.mjs"),
            Self::WebhookReceiver => include_str!("../webhooks/receiver.mjs"),
            Self::PythonWebhookReceiver => include_str!("../webhooks/receiver.py"),
        }
    }

    /// The folder of packages below that of the tools, where `.ci/setup` installs them. Python finds its own.
    const fn packages(self) -> Option<&'static str> {
        match self {
            Self::Provider | Self::FaultyProvider | Self::Browser | Self::Phone => Some("node"),
            Self::WebhookReceiver => Some("webhooks"),
            Self::PythonWebhookReceiver => None,
        }
    }

    const fn file(self) -> &'static str {
        match self.packages() {
            Some(_) => "script.mjs",
            None => "script.py",
        }
    }

    fn interpreter(self) -> PathBuf {
        match self.packages() {
            Some(_) => PathBuf::from("node"),
            None => python(),
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
            command(script, &folder, argument).stdout(Stdio::piped()).spawn().expect("setpriv is installed");
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
    let folder = tempfile::Builder::new().prefix("guildhall-script-").tempdir().expect("a folder");
    std::fs::write(folder.path().join(script.file()), script.source()).expect("written");
    if let Some(packages) = script.packages() {
        let installed = tools_folder().join(packages).join("node_modules");
        std::os::unix::fs::symlink(installed, folder.path().join("node_modules")).expect("linked");
    }
    folder
}

fn command(script: NodeScript, folder: &TempDir, argument: &Value) -> Command {
    let mut command = Command::new("setpriv");
    // The kernel kills the script if the test process is killed.
    command.args(["--pdeathsig=KILL", "--"]).arg(script.interpreter());
    command.args([script.file(), &argument.to_string()]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    command
}
