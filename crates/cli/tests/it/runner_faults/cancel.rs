//! Cancelling a turn while a tool runs.

use std::time::Duration;

use rustix::process::Signal;

use super::agent::Agent;
use super::fixture::{RunnerFixture, TestRun};
use crate::support::runner_process::{
    command_line, descendants, send_signal, wait_for_pids, wait_until_exited,
};

/// A tool with a child process and a daemon in its own session.
const TOOL: &str = "run:echo $$ >> pids; (setsid sh -c 'echo $$ >> pids; exec sleep 60' &); \
                    sh -c 'echo $$ >> pids; exec sleep 60' ; true";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_kills_the_tool_tree_and_ends_the_command_once() {
    let fixture = RunnerFixture::start().await;
    for agent in Agent::ALL {
        cancel_running_tool(&fixture, agent).await;
    }
}

async fn cancel_running_tool(fixture: &RunnerFixture, agent: Agent) {
    let run = fixture.create_run_for(agent).await;
    let _runner = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, TOOL).await;
    let tool_pids = wait_for_pids(&run.workspace.join("pids"), 3).await;
    fixture.cancel(&command).await;
    wait_until_exited(&tool_pids, Duration::from_secs(15)).await;
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(15)).await;
    assert_eq!(result["terminalStatus"], "cancelled", "{agent:?} {result}");
    assert_cancelled_once(fixture, &run, &command).await;
}

/// The agent is stopped with SIGSTOP, so it cannot react to the cancellation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unresponsive_agent_is_killed_with_its_tools_after_grace() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run_for(Agent::Codex).await;
    let runner = fixture.start_runner(&run, &[]);
    fixture.complete_turn(&run, "hello").await;
    let thread = fixture.thread_id(&run).await;
    let command = fixture.send(&run, TOOL).await;
    let mut tool_pids = wait_for_pids(&run.workspace.join("pids"), 3).await;
    let descendant_pids = descendants(runner.worker_pid());
    // The processes of the sandbox have the same arguments, and more.
    let is_codex =
        |command_line: String| command_line.contains("app-server") && !command_line.contains("sandbox-init");
    let agent = descendant_pids.iter().copied().find(|pid| is_codex(command_line(*pid))).expect("codex");
    tool_pids.extend(descendant_pids);
    send_signal(agent, Signal::STOP);
    fixture.cancel(&command).await;
    wait_until_exited(&tool_pids, Duration::from_secs(20)).await;
    let result = fixture.wait_for_result(&run, &command, Duration::from_secs(5)).await;
    assert_eq!(result["terminalStatus"], "cancelled", "{result}");
    assert_cancelled_once(&fixture, &run, &command).await;
    assert_eq!(fixture.thread_id(&run).await, thread, "a new thread was started");
}

async fn assert_cancelled_once(fixture: &RunnerFixture, run: &TestRun, command: &str) {
    // A second cancellation changes nothing.
    fixture.cancel(command).await;
    fixture.complete_turn(run, "run:true").await;
    let events = fixture.events(run).await;
    let ended =
        events.iter().filter(|event| event["type"] == "terminal_status" && event["commandId"] == *command);
    assert_eq!(ended.count(), 1, "{events:#?}");
}
