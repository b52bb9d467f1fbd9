//! The event stream of a session.

use serde_json::{Value, json};

use super::{StreamFixture, data};
use crate::support::cluster::Cluster;
use crate::support::runs::{assistant_message, run_request, text};

/// Cancels the open run of a session and creates the next one.
async fn create_next_run(cluster: &Cluster, run: &str, tenant: &str, session: &str) -> String {
    let ended = cluster
        .second
        .post_as(&format!("/api/v1/runs/{run}/cancel"), &cluster.operator.token, json!({}))
        .await;
    assert!(ended.body["endedAt"].is_string(), "{}", ended.text);
    let mut body = run_request(tenant);
    body["sessionRef"] = json!({ "sessionId": session });
    let created = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    text(&created.body, "runId")
}

/// Returns the events of runs in the format of a session stream.
async fn session_log(cluster: &Cluster, runs: &[String]) -> Vec<Value> {
    let mut log = Vec::new();
    for (ordinal, run) in (1..).zip(runs) {
        for mut event in cluster.list_events(run).await {
            event["runId"] = json!(run);
            event["runOrdinal"] = json!(ordinal);
            log.push(event);
        }
    }
    log
}

#[tokio::test]
async fn session_stream_covers_past_and_future_runs() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let session = text(&cluster.get_run(&fixture.run).await, "sessionId");
    let path = format!("/api/v1/sessions/{session}/stream");
    fixture.append_messages(&cluster, &["first"]).await;
    let ended =
        cluster.first.finish(&fixture.claim, &fixture.command, json!({ "status": "completed" })).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    let mut runs = vec![fixture.run.clone()];
    runs.push(create_next_run(&cluster, &fixture.run, &fixture.tenant.id, &session).await);

    let history = session_log(&cluster, &runs).await;
    let mut live = cluster.second.open_stream(&path, &cluster.operator.token, None).await;
    let mut received = live.next_events(history.len()).await;
    assert_eq!(data(&received), history);
    let replayed = live.next_frame().await.expect("a frame");
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

    // The third run is created while the stream is open.
    runs.push(create_next_run(&cluster, &runs[1], &fixture.tenant.id, &session).await);
    let command = cluster.send_turn(&runs[2], "go").await;
    let claim = cluster.first.claim(&fixture.tenant, &runs[2]).await;
    cluster.first.ack(&claim, &command).await;
    let response =
        cluster.first.append_events(&claim, json!([assistant_message("third", &command, "third")])).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let log = session_log(&cluster, &runs).await;
    received.extend(live.next_events(log.len() - history.len()).await);
    assert_eq!(data(&received), log);

    // Every cursor resumes with the rest of the log on both replicas, also a cursor at the end of a run.
    for (after, event) in received.iter().enumerate().step_by(2) {
        let server = if after % 4 == 0 { &cluster.first } else { &cluster.second };
        let mut resumed = server.open_stream(&path, &cluster.operator.token, event.id.as_deref()).await;
        let rest = resumed.next_events(log.len() - after - 1).await;
        assert_eq!(data(&rest), log[after + 1..], "after {:?}", event.id);
    }
}
