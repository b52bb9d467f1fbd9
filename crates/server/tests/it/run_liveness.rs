//! What a run waits for: each phase, as a reader sees it over HTTP.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::people::World;
use crate::support::runs::text;

/// Reads phase and actions of a command, and checks that the run says the same.
async fn phase(world: &World, run: &str, command: &str) -> Value {
    let liveness = world.result(run, command).await["liveness"].clone();
    let shown = world.show(run).await["liveness"].clone();
    assert_eq!(liveness["phase"], shown["phase"], "{liveness}\n{shown}");
    let actions = liveness["recoveryActions"].as_array().expect("actions");
    let actions: Vec<_> = actions.iter().map(|action| text(action, "action")).collect();
    json!([liveness["phase"], liveness["active"], actions])
}

// covers: R15h, R18
#[tokio::test]
async fn each_phase_is_reached_and_says_what_can_be_done() {
    let db = TestDb::new().await;
    // A lease that ends soon, and a grace in which everyone can see that it did.
    let setup = Setup::on(&db).with("runs.lease", "3s").with("runs.lease_grace", "10m");
    let world = World::on(setup, db).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "go").await;
    let now = async || phase(&world, &run, &command).await;
    assert_eq!(now().await, json!(["waiting-runner", false, ["start-runner", "cancel-run"]]));
    let held = world.one.claim(&yard, &run).await;
    assert_eq!(now().await, json!(["waiting-runner", false, ["wait", "cancel-run"]]));
    world.one.ack(&held, &command).await;
    let busy = |phase: &str| json!([phase, true, ["wait", "cancel-command"]]);
    assert_eq!(now().await, busy("waiting-model"));
    let steps = [
        ("tool_call", json!({ "callId": "a", "status": "started" }), "waiting-tool"),
        ("command_output", json!({ "text": "..." }), "waiting-tool"),
        ("tool_call", json!({ "callId": "a", "status": "completed", "exitCode": 0 }), "idle-after-tool"),
        ("backend_status", json!({ "phase": "transport-disconnected" }), "transport-disconnected"),
        ("backend_status", json!({ "phase": "transport-connected" }), "idle-after-tool"),
        ("assistant_message", json!({ "text": "so far" }), "waiting-model"),
    ];
    for (number, (kind, payload, wanted)) in steps.into_iter().enumerate() {
        let event =
            json!({ "id": format!("e{number}"), "type": kind, "commandId": command, "payload": payload });
        let appended = world.other.append(&held, json!([event])).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
        assert_eq!(now().await, busy(wanted));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while world.show(&run).await["liveness"]["phase"] != "runner-heartbeat-stale" {
        assert!(Instant::now() < deadline, "the lease does not end: {}", now().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(now().await, json!(["runner-heartbeat-stale", false, ["wait", "cancel-run"]]));
    let late = world.other.register(&yard).await;
    world.other.try_claim(&yard, &run, &late).await.assert_failure(409, "runner-lease-conflict");
    // Late, and nobody has taken the run: a sign of life is one.
    world.one.append(&held, json!([{ "id": "back", "type": "note", "commandId": command }])).await;
    assert_eq!(now().await, busy("waiting-model"));
    let done = world.one.finish(&held, &command, json!({ "status": "completed" })).await;
    assert_eq!(done.status, 200, "{}", done.text);
    let ended = world.result(&run, &command).await["liveness"].clone();
    assert_eq!(
        json!([ended["phase"], ended["active"], ended["nextStepAt"]]),
        json!(["terminal", false, null])
    );
    assert_eq!(world.show(&run).await["liveness"]["phase"], "idle", "the run goes on");
    world.one.post_as(&format!("/api/v1/runs/{run}/cancel"), &world.operator.access, json!({})).await;
    assert_eq!(
        phase(&world, &run, &command).await,
        json!(["terminal", false, ["read-result", "create-run"]])
    );
}
