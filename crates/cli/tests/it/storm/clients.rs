//! The clients: callers whose runs are served by real runners, and writers of keys.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use guildhall_domain::ids::RunId;
use guildhall_testkit::Rounds;
use reqwest::Method;
use serde_json::json;

use super::checker::RunRecord;
use super::followers::follow_run;
use super::{Storm, StormTenant};
use crate::runner_faults::agent::Agent;

/// Words of an answer; the script backend sends forty a second.
const MAX_WORDS: u64 = 160;

/// Creates runs one after another until stopped, and follows each to its end.
pub(super) async fn call_until_stopped(
    storm: Arc<Storm>,
    tenant: usize,
    mut rounds: Rounds,
) -> Vec<RunRecord> {
    let mut records = Vec::new();
    while !storm.stop.load(Ordering::SeqCst) {
        let words: Vec<String> =
            (0..8 + rounds.random() % MAX_WORDS).map(|word| format!("w{word}")).collect();
        let text = words.join(" ");
        let prompt =
            if storm.tenants[tenant].agent == Agent::Script { format!("echo:{text}") } else { text.clone() };
        let created = create_run(&storm, &storm.tenants[tenant], &prompt, &mut rounds).await;
        let mut record = follow_run(&storm, &storm.tenants[tenant], created).await;
        record.expected_text = Some(format!("Echo: {text}"));
        cancel_run(&storm, &storm.tenants[tenant], record.run).await;
        records.push(record);
        tokio::time::sleep(rounds.random_duration(storm.size.pause)).await;
    }
    records
}

/// A confirmed run with one command.
#[derive(Debug, Clone)]
pub(super) struct CreatedRun {
    pub(super) run: RunId,
    pub(super) command: String,
}

pub(super) async fn create_run(
    storm: &Storm,
    tenant: &StormTenant,
    prompt: &str,
    rounds: &mut Rounds,
) -> CreatedRun {
    let key = format!("{:016x}", rounds.random());
    let body = json!({
        "tenantId": tenant.id, "projectId": "acme/web", "workspaceRef": { "kind": "empty" },
        "providerId": "local", "backendProfile": tenant.agent.profile_name(),
        "executionPolicy": tenant.agent.policy(), "traceSink": null,
    });
    let created = storm.api.create("/api/v1/runs", &tenant.bearer, &key, &body).await;
    let run: RunId = created["runId"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let turn = json!({ "type": "turn", "payload": { "prompt": prompt } });
    let path = format!("/api/v1/runs/{run}/commands");
    let created = storm.api.create(&path, &tenant.bearer, &format!("{key}-turn"), &turn).await;
    CreatedRun { run, command: created["commandId"].as_str().expect("an id").to_owned() }
}

pub(super) async fn cancel_run(storm: &Storm, tenant: &StormTenant, run: RunId) {
    let path = format!("/api/v1/runs/{run}/cancel");
    let (status, response) = storm.api.send(Method::POST, &path, &tenant.bearer, None, &json!({})).await;
    // A run may have ended before.
    assert!(matches!(status, 200 | 202 | 409), "{status} {response}");
}

/// Creates keys until stopped.
pub(super) async fn write_keys(storm: Arc<Storm>, tenant: usize) {
    let tenant = &storm.tenants[tenant];
    let path = format!("/api/v1/tenants/{}/keys", tenant.id);
    for number in 0.. {
        if storm.stop.load(Ordering::SeqCst) {
            break;
        }
        let key = format!("key-{number}");
        let body = json!({ "name": key, "role": "viewer" });
        let created = storm.api.create(&path, &tenant.bearer, &key, &body).await;
        storm.record_key(&created);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
