//! Runs, and requests that a test sends in place of a runner.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::{TestResponse, TestServer};

/// A tenant and an enrolment token for its runners.
pub(crate) struct TestTenant {
    pub(crate) id: String,
    pub(crate) enrolment: String,
}

/// A run that a runner has claimed, and the token of the claim.
#[derive(Debug, Clone)]
pub(crate) struct RunClaim {
    pub(crate) run: String,
    pub(crate) runner: String,
    pub(crate) token: String,
}

impl Cluster {
    pub(crate) async fn create_test_tenant(&self, slug: &str) -> TestTenant {
        let tenant = self.create_tenant(slug).await;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let response = self.first.post_as(&path, &self.operator.token, json!({ "name": "test" })).await;
        assert_eq!(response.status, 201, "{}", response.text);
        TestTenant { id: tenant, enrolment: response.body["secret"].as_str().expect("a secret").to_owned() }
    }

    /// Creates a run of the demo profile, and returns its id.
    pub(crate) async fn create_run(&self, tenant: &TestTenant) -> String {
        let response =
            self.first.post_as("/api/v1/runs", &self.operator.token, run_request(&tenant.id)).await;
        assert_eq!(response.status, 201, "{}", response.text);
        text(&response.body, "runId")
    }

    /// Creates a run with one command that a runner has started.
    pub(crate) async fn start_command(&self, tenant: &TestTenant) -> (RunClaim, String) {
        let run = self.create_run(tenant).await;
        let command = self.send_turn(&run, "go").await;
        let claim = self.first.claim(tenant, &run).await;
        assert_eq!(self.first.ack(&claim, &command).await.status, 200);
        (claim, command)
    }

    pub(crate) async fn send_turn(&self, run: &str, prompt: &str) -> String {
        let response = self.send_command(run, "turn", prompt).await;
        assert_eq!(response.status, 201, "{}", response.text);
        text(&response.body, "commandId")
    }

    pub(crate) async fn send_command(&self, run: &str, kind: &str, prompt: &str) -> TestResponse {
        let body = json!({ "type": kind, "payload": { "prompt": prompt } });
        self.second.post_as(&format!("/api/v1/runs/{run}/commands"), &self.operator.token, body).await
    }

    pub(crate) async fn get_result(&self, run: &str, command: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/commands/{command}/result");
        let response = self.second.get_as(&path, &self.operator.token).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body
    }

    pub(crate) async fn get_run(&self, run: &str) -> Value {
        let response = self.second.get_as(&format!("/api/v1/runs/{run}"), &self.operator.token).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body
    }

    /// Asks a question in place of an agent, answers it and remembers the answer. Returns the id of the rule.
    pub(crate) async fn create_approval_rule(&self, claim: &RunClaim, command: &str) -> String {
        let approval = self.first.ask(claim, command, "remembered", command_question("remembered")).await;
        let path = format!("/api/v1/approvals/{approval}");
        let found = self.first.get_as(&path, &self.operator.token).await.body;
        let body = json!({ "optionId": "yes", "shownDigest": found["shownDigest"], "remember": "session" });
        let voted = self.first.post_as(&format!("{path}/votes"), &self.operator.token, body).await;
        assert_eq!(voted.status, 200, "{}", voted.text);
        let path = format!("/api/v1/approval-rules?tenantId={}", text(&found, "tenantId"));
        let rules = self.first.get_as(&path, &self.operator.token).await.body;
        text(&rules["rules"][0], "ruleId")
    }

    /// Reads all events of a run in small pages.
    pub(crate) async fn list_events(&self, run: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=7");
            let page = self.second.get_as(&path, &self.operator.token).await;
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
    pub(crate) async fn register_runner(&self, tenant: &TestTenant) -> String {
        let body = json!({ "name": "played", "backendProfiles": ["demo"] });
        let response = self.post_as("/api/v1/runners/register", &tenant.enrolment, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        text(&response.body, "runnerId")
    }

    pub(crate) async fn try_claim(&self, tenant: &TestTenant, run: &str, runner: &str) -> TestResponse {
        let body = json!({ "runnerId": runner, "wait": true });
        self.post_as(&format!("/api/v1/runs/{run}/claim"), &tenant.enrolment, body).await
    }

    pub(crate) async fn claim(&self, tenant: &TestTenant, run: &str) -> RunClaim {
        let runner = self.register_runner(tenant).await;
        let response = self.try_claim(tenant, run, &runner).await;
        assert_eq!(response.status, 200, "{}", response.text);
        run_claim(run, &runner, &response)
    }

    pub(crate) async fn append_events(&self, claim: &RunClaim, events: Value) -> TestResponse {
        let path = format!("/api/v1/runs/{}/events", claim.run);
        self.post_as(&path, &claim.token, json!({ "events": events })).await
    }

    /// Asks a question in place of an agent's process, and returns the id of the approval.
    pub(crate) async fn ask(
        &self,
        claim: &RunClaim,
        command: &str,
        request: &str,
        question: Value,
    ) -> String {
        let body = json!({ "commandId": command, "process": "p", "request": request, "question": question });
        let response = self.try_ask(claim, body).await;
        assert_eq!(response.status, 200, "{}", response.text);
        text(&response.body, "approvalId")
    }

    /// Asks a question with a whole body.
    pub(crate) async fn try_ask(&self, claim: &RunClaim, body: Value) -> TestResponse {
        self.post_as(&format!("/api/v1/runs/{}/approvals", claim.run), &claim.token, body).await
    }

    /// Takes the answer to a question, without waiting.
    pub(crate) async fn take_answer(&self, claim: &RunClaim, approval: &str, process: &str) -> TestResponse {
        let path = format!("/api/v1/runs/{}/approvals/{approval}/take", claim.run);
        self.post_as(&path, &claim.token, json!({ "process": process })).await
    }

    /// Waits for the answer to a question in place of the process that asked. Returns the chosen option.
    pub(crate) async fn take_until_answered(&self, claim: &RunClaim, approval: &str) -> String {
        let answer = async {
            loop {
                let taken = self.take_answer(claim, approval, "p").await;
                if let Some(option) = taken.body["optionId"].as_str() {
                    return option.to_owned();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), answer).await.expect("an answer")
    }

    pub(crate) async fn confirm_answer(&self, claim: &RunClaim, approval: &str) -> TestResponse {
        let path = format!("/api/v1/runs/{}/approvals/{approval}/confirm", claim.run);
        self.post_as(&path, &claim.token, json!({ "process": "p" })).await
    }

    /// Answers a question after it was read.
    pub(crate) async fn vote(&self, approval: &str, bearer: &str, option: &str) -> TestResponse {
        let path = format!("/api/v1/approvals/{approval}");
        let shown = self.get_as(&path, bearer).await.body["shownDigest"].clone();
        let body = json!({ "optionId": option, "shownDigest": shown });
        self.post_as(&format!("{path}/votes"), bearer, body).await
    }

    pub(crate) async fn ack(&self, claim: &RunClaim, command: &str) -> TestResponse {
        self.post_as(&format!("/api/v1/commands/{command}/ack"), &claim.token, json!({})).await
    }

    pub(crate) async fn finish(&self, claim: &RunClaim, command: &str, body: Value) -> TestResponse {
        self.request_as(
            Method::PATCH,
            &format!("/api/v1/commands/{command}/status"),
            &claim.token,
            Some(body),
        )
        .await
    }

    pub(crate) async fn poll(&self, claim: &RunClaim, after: i64, wait_ms: u64) -> TestResponse {
        let path = format!("/api/v1/runs/{}/commands?afterSeq={after}&wait={wait_ms}", claim.run);
        self.get_as(&path, &claim.token).await
    }
}

pub(crate) fn run_claim(run: &str, runner: &str, claimed: &TestResponse) -> RunClaim {
    RunClaim { run: run.to_owned(), runner: runner.to_owned(), token: text(&claimed.body, "runToken") }
}

/// Returns the smallest valid request body for a run.
pub(crate) fn run_request(tenant: &str) -> Value {
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

/// Returns the smallest valid input of an agent's run.
pub(crate) fn run_agent_input(text: &str) -> Value {
    json!({
        "threadId": "550e8400-e29b-41d4-a716-446655440000",
        "runId": "run-1",
        "state": {},
        "messages": [{ "id": "msg-1", "role": "user", "content": text }],
        "tools": [],
        "context": [],
        "forwardedProps": { "runtime_mode": "chat" },
    })
}

/// Returns the smallest valid request body for an agent.
pub(crate) fn agent_request(tenant: &str, slug: &str) -> Value {
    json!({
        "tenantId": tenant,
        "slug": slug,
        "name": slug,
        "projectId": "acme/web",
        "workspaceRef": { "kind": "empty" },
        "providerId": "local",
        "backendProfile": "demo",
    })
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

pub(crate) fn command_event(id: &str, kind: &str, command: &str, payload: Value) -> Value {
    json!({ "id": id, "type": kind, "commandId": command, "payload": payload })
}

pub(crate) fn assistant_message(id: &str, command: &str, text: &str) -> Value {
    command_event(id, "assistant_message", command, json!({ "text": text }))
}

/// Returns a question of an agent that wants to execute a command.
pub(crate) fn command_question(command: &str) -> Value {
    json!({
        "action": {
            "kind": "command", "tool": "shell", "arguments": { "command": command }, "workingDir": "/work",
            "environment": null, "lifts": ["sandbox"], "changes": [],
        },
        "options": [
            { "id": "yes", "label": "Allow once", "effect": "allow", "changesMode": false },
            { "id": "no", "label": "Deny", "effect": "deny", "changesMode": false },
        ],
        "reason": "to see what is there", "answerSchema": null,
    })
}
