//! The metrics of runs and runners, on two replicas of one process: they share their metrics.

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::TestServer;
use crate::support::cluster::Cluster;
use crate::support::runs::{assistant_message, command_event};

/// Returns the samples without buckets, by name and labels.
async fn samples(server: &TestServer) -> BTreeMap<String, f64> {
    let text = server.get("/metrics").await.text;
    let lines = text.lines().filter(|line| line.starts_with("guildhall_") && !line.contains("_bucket"));
    let samples = lines.filter_map(|line| line.rsplit_once(' '));
    samples.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

#[tokio::test]
async fn each_event_and_command_is_counted_once() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let waiting = cluster.create_run(&tenant).await;
    cluster.send_turn(&waiting, "later").await;
    let path = format!("/api/v1/runs/{}/events/stream", claim.run);
    let mut watchers = Vec::new();
    for server in [&cluster.first, &cluster.second] {
        watchers.push(server.open_stream(&path, &cluster.operator.token, None).await);
    }
    let tool = |id: &str, status: &str| {
        command_event(
            id,
            "tool_call",
            &command,
            json!({ "callId": "a", "toolName": "shell", "status": status }),
        )
    };
    let usage = json!({ "inputTokens": 1200, "outputTokens": 34 });
    let events = json!([
        tool("e1", "started"),
        tool("e2", "completed"),
        command_event("e3", "usage", &command, usage),
        assistant_message("e4", &command, "done"),
    ]);
    for server in [&cluster.first, &cluster.second] {
        assert_eq!(server.append_events(&claim, events.clone()).await.status, 200, "the second is a retry");
    }
    cluster.first.poll(&claim, 1, 10).await;
    let ended = cluster.second.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(ended.status, 200, "{}", ended.text);

    let samples = samples(&cluster.first).await;
    let expected = [
        ("guildhall_commands_total{outcome=\"completed\"}", 1.0),
        ("guildhall_command_seconds_count", 1.0),
        ("guildhall_first_token_seconds_count", 1.0),
        ("guildhall_model_tokens_total{direction=\"input\"}", 1200.0),
        ("guildhall_model_tokens_total{direction=\"output\"}", 34.0),
        ("guildhall_tool_calls_total", 1.0),
        ("guildhall_runs_waiting", 1.0),
        ("guildhall_runners{state=\"busy\"}", 1.0),
        ("guildhall_runners{state=\"idle\"}", 0.0),
        ("guildhall_runners{state=\"draining\"}", 0.0),
        ("guildhall_readiness{status=\"ready\"}", 1.0),
        ("guildhall_readiness{status=\"unready\"}", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(samples.get(name), Some(&value), "{name} in {samples:#?}");
    }
    let has = |name: &str, route: &str| samples.keys().any(|it| it.starts_with(name) && it.contains(route));
    for route in ["/api/v1/runs/{run}/commands\"", "/events/stream", "/claim"] {
        assert!(has("guildhall_http_long_requests_total", route), "{route}");
    }
    assert!(!has("guildhall_http_request_seconds", "/events/stream"), "{samples:#?}");
    assert!(!has("guildhall_http_request_seconds", "/claim"), "{samples:#?}");
}

#[tokio::test]
async fn every_metric_has_the_help_line_of_the_documentation() {
    let cluster = Cluster::new().await;
    let documentation = include_str!("../../../../docs/reference/metrics.md");
    let text = cluster.first.get("/metrics").await.text;
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE guildhall_")) {
        let (name, _type) = line.split_once(' ').expect("a type");
        let help = format!("# HELP guildhall_{name} ");
        let meaning = text.lines().find_map(|line| line.strip_prefix(help.as_str()));
        let meaning = meaning.unwrap_or_else(|| panic!("guildhall_{name} has no help"));
        let row = documentation.lines().find(|row| row.starts_with(&format!("| `guildhall_{name}` |")));
        let row = row.unwrap_or_else(|| panic!("guildhall_{name} is not documented"));
        assert!(row.ends_with(&format!("| {meaning} |")), "{row}: {meaning}");
        count += 1;
    }
    assert!(count > 10, "{text}");
}
