//! The server goes away in the middle of a turn, and comes back.

use std::time::Duration;

use super::proxy::{self, Fate};
use super::world::{Run, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_on_while_its_server_is_killed_and_started_again() {
    let world = World::start_with("127.0.0.1", "20s").await;
    let run = world.run().await;
    let _runner = world.runner(&run, &[]);
    let command = world.send(&run, "slow").await;
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        // The runner's own replica; the other one is asked in between.
        world.fleet.kill_server(0);
        tokio::time::sleep(Duration::from_millis(700)).await;
        world.fleet.start_server(0).await;
    }
    assert_whole(&world, &run, &command).await;
}

/// Both replicas stand behind one address, as behind a load balancer, and are killed by turns: short leases are enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_on_behind_one_address_while_either_replica_is_killed() {
    let world = World::start().await;
    let run = world.run().await;
    let (one, other) = (world.fleet.url(0, ""), world.fleet.url(1, ""));
    let door = proxy::open_on("127.0.0.1", &[&one, &other], |_| Fate::Pass);
    let _runner = world.runner_at(&door, &run, &[]);
    let command = world.send(&run, "slow").await;
    for replica in [0, 1, 0] {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.fleet.kill_server(replica);
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.fleet.start_server(replica).await;
    }
    assert_whole(&world, &run, &command).await;
}

/// The turn was played once, and all of it is there: each piece once, in order.
async fn assert_whole(world: &World, run: &Run, command: &str) {
    let result = world.ended(run, command, Duration::from_secs(40)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let events = world.events(run).await;
    let said: String = events
        .iter()
        .filter(|event| event["type"] == "assistant_delta" && event["payload"]["itemId"] == "answer")
        .filter_map(|event| event["payload"]["text"].as_str())
        .collect();
    let expected: String = (0..40).map(|number| format!("tok{number} ")).collect();
    assert_eq!((&said, &result["reply"]), (&expected, &expected.as_str().into()));
    let ended = events.iter().filter(|event| event["type"] == "terminal_status").count();
    assert_eq!(ended, 1, "{events:#?}");
}
