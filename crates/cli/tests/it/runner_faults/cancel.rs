//! A turn is cancelled while a tool runs.

use std::time::Duration;

use rustix::process::Signal;

use super::agent::Agent;
use super::process::{arguments, descendants, pids, signal, wait_until_dead};
use super::world::{Run, World};

/// A tool, a child of its own, and a daemon that has left parents and session behind.
const TOOL: &str = "run:echo $$ >> pids; (setsid sh -c 'echo $$ >> pids; exec sleep 60' &); \
                    sh -c 'echo $$ >> pids; exec sleep 60' ; true";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_tool_ends_with_all_that_it_started_and_the_command_is_cancelled_once() {
    let world = World::start().await;
    for agent in Agent::ALL {
        cancel(&world, agent).await;
    }
}

async fn cancel(world: &World, agent: Agent) {
    let run = world.run_of(agent).await;
    let _runner = world.runner(&run, &[]);
    let command = world.send(&run, TOOL).await;
    let doomed = pids(&run.workspace.join("pids"), 3).await;
    world.cancel(&command).await;
    wait_until_dead(&doomed, Duration::from_secs(15)).await;
    let result = world.ended(&run, &command, Duration::from_secs(15)).await;
    assert_eq!(result["terminalStatus"], "cancelled", "{agent:?} {result}");
    assert_cancelled_once(world, &run, &command).await;
}

/// The agent is stopped, and cannot hear that it is asked to end its tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_does_not_stop_is_killed_after_its_grace_with_all_that_it_started() {
    let world = World::start().await;
    let run = world.run_of(Agent::Codex).await;
    let runner = world.runner(&run, &[]);
    world.works(&run, "hello").await;
    let thread = world.thread(&run).await;
    let command = world.send(&run, TOOL).await;
    let mut doomed = pids(&run.workspace.join("pids"), 3).await;
    let below = descendants(runner.worker());
    // What keeps it within its bounds has its words too.
    let is_codex = |words: String| words.contains("app-server") && !words.starts_with("bwrap");
    let agent = below.iter().copied().find(|pid| is_codex(arguments(*pid))).expect("codex");
    doomed.extend(below);
    signal(agent, Signal::STOP);
    world.cancel(&command).await;
    wait_until_dead(&doomed, Duration::from_secs(20)).await;
    let result = world.ended(&run, &command, Duration::from_secs(5)).await;
    assert_eq!(result["terminalStatus"], "cancelled", "{result}");
    assert_cancelled_once(&world, &run, &command).await;
    assert_eq!(world.thread(&run).await, thread, "another thread was begun");
}

async fn assert_cancelled_once(world: &World, run: &Run, command: &str) {
    // Once: saying it again changes nothing.
    world.cancel(command).await;
    world.works(run, "run:true").await;
    let events = world.events(run).await;
    let ended =
        events.iter().filter(|event| event["type"] == "terminal_status" && event["commandId"] == *command);
    assert_eq!(ended.count(), 1, "{events:#?}");
}
