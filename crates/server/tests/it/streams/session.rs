//! Following a session over its runs.

use serde_json::{Value, json};

use super::{Stage, data};
use crate::support::people::World;
use crate::support::runs::{ask, said, text};

/// Ends the open run of a session, and makes the next in it.
async fn next_run(world: &World, run: &str, tenant: &str, session: &str) -> String {
    let ended =
        world.other.post_as(&format!("/api/v1/runs/{run}/cancel"), &world.operator.access, json!({})).await;
    assert!(ended.body["endedAt"].is_string(), "{}", ended.text);
    let mut body = ask(tenant);
    body["sessionRef"] = json!({ "sessionId": session });
    let made = world.one.post_as("/api/v1/runs", &world.operator.access, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    text(&made.body, "runId")
}

/// The events of some runs, as a session's stream shows them.
async fn log(world: &World, runs: &[String]) -> Vec<Value> {
    let mut log = Vec::new();
    for (ordinal, run) in (1..).zip(runs) {
        for mut event in world.events(run).await {
            event["runId"] = json!(run);
            event["runOrdinal"] = json!(ordinal);
            log.push(event);
        }
    }
    log
}

/// The behaviour behind `session_events`.
// covers: C4, C9
#[tokio::test]
async fn a_session_is_followed_over_all_its_runs_and_into_those_to_come() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let session = text(&world.show(&stage.run).await, "sessionId");
    let path = format!("/api/v1/sessions/{session}/stream");
    stage.say(&world, &["first"]).await;
    let ended = world.one.finish(&stage.held, &stage.command, json!({ "status": "completed" })).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    let mut runs = vec![stage.run.clone()];
    runs.push(next_run(&world, &stage.run, &stage.yard.tenant, &session).await);

    let history = log(&world, &runs).await;
    let mut live = world.other.events(&path, &world.operator.access, None).await;
    let mut seen = live.facts(history.len()).await;
    assert_eq!(data(&seen), history);
    let replayed = live.frame().await.expect("a frame");
    let last_seq = history.last().expect("events")["seq"].clone();
    assert_eq!(
        json!([
            replayed.kind,
            replayed.data["replayedCount"],
            replayed.data["lastSeq"],
            replayed.data["runOrdinal"]
        ]),
        json!(["replay_complete", history.len(), last_seq, 2]),
    );

    // The third run begins while the stream is open, and says something.
    runs.push(next_run(&world, &runs[1], &stage.yard.tenant, &session).await);
    let command = world.command(&runs[2], "go").await;
    let held = world.one.claim(&stage.yard, &runs[2]).await;
    world.one.ack(&held, &command).await;
    let answer = world.one.append(&held, json!([said("third", &command, "third")])).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let log = log(&world, &runs).await;
    seen.extend(live.facts(log.len() - history.len()).await);
    assert_eq!(data(&seen), log);

    // From any cursor, on any replica, the rest of the log follows: also where it is the last of a run.
    for (after, event) in seen.iter().enumerate().step_by(2) {
        let server = if after % 4 == 0 { &world.one } else { &world.other };
        let mut resumed = server.events(&path, &world.operator.access, event.id.as_deref()).await;
        let rest = resumed.facts(log.len() - after - 1).await;
        assert_eq!(data(&rest), log[after + 1..], "after {:?}", event.id);
    }
}
