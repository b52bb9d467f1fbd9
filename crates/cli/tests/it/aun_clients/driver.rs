//! `interop/aun/driver.py` as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read, Seek, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use guildhall_testkit::AunClient;
use serde_json::Value;

use super::replicas::DriverArguments;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/aun/driver.py");

/// A driver with one client, killed when this value is dropped.
pub(super) struct Driver {
    client: AunClient,
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    /// The clients log here.
    stderr: File,
    /// Lines until now.
    printed: Vec<String>,
}

impl Driver {
    pub(super) fn start(client: AunClient, mode: &str, arguments: &DriverArguments) -> Self {
        let stderr = tempfile::tempfile().expect("a file");
        // The kernel kills it if the test process is killed.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig=KILL", "--"])
            .arg(client.python())
            // Without compiled files in the sources.
            .args(["-B", DRIVER, mode])
            .args(&arguments.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().expect("a file"))
            .spawn()
            .expect("setpriv is installed");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { client, child, stdin, stdout, stderr, printed: Vec::new() }
    }

    /// Waits for a line with a prefix and returns the rest of it. Each check of the driver has a time limit.
    pub(super) fn wait_for(&mut self, prefix: &str) -> String {
        while let Some(line) = self.next_line() {
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.to_owned();
            }
        }
        panic!("no line with {prefix:?}: {}", self.report());
    }

    pub(super) fn continue_after_pause(&mut self) {
        writeln!(self.stdin).expect("the driver reads");
    }

    /// Sends a request to a driver in the mode `peer`, and returns its answer.
    pub(super) fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.stdin, "{request}").expect("the driver reads");
        let answer: Value = serde_json::from_str(&self.wait_for("peer ")).expect("JSON");
        assert!(answer.get("error").is_none(), "{answer} {}", self.report());
        answer
    }

    /// Waits until all checks have passed, except those that are expected to be missing.
    pub(super) fn finish(mut self) {
        while self.next_line().is_some() {}
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{}", self.report());
    }

    fn next_line(&mut self) -> Option<String> {
        let line = self.stdout.next()?.expect("text");
        self.printed.push(line.clone());
        Some(line)
    }

    fn report(&mut self) -> String {
        let mut log = String::new();
        self.stderr.rewind().expect("a file");
        self.stderr.read_to_string(&mut log).expect("text");
        format!("{:?}\n{}\n\nlog:\n{log}", self.client, self.printed.join("\n"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
