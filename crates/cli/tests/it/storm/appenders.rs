//! Simulated runners that know which of their events were confirmed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_testkit::{EntryPosition, Rounds};
use reqwest::Method;
use serde_json::{Value, json};

use super::checker::RunRecord;
use super::clients::{CreatedRun, cancel_run, create_run};
use super::followers::follow_run;
use super::{Storm, StormTenant};
use crate::support::run_events::runner_event;

/// Serves its own runs one after another until stopped.
pub(super) async fn append_until_stopped(
    storm: Arc<Storm>,
    tenant: usize,
    mut rounds: Rounds,
) -> Vec<RunRecord> {
    let body = json!({ "name": "simulated", "backendProfiles": ["demo"] });
    let enrolment = &storm.tenants[tenant].enrolment;
    let (_, runner) = storm.api.send(Method::POST, "/api/v1/runners/register", enrolment, None, &body).await;
    let mut records = Vec::new();
    while !storm.stop.load(Ordering::SeqCst) {
        let created = create_run(&storm, &storm.tenants[tenant], "go", &mut rounds).await;
        let following = {
            let (storm, created) = (Arc::clone(&storm), created.clone());
            guildhall_testkit::spawn_task(
                async move { follow_run(&storm, &storm.tenants[tenant], created).await },
            )
        };
        let appender = Appender { storm: &storm, tenant: &storm.tenants[tenant], created: &created };
        let acknowledged = appender.serve(&runner["runnerId"], &mut rounds).await;
        // Also ends a command whose lease was lost before it was acknowledged.
        cancel_run(&storm, &storm.tenants[tenant], created.run).await;
        let mut record = following.await.expect("the follower does not panic");
        record.acknowledged = acknowledged;
        records.push(record);
    }
    records
}

struct Appender<'a> {
    storm: &'a Storm,
    tenant: &'a StormTenant,
    created: &'a CreatedRun,
}

impl Appender<'_> {
    /// Claims the run, sends batches of events, and ends the command. Returns the confirmed events.
    async fn serve(&self, runner: &Value, rounds: &mut Rounds) -> Vec<EntryPosition> {
        let mut acknowledged = Vec::new();
        let Some((token, epoch)) = self.claim(runner).await else { return acknowledged };
        let CreatedRun { run, command } = self.created;
        let path = format!("/api/v1/commands/{command}/ack");
        if !self.send(Method::POST, &path, &token, &json!({})).await.0 {
            return acknowledged;
        }
        for batch in 0..4 + rounds.random() % 30 {
            let event = |number: u64| {
                let payload = json!({ "text": format!("{batch} {number}") });
                json!({ "id": format!("{epoch}-{batch}-{number}"), "type": "assistant_message", "commandId": command,
                        "payload": payload })
            };
            let body = json!({ "events": (0..1 + rounds.random() % 20).map(event).collect::<Vec<_>>() });
            let (is_held, response) =
                self.send(Method::POST, &format!("/api/v1/runs/{run}/events"), &token, &body).await;
            if !is_held {
                return acknowledged;
            }
            let events = response["events"].as_array().expect("events").iter();
            acknowledged
                .extend(events.map(|event| runner_event(*run, event["seq"].as_i64(), event["id"].as_str())));
            tokio::time::sleep(rounds.random_duration(Duration::from_millis(200))).await;
        }
        let path = format!("/api/v1/commands/{command}/status");
        self.send(Method::PATCH, &path, &token, &json!({ "status": "completed" })).await;
        acknowledged
    }

    /// Claims the run. The lease of a claim whose response was lost must expire first.
    async fn claim(&self, runner: &Value) -> Option<(String, i64)> {
        let path = format!("/api/v1/runs/{}/claim", self.created.run);
        let body = json!({ "runnerId": runner, "wait": true });
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            let (is_held, claimed) = self.send(Method::POST, &path, &self.tenant.enrolment, &body).await;
            if is_held {
                let token = claimed["runToken"].as_str().expect("a token").to_owned();
                return Some((token, claimed["epoch"].as_i64().expect("a number")));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }

    /// Sends a request of a runner. Returns whether it has the lease, and the response.
    async fn send(&self, method: Method, path: &str, bearer: &str, body: &Value) -> (bool, Value) {
        let (status, response) = self.storm.api.send(method, path, bearer, None, body).await;
        // A token that a replica with a wrong clock issued is refused by all; the runner gives the run up.
        let is_refused = status == 401;
        if is_refused || (status == 409 && response["failureKind"] == "runner-lease-conflict") {
            return (false, response);
        }
        assert_eq!(status, 200, "{path}: {response}");
        (true, response)
    }
}
