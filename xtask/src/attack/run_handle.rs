//! A run of the attacked server.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::dev_server::{DevServer, text};

/// A turn that takes longer hangs. Tools may run for a minute, and an agent needs some seconds to start.
const TURN_TIMEOUT: Duration = Duration::from_secs(400);

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A run, and the session that it belongs to.
pub(super) struct RunHandle {
    pub(super) run: String,
    pub(super) session: String,
}

impl RunHandle {
    pub(super) fn create(
        server: &DevServer,
        tenant: &str,
        profile: &str,
        session: Option<&str>,
        policy: &Value,
    ) -> Result<Self> {
        let mut body = json!({
            "tenantId": tenant, "projectId": "attack/attack", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": profile, "executionPolicy": policy, "traceSink": null,
        });
        if let Some(session) = session {
            body["sessionRef"] = json!({ "sessionId": session });
        }
        let view = server.post("/api/v1/runs", &server.sign_in()?, &body)?;
        Ok(Self { run: text(&view, "runId")?, session: text(&view, "sessionId")? })
    }

    /// Sends a turn and waits for its end. Returns its status and the output of its tools.
    pub(super) fn turn(&self, server: &DevServer, prompt: &str) -> Result<Turn> {
        let (run, token) = (&self.run, server.sign_in()?);
        let body = json!({ "type": "turn", "payload": { "prompt": prompt } });
        let command = server.post(&format!("/api/v1/runs/{run}/commands"), &token, &body)?;
        let command = text(&command, "commandId")?;
        let started = Instant::now();
        let view = loop {
            let view = server.get(&format!("/api/v1/runs/{run}/commands/{command}"), &token)?;
            if !matches!(view["status"].as_str(), Some("pending" | "running")) {
                break view;
            }
            if started.elapsed() > TURN_TIMEOUT {
                bail!("a turn of run {run} did not end within {} s", TURN_TIMEOUT.as_secs());
            }
            sleep(POLL_INTERVAL);
        };
        let events = self.events(server, &token)?.into_iter().filter(|event| event["commandId"] == command);
        let output = events.filter(|event| event["type"] == "command_output");
        let output = output.filter_map(|event| Some(event["payload"]["text"].as_str()?.to_owned())).collect();
        Ok(Turn { status: text(&view, "status")?, message: view["message"].to_string(), output })
    }

    pub(super) fn cancel(&self, server: &DevServer) -> Result<()> {
        server
            .post(&format!("/api/v1/runs/{}/cancel", self.run), &server.sign_in()?, &json!({}))
            .map(|_view| ())
    }

    /// Returns all events of the run.
    pub(super) fn events(&self, server: &DevServer, token: &str) -> Result<Vec<Value>> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/v1/runs/{}/events?limit=1000&afterSeq={after}", self.run);
            let mut page = server.get(&path, token)?;
            let list = page["events"].as_array_mut().context("no events in the response")?;
            events.append(list);
            if page["hasMore"] != true {
                return Ok(events);
            }
            after = page["nextAfterSeq"].as_u64().context("no nextAfterSeq in the response")?;
        }
    }
}

/// A turn that ended.
pub(super) struct Turn {
    pub(super) status: String,
    pub(super) message: String,
    pub(super) output: String,
}
