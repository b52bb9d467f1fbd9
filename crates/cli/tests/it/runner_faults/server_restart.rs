//! Server restarts during a turn.

use std::time::Duration;

use super::fixture::{RunnerFixture, TestRun};
use crate::support::proxy::{self, ProxyAction};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turn_continues_when_its_server_is_killed_and_restarted() {
    let fixture = RunnerFixture::start_with("127.0.0.1", "20s").await;
    let run = fixture.create_run().await;
    let _runner = fixture.start_runner(&run, &[]);
    let command = fixture.send(&run, "slow").await;
    for token in ["tok1 ", "tok10 "] {
        // The runner uses replica 0; the test sends its own requests to replica 1.
        fixture.wait_for_output(&run, &command, token).await;
        fixture.cluster.kill_replica(0);
        fixture.cluster.wait_until_refused(0).await;
        fixture.cluster.restart_replica(0).await;
    }
    assert_complete_once(&fixture, &run, &command).await;
}

/// Both replicas are behind one address, as with a load balancer, and are killed in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turn_continues_behind_a_proxy_when_replicas_are_killed() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let (one, other) = (fixture.cluster.url(0, ""), fixture.cluster.url(1, ""));
    let proxy_url = proxy::start_on("127.0.0.1", &[&one, &other], |_| ProxyAction::Forward);
    let _runner = fixture.start_runner_at(&proxy_url, &run, &[]);
    let command = fixture.send(&run, "slow").await;
    // The test reads from replica 1, so that it waits for output while both run.
    for (replica, token) in [(0, "tok1 "), (1, "tok8 "), (0, "tok15 ")] {
        fixture.wait_for_output(&run, &command, token).await;
        fixture.cluster.kill_replica(replica);
        fixture.cluster.wait_until_refused(replica).await;
        fixture.cluster.restart_replica(replica).await;
    }
    assert_complete_once(&fixture, &run, &command).await;
}

/// Asserts that the turn ran once and that all its deltas are in the log once and in order.
async fn assert_complete_once(fixture: &RunnerFixture, run: &TestRun, command: &str) {
    let result = fixture.wait_for_result(run, command, Duration::from_secs(40)).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let events = fixture.events(run).await;
    let text: String = events
        .iter()
        .filter(|event| event["type"] == "assistant_delta" && event["payload"]["itemId"] == "answer")
        .filter_map(|event| event["payload"]["text"].as_str())
        .collect();
    let expected: String = (0..40).map(|number| format!("tok{number} ")).collect();
    assert_eq!((&text, &result["reply"]), (&expected, &expected.as_str().into()));
    let ended = events.iter().filter(|event| event["type"] == "terminal_status").count();
    assert_eq!(ended, 1, "{events:#?}");
}
