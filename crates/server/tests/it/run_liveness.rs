//! The liveness of a run: each phase, as the API shows it.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;

/// Returns the phase and the recovery actions of a command, and checks that its run shows the same phase.
async fn phase(cluster: &Cluster, run: &str, command: &str) -> Value {
    let liveness = cluster.get_result(run, command).await["liveness"].clone();
    let of_run = cluster.get_run(run).await["liveness"].clone();
    assert_eq!(liveness["phase"], of_run["phase"], "{liveness}\n{of_run}");
    let actions = liveness["recoveryActions"].as_array().expect("actions");
    let actions: Vec<_> = actions.iter().map(|action| text(action, "action")).collect();
    json!([liveness["phase"], liveness["active"], actions])
}

// covers: R15h, R18
#[tokio::test]
async fn liveness_shows_each_phase_and_its_recovery_actions() {
    let db = TestDb::new().await;
    // A short lease, and a long grace period in which the expired lease is visible.
    let setup = Setup::new(&db).with("runs.lease", "3s").with("runs.lease_grace", "10m");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "go").await;
    let now = async || phase(&cluster, &run, &command).await;
    assert_eq!(now().await, json!(["waiting-runner", false, ["start-runner", "cancel-run"]]));
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(now().await, json!(["waiting-runner", false, ["wait", "cancel-run"]]));
    cluster.first.ack(&claim, &command).await;
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
    for (number, (kind, payload, expected)) in steps.into_iter().enumerate() {
        let event =
            json!({ "id": format!("e{number}"), "type": kind, "commandId": command, "payload": payload });
        let appended = cluster.second.append_events(&claim, json!([event])).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
        assert_eq!(now().await, busy(expected));
    }
    let deadline = Instant::now() + Duration::from_secs(120);
    while cluster.get_run(&run).await["liveness"]["phase"] != "runner-heartbeat-stale" {
        assert!(Instant::now() < deadline, "the lease does not expire: {}", now().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(now().await, json!(["runner-heartbeat-stale", false, ["wait", "cancel-run"]]));
    let heartbeat = cluster.get_result(&run, &command).await["liveness"]["heartbeat"].clone();
    assert_eq!(heartbeat["stale"], true, "{heartbeat}");
    let late = cluster.second.register_runner(&tenant).await;
    cluster.second.try_claim(&tenant, &run, &late).await.assert_failure(409, "runner-lease-conflict");
    // No other runner has claimed the run, so a late request renews the lease.
    cluster
        .first
        .append_events(&claim, json!([{ "id": "back", "type": "note", "commandId": command }]))
        .await;
    assert_eq!(now().await, busy("waiting-model"));
    let done = cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(done.status, 200, "{}", done.text);
    let ended = cluster.get_result(&run, &command).await["liveness"].clone();
    assert_eq!(
        json!([ended["phase"], ended["active"], ended["nextStepAt"]]),
        json!(["terminal", false, null])
    );
    assert_eq!(cluster.get_run(&run).await["liveness"]["phase"], "idle", "the run stays open");
    cluster.first.post_as(&format!("/api/v1/runs/{run}/cancel"), &cluster.operator.token, json!({})).await;
    assert_eq!(
        phase(&cluster, &run, &command).await,
        json!(["terminal", false, ["read-result", "create-run"]])
    );
}

// covers: R18
#[tokio::test]
async fn liveness_says_that_a_person_must_answer_also_when_parked() {
    let fixture = QuestionFixture::new().await;
    let (cluster, run) = (&fixture.cluster, fixture.claim.run.as_str());
    let asked = fixture.create_question("0", "touch a").await;
    assert_eq!(
        phase(cluster, run, &fixture.command).await,
        json!(["waiting-approval", false, ["answer-question", "cancel-command"]])
    );
    let expires_at = fixture.get(&asked).await["expiresAt"].clone();
    assert_eq!(cluster.get_run(run).await["liveness"]["nextStepAt"], expires_at);
    fixture.park(&asked).await;
    let parked = cluster.get_run(run).await["liveness"].clone();
    assert_eq!(parked["phase"], "waiting-approval", "{parked}");
    assert!(text(&parked, "sentence").contains("waits for the answer of a person"), "{parked}");
    assert_eq!(cluster.get_result(run, &fixture.command).await["liveness"]["phase"], "terminal");
    assert_eq!(fixture.vote(&asked, &fixture.ada, "yes").await.0, 200);
    assert_eq!(cluster.get_run(run).await["liveness"]["phase"], "waiting-runner", "the next turn");
}
