//! A turn is cancelled while a tool runs.

use std::time::Duration;

use super::agent::Agent;
use super::process::{pids, wait_until_dead};
use super::world::World;

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
    // Once: saying it again changes nothing.
    world.cancel(&command).await;
    world.works(&run, "run:true").await;
    let events = world.events(&run).await;
    let ended =
        events.iter().filter(|event| event["type"] == "terminal_status" && event["commandId"] == *command);
    assert_eq!(ended.count(), 1, "{agent:?} {events:#?}");
}
