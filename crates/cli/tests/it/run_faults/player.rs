//! A played runner: claims, takes, reports, finishes or dies; and asks again until somebody answers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_domain::ids::RunId;
use guildhall_testkit::{Rounds, Sighting};
use reqwest::Method;
use serde_json::{Value, json};

use super::{NOTICED_WITHIN, World, sighting};

/// What players have seen and done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) acknowledged: Vec<Sighting>,
    pub(super) runs: usize,
    pub(super) died: usize,
    pub(super) lost: usize,
    pub(super) recovered: usize,
    pub(super) reoffered: usize,
    pub(super) slowest: Duration,
}

impl Tally {
    pub(super) fn and(mut self, other: Self) -> Self {
        self.acknowledged.extend(other.acknowledged);
        self.runs += other.runs;
        self.died += other.died;
        self.lost += other.lost;
        self.recovered += other.recovered;
        self.reoffered += other.reoffered;
        self.slowest = self.slowest.max(other.slowest);
        self
    }
}

struct Hold {
    run: RunId,
    token: String,
    epoch: i64,
    recovered: bool,
}

/// How a runner's time with a run ended.
enum Stint {
    /// The run has ended, or was given back.
    Over,
    /// It gives no sign of life any more.
    Dies,
    /// It was told that the run is not its own any more.
    Lost,
}

/// The last sign of life of a runner, and what was down by then.
struct LastSign {
    at: Instant,
    down: Duration,
}

impl World {
    /// Plays runners, one after another, until told to stop.
    pub(super) async fn play(&self, mut rounds: Rounds) -> Tally {
        let mut tally = Tally::default();
        while !self.stop.load(Ordering::SeqCst) {
            self.one_run(&mut rounds, &mut tally).await;
        }
        tally
    }

    async fn one_run(&self, rounds: &mut Rounds, tally: &mut Tally) {
        let key = format!("{:016x}", rounds.random());
        let made = self.make("/api/v1/runs", &key, &ask(&self.tenant)).await;
        let run: RunId = made["runId"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        self.runs.lock().expect("one holder").push(run);
        tally.runs += 1;
        let mut last_sign: Option<LastSign> = None;
        for stint in 0..3 {
            let path = format!("/api/v1/runs/{run}/commands");
            let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
            let command = self.make(&path, &format!("{key}-{stint}"), &turn).await["commandId"].clone();
            let hold = self.claim(run).await;
            if let Some(sign) = last_sign.take() {
                assert!(hold.recovered, "who followed a lost runner of {run} was not told");
                self.noticed(run, &sign, tally);
                tally.recovered += 1;
            }
            match self.serve(&hold, command.as_str().expect("an id"), rounds, tally).await {
                Stint::Over => return,
                Stint::Dies => tally.died += 1,
                Stint::Lost => tally.lost += 1,
            }
            let sign = LastSign { at: Instant::now(), down: self.fleet.downtime() };
            if self.stop.load(Ordering::SeqCst) || rounds.random().is_multiple_of(2) {
                return self.wait_until_offered(run, &sign, tally).await;
            }
            last_sign = Some(sign);
        }
        if let Some(sign) = last_sign {
            self.wait_until_offered(run, &sign, tally).await;
        }
    }

    /// Claims a run, however long it takes: somebody who is gone may hold it.
    async fn claim(&self, run: RunId) -> Hold {
        let body = json!({ "name": "played", "backendProfiles": ["demo"] });
        let (_, runner) = self.ask(Method::POST, "/api/v1/runners/register", &self.enrolment, &body).await;
        let body = json!({ "runnerId": runner["runnerId"], "wait": true });
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let path = format!("/api/v1/runs/{run}/claim");
            let (status, claimed) = self.ask(Method::POST, &path, &self.enrolment, &body).await;
            if status == 200 {
                return Hold {
                    run,
                    token: claimed["runToken"].as_str().expect("a token").to_owned(),
                    epoch: claimed["epoch"].as_i64().expect("a number"),
                    recovered: !claimed["recoveredFrom"].is_null(),
                };
            }
            assert!(is_conflict(status, &claimed), "{status} {claimed}");
            assert!(Instant::now() < deadline, "{run} is still held: {claimed}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn serve(&self, hold: &Hold, command: &str, rounds: &mut Rounds, tally: &mut Tally) -> Stint {
        let path = format!("/api/v1/commands/{command}/ack");
        let (status, taken) = self.ask(Method::POST, &path, &hold.token, &json!({})).await;
        if is_conflict(status, &taken) {
            return Stint::Lost;
        }
        assert_eq!(status, 200, "{taken}");
        for batch in 0..rounds.random() % 8 {
            if !self.report(hold, command, batch, rounds, tally).await {
                return Stint::Lost;
            }
            tokio::time::sleep(rounds.random_duration(Duration::from_millis(60))).await;
        }
        if rounds.random().is_multiple_of(4) {
            return Stint::Dies;
        }
        let path = format!("/api/v1/commands/{command}/status");
        let done = json!({ "status": "completed" });
        let (status, ended) = self.ask(Method::PATCH, &path, &hold.token, &done).await;
        if is_conflict(status, &ended) {
            return Stint::Lost;
        }
        assert_eq!((status, &ended["status"]), (200, &json!("completed")), "{ended}");
        // An answer that was lost on its way is followed by a conflict: the run is not this runner's any more.
        let run = hold.run;
        let (status, said) = match rounds.random() % 3 {
            0 => {
                let body = json!({ "release": true });
                self.ask(Method::PATCH, &format!("/api/v1/runs/{run}/lease"), &hold.token, &body).await
            }
            1 => self.ask(Method::PATCH, &format!("/api/v1/runs/{run}/status"), &hold.token, &done).await,
            _ => {
                self.ask(Method::POST, &format!("/api/v1/runs/{run}/cancel"), &self.bearer, &json!({})).await
            }
        };
        assert!(status == 200 || is_conflict(status, &said), "{status} {said}");
        Stint::Over
    }

    /// Sends a batch until it is told where it stands, at times once more. Returns whether the run is still its own.
    async fn report(
        &self,
        hold: &Hold,
        command: &str,
        batch: u64,
        rounds: &mut Rounds,
        tally: &mut Tally,
    ) -> bool {
        let own = |number: u64| format!("{}-{batch}-{number}", hold.epoch);
        let event = |number: u64| {
            let payload = json!({ "text": format!("{batch} {number}") });
            json!({ "id": own(number), "type": "assistant_message", "commandId": command, "payload": payload })
        };
        let body = json!({ "events": (0..1 + rounds.random() % 20).map(event).collect::<Vec<_>>() });
        let path = format!("/api/v1/runs/{}/events", hold.run);
        let mut told = None;
        for _ in 0..1 + rounds.random() % 2 {
            let (status, placed) = self.ask(Method::POST, &path, &hold.token, &body).await;
            if is_conflict(status, &placed) {
                return false;
            }
            assert_eq!(status, 200, "{placed}");
            let seen = placed["events"].as_array().expect("events").iter();
            let seen: Vec<_> =
                seen.map(|event| sighting(hold.run, event["seq"].as_i64(), event["id"].as_str())).collect();
            assert!(told.is_none_or(|told: Vec<Sighting>| told == seen), "a repeat was told another number");
            tally.acknowledged.extend(&seen);
            told = Some(seen);
        }
        true
    }

    /// Waits until a run that lost its runner has none.
    async fn wait_until_offered(&self, run: RunId, sign: &LastSign, tally: &mut Tally) {
        loop {
            let path = format!("/api/v1/runs/{run}");
            let (status, shown) = self.ask(Method::GET, &path, &self.bearer, &Value::Null).await;
            assert_eq!(status, 200, "{shown}");
            self.noticed(run, sign, tally);
            if shown["lease"].is_null() {
                tally.reoffered += 1;
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Checks that a lost runner was noticed, or may still be, in time: what was down does not count.
    fn noticed(&self, run: RunId, sign: &LastSign, tally: &mut Tally) {
        let down = self.fleet.downtime().saturating_sub(sign.down);
        let took = sign.at.elapsed().saturating_sub(down);
        assert!(took < NOTICED_WITHIN, "{run} was held {took:?} after its runner's last sign of life");
        tally.slowest = tally.slowest.max(took);
    }

    /// Asks one replica after the other until one of them answers.
    async fn ask(&self, method: Method, path: &str, bearer: &str, body: &Value) -> (u16, Value) {
        let deadline = Instant::now() + Duration::from_secs(60);
        for replica in 0.. {
            let mut request = self.fleet.request(replica, method.clone(), path, bearer);
            if !body.is_null() {
                request = request.json(body);
            }
            if let Ok(answer) = request.send().await
                && let status = answer.status().as_u16()
                && status < 500
                && let Ok(body) = answer.json().await
            {
                return (status, body);
            }
            assert!(Instant::now() < deadline, "nobody answers {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("the loop ends by itself")
    }

    /// Makes something under a key, on one replica after the other, until one of them says that it is made.
    async fn make(&self, path: &str, key: &str, body: &Value) -> Value {
        let deadline = Instant::now() + Duration::from_secs(60);
        for replica in 0.. {
            if let Some(made) = self.fleet.make(replica, path, &self.bearer, key, body).await {
                return made;
            }
            assert!(Instant::now() < deadline, "nobody makes {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("the loop ends by itself")
    }
}

fn is_conflict(status: u16, body: &Value) -> bool {
    status == 409 && body["failureKind"] == "runner-lease-conflict"
}

/// The smallest run that can be asked for.
fn ask(tenant: &str) -> Value {
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
