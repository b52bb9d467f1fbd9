//! A simulated runner: claims runs, acknowledges commands, sends events, finishes or dies. It retries every request.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_domain::ids::RunId;
use guildhall_testkit::{EntryPosition, Rounds};
use reqwest::Method;
use serde_json::{Value, json};

use super::{DETECTION_TIMEOUT, RunFixture};
use crate::support::run_events::runner_event;

/// Statistics of the simulated runners.
#[derive(Debug, Default)]
pub(super) struct RunnerStats {
    pub(super) acknowledged: Vec<EntryPosition>,
    pub(super) runs: usize,
    pub(super) died: usize,
    pub(super) lost: usize,
    pub(super) recovered: usize,
    pub(super) released: usize,
    pub(super) slowest_detection: Duration,
}

impl RunnerStats {
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.acknowledged.extend(other.acknowledged);
        self.runs += other.runs;
        self.died += other.died;
        self.lost += other.lost;
        self.recovered += other.recovered;
        self.released += other.released;
        self.slowest_detection = self.slowest_detection.max(other.slowest_detection);
        self
    }
}

struct ClaimedRun {
    run: RunId,
    token: String,
    epoch: i64,
    recovered: bool,
}

/// How a runner stopped serving a run.
enum ServeOutcome {
    /// The run has ended or was released.
    Finished,
    /// The runner stopped sending heartbeats.
    Died,
    /// The server reported that the lease is lost.
    LeaseLost,
}

/// The last heartbeat of a runner, with the total downtime at that time.
struct LastHeartbeat {
    at: Instant,
    downtime: Duration,
}

impl RunFixture {
    /// Simulates runners one after another until `stop` is set.
    pub(super) async fn simulate_runners(&self, mut rounds: Rounds) -> RunnerStats {
        let mut stats = RunnerStats::default();
        while !self.stop.load(Ordering::SeqCst) {
            self.simulate_run(&mut rounds, &mut stats).await;
        }
        stats
    }

    async fn simulate_run(&self, rounds: &mut Rounds, stats: &mut RunnerStats) {
        let key = format!("{:016x}", rounds.random());
        let created = self.create("/api/v1/runs", &key, &create_run_body(&self.tenant)).await;
        let run: RunId = created["runId"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        self.runs.lock().expect("the lock is not poisoned").push(run);
        stats.runs += 1;
        let mut last_heartbeat: Option<LastHeartbeat> = None;
        for attempt in 0..3 {
            let path = format!("/api/v1/runs/{run}/commands");
            let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
            let command = self.create(&path, &format!("{key}-{attempt}"), &turn).await["commandId"].clone();
            let claimed_run = self.claim(run).await;
            if let Some(heartbeat) = last_heartbeat.take() {
                assert!(
                    claimed_run.recovered,
                    "the claim of {run} after a lost runner does not report the recovery"
                );
                self.check_detection_time(run, &heartbeat, stats);
                stats.recovered += 1;
            }
            match self.serve_run(&claimed_run, command.as_str().expect("an id"), rounds, stats).await {
                ServeOutcome::Finished => return,
                ServeOutcome::Died => stats.died += 1,
                ServeOutcome::LeaseLost => stats.lost += 1,
            }
            let heartbeat = LastHeartbeat { at: Instant::now(), downtime: self.cluster.downtime() };
            if self.stop.load(Ordering::SeqCst) || rounds.random().is_multiple_of(2) {
                return self.wait_until_released(run, &heartbeat, stats).await;
            }
            last_heartbeat = Some(heartbeat);
        }
        if let Some(heartbeat) = last_heartbeat {
            self.wait_until_released(run, &heartbeat, stats).await;
        }
    }

    /// Claims a run. Retries while a dead runner still holds the lease.
    async fn claim(&self, run: RunId) -> ClaimedRun {
        let body = json!({ "name": "simulated", "backendProfiles": ["demo"] });
        let (_, runner) =
            self.request(Method::POST, "/api/v1/runners/register", &self.enrolment, &body).await;
        let body = json!({ "runnerId": runner["runnerId"], "wait": true });
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let path = format!("/api/v1/runs/{run}/claim");
            let (status, claimed) = self.request(Method::POST, &path, &self.enrolment, &body).await;
            if status == 200 {
                return ClaimedRun {
                    run,
                    token: claimed["runToken"].as_str().expect("a token").to_owned(),
                    epoch: claimed["epoch"].as_i64().expect("a number"),
                    recovered: !claimed["recoveredFrom"].is_null(),
                };
            }
            assert!(is_conflict(status, &claimed), "{status} {claimed}");
            assert!(Instant::now() < deadline, "{run} is still leased: {claimed}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn serve_run(
        &self,
        claimed_run: &ClaimedRun,
        command: &str,
        rounds: &mut Rounds,
        stats: &mut RunnerStats,
    ) -> ServeOutcome {
        let path = format!("/api/v1/commands/{command}/ack");
        let (status, response) = self.request(Method::POST, &path, &claimed_run.token, &json!({})).await;
        if is_conflict(status, &response) {
            return ServeOutcome::LeaseLost;
        }
        assert_eq!(status, 200, "{response}");
        for batch in 0..rounds.random() % 8 {
            if !self.send_events(claimed_run, command, batch, rounds, stats).await {
                return ServeOutcome::LeaseLost;
            }
            tokio::time::sleep(rounds.random_duration(Duration::from_millis(60))).await;
        }
        if rounds.random().is_multiple_of(4) {
            return ServeOutcome::Died;
        }
        let path = format!("/api/v1/commands/{command}/status");
        let done = json!({ "status": "completed" });
        let (status, response) = self.request(Method::PATCH, &path, &claimed_run.token, &done).await;
        if is_conflict(status, &response) {
            return ServeOutcome::LeaseLost;
        }
        assert_eq!((status, &response["status"]), (200, &json!("completed")), "{response}");
        // If the response to an accepted request was lost, the retry gets a conflict: the lease is gone.
        let run = claimed_run.run;
        let (status, response) = match rounds.random() % 3 {
            0 => {
                let body = json!({ "release": true });
                self.request(Method::PATCH, &format!("/api/v1/runs/{run}/lease"), &claimed_run.token, &body)
                    .await
            }
            1 => {
                self.request(Method::PATCH, &format!("/api/v1/runs/{run}/status"), &claimed_run.token, &done)
                    .await
            }
            _ => {
                self.request(Method::POST, &format!("/api/v1/runs/{run}/cancel"), &self.bearer, &json!({}))
                    .await
            }
        };
        assert!(status == 200 || is_conflict(status, &response), "{status} {response}");
        ServeOutcome::Finished
    }

    /// Sends a batch until it is confirmed, sometimes twice. Returns whether the runner still has the lease.
    async fn send_events(
        &self,
        claimed_run: &ClaimedRun,
        command: &str,
        batch: u64,
        rounds: &mut Rounds,
        stats: &mut RunnerStats,
    ) -> bool {
        let event_id = |number: u64| format!("{}-{batch}-{number}", claimed_run.epoch);
        let event = |number: u64| {
            let payload = json!({ "text": format!("{batch} {number}") });
            json!({ "id": event_id(number), "type": "assistant_message", "commandId": command, "payload": payload })
        };
        let body = json!({ "events": (0..1 + rounds.random() % 20).map(event).collect::<Vec<_>>() });
        let path = format!("/api/v1/runs/{}/events", claimed_run.run);
        let mut confirmed = None;
        for _ in 0..1 + rounds.random() % 2 {
            let (status, response) = self.request(Method::POST, &path, &claimed_run.token, &body).await;
            if is_conflict(status, &response) {
                return false;
            }
            assert_eq!(status, 200, "{response}");
            let positions = response["events"].as_array().expect("events").iter();
            let positions: Vec<_> = positions
                .map(|event| runner_event(claimed_run.run, event["seq"].as_i64(), event["id"].as_str()))
                .collect();
            assert!(
                confirmed.is_none_or(|confirmed: Vec<EntryPosition>| confirmed == positions),
                "a repeated batch got different sequence numbers"
            );
            stats.acknowledged.extend(&positions);
            confirmed = Some(positions);
        }
        true
    }

    /// Waits until a run that lost its runner has no lease.
    async fn wait_until_released(&self, run: RunId, heartbeat: &LastHeartbeat, stats: &mut RunnerStats) {
        loop {
            let path = format!("/api/v1/runs/{run}");
            let (status, run_view) = self.request(Method::GET, &path, &self.bearer, &Value::Null).await;
            assert_eq!(status, 200, "{run_view}");
            self.check_detection_time(run, heartbeat, stats);
            if run_view["lease"].is_null() {
                stats.released += 1;
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Asserts that the detection bound is not exceeded, not counting downtime.
    fn check_detection_time(&self, run: RunId, heartbeat: &LastHeartbeat, stats: &mut RunnerStats) {
        let downtime = self.cluster.downtime().saturating_sub(heartbeat.downtime);
        let elapsed = heartbeat.at.elapsed().saturating_sub(downtime);
        assert!(
            elapsed < DETECTION_TIMEOUT,
            "{run} was leased {elapsed:?} after its runner's last heartbeat"
        );
        stats.slowest_detection = stats.slowest_detection.max(elapsed);
    }

    /// Sends a request to the replicas in turn until one responds.
    async fn request(&self, method: Method, path: &str, bearer: &str, body: &Value) -> (u16, Value) {
        let deadline = Instant::now() + Duration::from_secs(120);
        for replica in 0.. {
            let mut request = self.cluster.request(replica, method.clone(), path, bearer);
            if !body.is_null() {
                request = request.json(body);
            }
            if let Ok(response) = request.send().await
                && let status = response.status().as_u16()
                && status < 500
                && let Ok(body) = response.json().await
            {
                return (status, body);
            }
            self.cluster.record_failed_request();
            assert!(Instant::now() < deadline, "no response to {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("the loop has no end")
    }

    /// Creates a resource with an idempotency key on the replicas in turn until one confirms it.
    async fn create(&self, path: &str, key: &str, body: &Value) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        for replica in 0.. {
            if let Some(created) = self.cluster.create(replica, path, &self.bearer, key, body).await {
                return created;
            }
            assert!(Instant::now() < deadline, "no replica created {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("the loop has no end")
    }
}

fn is_conflict(status: u16, body: &Value) -> bool {
    status == 409 && body["failureKind"] == "runner-lease-conflict"
}

/// The smallest valid request body for a run.
fn create_run_body(tenant: &str) -> Value {
    json!({
        "tenantId": tenant,
        "projectId": "acme/web",
        "workspaceRef": { "kind": "empty" },
        "providerId": "local",
        "backendProfile": "demo",
        "executionPolicy": { "sandbox": "read-only" },
        "traceSink": null,
    })
}
