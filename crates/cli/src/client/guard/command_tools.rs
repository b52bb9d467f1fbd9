//! Tools that are commands.

use std::collections::BTreeMap;
use std::process::Stdio;

use guildhall_sdk::guard::{MAX_RESULT_BYTES, ToolFailure, ToolRun, Tools};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Runs a command for each tool.
#[derive(Debug)]
pub(super) struct CommandTools(pub(super) BTreeMap<String, String>);

/// A running command with all that it has started. They are killed when this is dropped.
struct RunningCommand {
    child: Child,
    group: Option<Pid>,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _already_gone = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Tools for CommandTools {
    async fn run(&self, run: ToolRun) -> Result<Value, ToolFailure> {
        let command = self.0.get(&run.tool).ok_or(ToolFailure::Unavailable)?;
        let mut running = start(command).map_err(|_| ToolFailure::Failed)?;
        let output = output_of(&mut running, &run.arguments).await.ok_or(ToolFailure::Failed)?;
        let status = running.child.wait().await.map_err(|_| ToolFailure::Failed)?;
        if !status.success() {
            return Err(ToolFailure::Failed);
        }
        let text = String::from_utf8(output).map_err(|_| ToolFailure::Failed)?;
        // What is no JSON is a text.
        Ok(serde_json::from_str(&text).unwrap_or_else(|_| json!({ "output": text.trim_end() })))
    }
}

fn start(command: &str) -> std::io::Result<RunningCommand> {
    let child = Command::new("sh")
        .args(["-c", command])
        // A group of its own: what it starts is killed with it, and Ctrl-C on the terminal is for the guard.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    Ok(RunningCommand { child, group })
}

/// Writes the arguments, and reads what the command prints; none where that is too much.
async fn output_of(running: &mut RunningCommand, arguments: &Value) -> Option<Vec<u8>> {
    let (mut stdin, stdout) = (running.child.stdin.take()?, running.child.stdout.take()?);
    let input = arguments.to_string();
    let write = async move {
        // A command need not read them.
        let _closed = stdin.write_all(input.as_bytes()).await;
    };
    let read = async {
        let mut output = Vec::new();
        let limit = MAX_RESULT_BYTES as u64 + 1;
        let read = stdout.take(limit).read_to_end(&mut output).await;
        read.is_ok_and(|count| count <= MAX_RESULT_BYTES).then_some(output)
    };
    let ((), output) = tokio::join!(write, read);
    output
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    async fn run(command: &str, arguments: Value) -> Result<Value, ToolFailure> {
        let tools = CommandTools(BTreeMap::from([("tool".to_owned(), command.to_owned())]));
        let agent = "helper.guild.example".parse().expect("an AID");
        tools.run(ToolRun { agent, tool: "tool".to_owned(), arguments }).await
    }

    #[tokio::test]
    async fn arguments_are_on_standard_input_and_output_is_the_result() {
        assert_eq!(run("cat", json!({ "path": "/a" })).await, Ok(json!({ "path": "/a" })));
        assert_eq!(run("echo two words", json!({})).await, Ok(json!({ "output": "two words" })));
        assert_eq!(run("exit 3", json!({})).await, Err(ToolFailure::Failed));
        assert_eq!(run("head -c 300000 /dev/zero", json!({})).await, Err(ToolFailure::Failed));
        let many = json!({ "text": "x".repeat(150_000) });
        assert_eq!(run("echo 1", many).await, Ok(json!(1)), "it does not read its input");
        let tools = CommandTools(BTreeMap::new());
        let agent = "helper.guild.example".parse().expect("an AID");
        let missing = ToolRun { agent, tool: "tool".to_owned(), arguments: json!({}) };
        assert_eq!(tools.run(missing).await, Err(ToolFailure::Unavailable));
    }

    #[tokio::test]
    async fn cancelled_command_is_killed_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let command = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let running = tokio::time::timeout(Duration::from_secs(2), run(&command, json!({})));
        assert!(running.await.is_err(), "it runs until it is cancelled");
        let child = std::fs::read_to_string(&pid).expect("a child").trim().to_owned();
        let is_gone = || {
            let status = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        };
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_gone() {
            assert!(Instant::now() < deadline, "the child is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
