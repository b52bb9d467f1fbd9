//! Runs, and a runner that is played by the test.

use reqwest::Method;
use serde_json::{Value, json};

use super::people::World;
use super::{Answer, TestServer};

/// A tenant in which runs are made, and the token with which runners come.
pub(crate) struct Yard {
    pub(crate) tenant: String,
    pub(crate) enrolment: String,
}

/// A runner that has claimed a run.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) run: String,
    pub(crate) runner: String,
    pub(crate) token: String,
}

impl World {
    pub(crate) async fn yard(&self, slug: &str) -> Yard {
        let tenant = self.tenant(slug).await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let answer = self.one.post_as(&path, &self.operator.access, json!({ "name": "test" })).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        Yard { tenant, enrolment: answer.body["secret"].as_str().expect("a secret").to_owned() }
    }

    /// Makes a run of the demo profile, and returns its id.
    pub(crate) async fn run(&self, yard: &Yard) -> String {
        let answer = self.one.post_as("/api/v1/runs", &self.operator.access, ask(&yard.tenant)).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        text(&answer.body, "runId")
    }

    pub(crate) async fn command(&self, run: &str, words: &str) -> String {
        let answer = self.send(run, "turn", words).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        text(&answer.body, "commandId")
    }

    pub(crate) async fn send(&self, run: &str, kind: &str, words: &str) -> Answer {
        let body = json!({ "type": kind, "payload": { "prompt": words } });
        self.other.post_as(&format!("/api/v1/runs/{run}/commands"), &self.operator.access, body).await
    }

    pub(crate) async fn result(&self, run: &str, command: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/commands/{command}/result");
        let answer = self.other.get_as(&path, &self.operator.access).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body
    }

    pub(crate) async fn show(&self, run: &str) -> Value {
        let answer = self.other.get_as(&format!("/api/v1/runs/{run}"), &self.operator.access).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body
    }

    /// Reads all events of a run, page by page.
    pub(crate) async fn events(&self, run: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=7");
            let page = self.other.get_as(&path, &self.operator.access).await;
            assert_eq!(page.status, 200, "{}", page.text);
            events.extend(page.body["events"].as_array().expect("events").iter().cloned());
            after = page.body["nextAfterSeq"].as_i64().expect("a number");
            if page.body["hasMore"] == false {
                return events;
            }
        }
    }
}

impl TestServer {
    pub(crate) async fn register(&self, yard: &Yard) -> String {
        let body = json!({ "name": "played", "backendProfiles": ["demo"] });
        let answer = self.post_as("/api/v1/runners/register", &yard.enrolment, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        text(&answer.body, "runnerId")
    }

    pub(crate) async fn try_claim(&self, yard: &Yard, run: &str, runner: &str) -> Answer {
        let body = json!({ "runnerId": runner, "wait": true });
        self.post_as(&format!("/api/v1/runs/{run}/claim"), &yard.enrolment, body).await
    }

    pub(crate) async fn claim(&self, yard: &Yard, run: &str) -> Held {
        let runner = self.register(yard).await;
        let answer = self.try_claim(yard, run, &runner).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        held(run, &runner, &answer)
    }

    pub(crate) async fn append(&self, held: &Held, events: Value) -> Answer {
        let path = format!("/api/v1/runs/{}/events", held.run);
        self.post_as(&path, &held.token, json!({ "events": events })).await
    }

    pub(crate) async fn ack(&self, held: &Held, command: &str) -> Answer {
        self.post_as(&format!("/api/v1/commands/{command}/ack"), &held.token, json!({})).await
    }

    pub(crate) async fn finish(&self, held: &Held, command: &str, body: Value) -> Answer {
        self.ask(Method::PATCH, &format!("/api/v1/commands/{command}/status"), &held.token, Some(body)).await
    }

    pub(crate) async fn poll(&self, held: &Held, after: i64, wait_ms: u64) -> Answer {
        let path = format!("/api/v1/runs/{}/commands?afterSeq={after}&wait={wait_ms}", held.run);
        self.get_as(&path, &held.token).await
    }
}

pub(crate) fn held(run: &str, runner: &str, claimed: &Answer) -> Held {
    Held { run: run.to_owned(), runner: runner.to_owned(), token: text(&claimed.body, "runToken") }
}

/// The smallest run that can be asked for.
pub(crate) fn ask(tenant: &str) -> Value {
    json!({
        "tenantId": tenant,
        "projectId": "acme/web",
        "workspaceRef": { "kind": "empty" },
        "providerId": "local",
        "backendProfile": "demo",
        "executionPolicy": { "sandbox": "read-only", "timeoutMs": 60000 },
        "traceSink": null,
    })
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

pub(crate) fn said(id: &str, command: &str, words: &str) -> Value {
    json!({ "id": id, "type": "assistant_message", "commandId": command, "payload": { "text": words } })
}
