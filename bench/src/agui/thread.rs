//! An application with an agent, as AG-UI clients see it.

use anyhow::Result;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::installation::{Installation, Tenant, text};

/// An application: the service key that its backend has, and the default agent of the tenant.
pub(super) struct Application<'a> {
    pub(super) installation: &'a Installation,
    pub(super) tenant: Tenant,
    pub(super) key: String,
}

impl<'a> Application<'a> {
    pub(super) async fn create(installation: &'a Installation) -> Result<Self> {
        let tenant = installation.create_tenant().await?;
        let path = format!("/api/v1/tenants/{}/keys", tenant.id);
        let body = json!({ "name": "app", "role": "operator" });
        let key = text(&installation.request(Method::POST, &path, &tenant.access, body).await?, "secret")?;
        let agent = json!({
            "tenantId": tenant.id, "slug": "demo", "name": "Demo", "projectId": "bench", "default": true,
            "workspaceRef": { "kind": "empty" }, "providerId": "local", "backendProfile": "demo",
        });
        installation.request(Method::POST, "/api/v1/agents", &tenant.access, agent).await?;
        Ok(Self { installation, tenant, key })
    }

    /// Starts a turn and returns nothing of it.
    pub(super) async fn start_turn(&self, thread: &str, run: &str) -> Result<()> {
        let input = run_input(thread, run);
        self.installation.request(Method::POST, "/api/v1/agent/runs", &self.key, input).await?;
        Ok(())
    }

    /// Returns the run of the only conversation.
    pub(super) async fn only_run(&self) -> Result<String> {
        let path = format!("/api/v1/runs?tenantId={}", self.tenant.id);
        let runs: Value = open(self.request(Method::GET, &path)).await?.json().await?;
        text(&runs["runs"][0], "runId")
    }

    /// Returns the request that starts a turn, or finds it, and streams its events.
    pub(super) fn agui_request(&self, thread: &str, run: &str) -> RequestBuilder {
        let request = self.request(Method::POST, "/api/v1/agent/runs");
        request.header("accept", "text/event-stream").json(&run_input(thread, run))
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.installation.base);
        self.installation.client.request(method, url).bearer_auth(&self.key)
    }
}

/// Opens a stream.
pub(super) async fn open(request: RequestBuilder) -> Result<Response> {
    Ok(request.send().await?.error_for_status()?)
}

/// An input that both profiles of the route accept. Threads are UUIDs.
fn run_input(thread: &str, run: &str) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": format!("message-{run}"), "role": "user", "content": "go" }],
        "forwardedProps": { "runtime_mode": "chat" },
    })
}
