//! An agent and a user on two replicas, with a relation.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guildhall_domain::agents::tool_calls::ToolOutcome;
use guildhall_domain::identity::Aid;
use guildhall_domain::ids::AgentId;
use guildhall_runtime::Clock;
use guildhall_sdk::guard::{
    AuditLog, Guard, PromptAnswer, Prompts, ToolAuditEntry, ToolFailure, ToolPrompt, ToolRun, Tools,
    read_audit_entries,
};
use guildhall_sdk::messages::InboxItem;
use guildhall_sdk::tool_calls::{
    GuardNotice, GuardedInbox, ToolCallError, ToolCallRequest, ToolCaller, fetch_published_manifest,
};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::network::DeviceNetwork;
use crate::aun_clients::replicas::{AunReplicas, Registration};
use crate::aun_clients::rust_device::{RustAid, RustDevice};
use crate::support::aid_user::AidUser;
use crate::support::cluster::PASSWORD;
use crate::support::user::CliUser;

/// Ends a test that hangs.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// Tools with their scopes. Those of a device are less: `missing` is not there.
const TOOLS: [(&str, &str); 7] = [
    ("notify", "notification:send"),
    ("fail", "notification:send"),
    ("missing", "notification:send"),
    ("hang", "notification:send"),
    ("read_file", "filesystem:read"),
    ("locate", "location:read"),
    ("listen", "microphone:use"),
];

const SCOPES: [(&str, &str); 4] = [
    ("notification:send", "low"),
    ("filesystem:read", "medium"),
    ("location:read", "high"),
    ("microphone:use", "low"),
];

/// Scopes that the user grants.
const GRANTED: [&str; 3] = ["notification:send", "filesystem:read", "location:read"];

pub(super) fn manifest() -> Value {
    let tools = TOOLS.map(|(name, scope)| {
        json!({
            "name": name, "description_i18n_key": "key", "description_fallback": format!("Words of {name}"),
            "permission_scope": scope, "timeout_ms": 60_000,
            "input_schema": {
                "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
                "additionalProperties": false,
            },
        })
    });
    let scopes = SCOPES.map(|(id, sensitivity)| {
        json!({
            "id": id, "label_i18n_key": "key", "label_fallback": "A label", "description_i18n_key": "key",
            "description_fallback": "A description", "sensitivity": sensitivity,
        })
    });
    json!({
        "schema_version": "1.0", "agent_version": "1.0.0", "tools": tools, "permission_scopes": scopes,
        "capability_flags": {
            "supports_streaming": false, "supports_artifacts": true, "supports_voice": false,
            "supports_group_chat": true,
        },
    })
}

/// The person at the device. None: no answer, until they allow it late.
#[derive(Debug, Default)]
pub(super) struct Person {
    pub(super) allows_late: Notify,
    pub(super) answer: Mutex<Option<PromptAnswer>>,
    pub(super) asked: Mutex<Vec<ToolPrompt>>,
}

impl Person {
    pub(super) fn answers(&self, answer: Option<PromptAnswer>) {
        *self.answer.lock().expect("not poisoned") = answer;
    }
}

/// The tools of the device. `hang` never ends.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) runs: AtomicUsize,
    pub(super) is_running: Notify,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Owner {
    pub(super) person: Arc<Person>,
    pub(super) device: Arc<Device>,
}

impl Prompts for Owner {
    async fn ask(&self, prompt: ToolPrompt) -> PromptAnswer {
        self.person.asked.lock().expect("not poisoned").push(prompt);
        let answer = *self.person.answer.lock().expect("not poisoned");
        match answer {
            Some(answer) => answer,
            None => {
                self.person.allows_late.notified().await;
                PromptAnswer::Allow
            }
        }
    }
}

impl Tools for Owner {
    async fn run(&self, run: ToolRun) -> Result<Value, ToolFailure> {
        self.device.runs.fetch_add(1, Ordering::SeqCst);
        self.device.is_running.notify_one();
        match run.tool.as_str() {
            "notify" | "read_file" | "locate" | "listen" => Ok(json!({ "done": run.arguments["text"] })),
            "fail" => Err(ToolFailure::Failed),
            "hang" => std::future::pending().await,
            _ => Err(ToolFailure::Unavailable),
        }
    }
}

pub(super) type TestInbox = GuardedInbox<Owner, Owner>;

pub(super) struct ToolFixture {
    pub(super) replicas: AunReplicas,
    client: Client,
    token: String,
    pub(super) agent: AgentId,
    pub(super) relation: String,
    /// The agent, at the first replica.
    pub(super) helper: RustDevice,
    /// The user, at the second.
    pub(super) alice: RustDevice,
    pub(super) owner: Owner,
    pub(super) caller: ToolCaller,
    audit: TempDir,
}

impl ToolFixture {
    pub(super) async fn start() -> Self {
        Self::start_with(quiet()).await
    }

    /// Starts replicas with settings. The user has granted some scopes, on the server and on the device.
    pub(super) async fn start_with(settings: Vec<(&'static str, String)>) -> Self {
        Self::start_at(settings, |replica| replica).await
    }

    /// Starts replicas. The user's device reaches its replica over a network.
    pub(super) async fn start_with_network() -> (Self, DeviceNetwork) {
        let mut network = None;
        let device_url = |replica: String| network.insert(DeviceNetwork::start(&replica)).url();
        let fixture = Self::start_at(quiet(), device_url).await;
        (fixture, network.expect("started"))
    }

    async fn start_at(
        settings: Vec<(&'static str, String)>,
        device_url: impl FnOnce(String) -> String,
    ) -> Self {
        let replicas = AunReplicas::start_with(Registration::Closed, 2, settings).await;
        let operator = replicas.operator();
        let [helper, alice] = ["helper", "alice"]
            .map(|name| RustAid::of_operator(&replicas, &AidUser::create(&operator, name)));
        let client = Client::builder().no_proxy().build().expect("a client");
        let login = json!({ "name": "operator", "password": PASSWORD });
        let login = client.post(format!("{}/api/v1/auth/login", replicas.url(0))).json(&login);
        let tokens: Value = login.send().await.expect("a response").json().await.expect("JSON");
        let token = tokens["accessToken"].as_str().expect("a token").to_owned();
        let helper = RustDevice::start(&helper, &[replicas.url(0)]);
        let alice = RustDevice::start(&alice, &[device_url(replicas.url(1))]);
        let mut fixture = Self {
            caller: ToolCaller::new(helper.messenger.clone()),
            replicas,
            client,
            token,
            agent: AgentId::generate(),
            relation: String::new(),
            helper,
            alice,
            owner: Owner::default(),
            audit: tempfile::tempdir().expect("a folder"),
        };
        fixture.create_tenant().await;
        fixture.agent = fixture.create_agent("helper", &fixture.helper.owner.aid).await;
        fixture.relation = fixture.grant(fixture.agent).await;
        fixture.store_grant().await;
        fixture
    }

    pub(super) async fn api(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}{path}", self.replicas.url(0));
        let request = self.client.request(method, url).bearer_auth(&self.token).json(&body);
        let response = request.send().await.expect("a response");
        (response.status().as_u16(), response.json().await.unwrap_or(Value::Null))
    }

    async fn create_tenant(&self) {
        let tenant = json!({ "slug": "acme", "name": "Acme" });
        let (status, created) = self.api(Method::POST, "/api/v1/tenants", tenant).await;
        assert_eq!(status, 201, "{created}");
    }

    /// Creates a published agent that speaks with an AID.
    async fn create_agent(&self, slug: &str, aid: &Aid) -> AgentId {
        let agent = json!({
            "tenantId": "acme", "slug": slug, "name": "Helper", "projectId": "acme/web",
            "workspaceRef": { "kind": "empty" }, "providerId": "local", "backendProfile": "demo",
            "capabilityManifest": manifest(),
        });
        let (status, created) = self.api(Method::POST, "/api/v1/agents", agent).await;
        assert_eq!(status, 201, "{created}");
        let id: AgentId = created["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        let path = format!("/api/v1/agents/{id}");
        let (status, published) = self.api(Method::PATCH, &path, json!({ "published": true })).await;
        assert_eq!(status, 200, "{published}");
        let aid = json!({ "aid": aid.to_string() });
        let (status, set) = self.api(Method::PUT, &format!("{path}/aid"), aid).await;
        assert!(status < 300, "{status} {set}");
        id
    }

    /// Grants on the server. Returns the relation.
    async fn grant(&self, agent: AgentId) -> String {
        let consent = json!({ "agent_id": agent.to_string(), "granted_scopes": GRANTED });
        let (status, relation) = self.api(Method::POST, "/h2a/relations", consent).await;
        assert_eq!(status, 201, "{relation}");
        relation["id"].as_str().expect("an id").to_owned()
    }

    /// Creates another agent that the user has granted scopes to, with a device at one of the replicas.
    pub(super) async fn add_agent(&self, operator: &CliUser, name: &str, replica: usize) -> RustDevice {
        let owner = RustAid::of_operator(&self.replicas, &AidUser::create(operator, name));
        let agent = self.create_agent(name, &owner.aid).await;
        self.grant(agent).await;
        RustDevice::start(&owner, &[self.replicas.url(replica)])
    }

    /// Grants on the device.
    async fn store_grant(&self) {
        let published = fetch_published_manifest(&self.alice.messenger, self.agent).await.expect("published");
        let scopes: BTreeSet<String> = GRANTED.map(str::to_owned).into();
        let grant = published.grant(scopes, Clock::system().now());
        self.alice.messenger.store().put_tool_grant(&self.helper.owner.aid, grant).expect("stored");
    }

    /// Adds a webhook of the agent whose events a program asks for.
    pub(super) async fn add_listener(&self) -> String {
        let webhook = json!({
            "url": "http://localhost/hook", "events": ["message.new", "artifact_response"], "agentId": self.agent.to_string(),
            "sender": "listener",
        });
        let (status, created) = self.api(Method::POST, "/api/v1/tenants/acme/webhooks", webhook).await;
        assert_eq!(status, 201, "{created}");
        created["id"].as_str().expect("an id").to_owned()
    }

    /// Returns the next event of such a webhook as a receiver gets it.
    pub(super) async fn claim(&self, webhook: &str) -> String {
        let path = format!("/api/v1/webhooks/{webhook}/claim");
        let (status, claimed) = self.api(Method::POST, &path, json!({ "wait": 20_000 })).await;
        assert_eq!(status, 200, "{claimed}");
        claimed.to_string()
    }

    /// Changes what is granted on the server.
    pub(super) async fn change_grant(&self, scopes: &[&str]) {
        let path = format!("/h2a/relations/{}", self.relation);
        let (status, changed) = self.api(Method::PATCH, &path, json!({ "granted_scopes": scopes })).await;
        assert_eq!(status, 200, "{changed}");
    }

    pub(super) async fn patch_agent(&self, change: Value) {
        let (status, changed) =
            self.api(Method::PATCH, &format!("/api/v1/agents/{}", self.agent), change).await;
        assert_eq!(status, 200, "{changed}");
    }

    /// Agrees to the current manifest, on the server and on the device.
    pub(super) async fn agree_again(&self) {
        self.change_grant(&GRANTED).await;
        self.store_grant().await;
    }

    pub(super) async fn revoke(&self) {
        let path = format!("/h2a/relations/{}", self.relation);
        let (status, ended) = self.api(Method::DELETE, &path, Value::Null).await;
        assert_eq!(status, 200, "{ended}");
    }

    pub(super) fn audit_entries(&self) -> Vec<ToolAuditEntry> {
        read_audit_entries(self.audit.path(), Clock::system().now()).expect("a log")
    }

    /// Opens the inbox of the user's device.
    pub(super) fn inbox(&self) -> TestInbox {
        let audit = AuditLog::open(self.audit.path(), Clock::system()).expect("a log");
        let guard = Guard::new(self.owner.clone(), self.owner.clone(), Clock::system(), audit);
        let agents = [self.helper.owner.aid.clone()];
        GuardedInbox::open(self.alice.messenger.clone(), guard, &agents).expect("opened")
    }

    /// Runs the guard and the inbox of the agent beside a test, which begins when the guard is ready.
    pub(super) async fn run<T>(
        &self,
        inbox: &TestInbox,
        test: impl AsyncFnOnce(&mut UnboundedReceiver<GuardNotice>) -> T,
    ) -> T {
        self.run_with(inbox, |_| {}, test).await
    }

    /// Does the same, and something as soon as the guard gives a notice.
    pub(super) async fn run_with<T>(
        &self,
        inbox: &TestInbox,
        mut on_notice: impl FnMut(&GuardNotice) + Send,
        test: impl AsyncFnOnce(&mut UnboundedReceiver<GuardNotice>) -> T,
    ) -> T {
        let (notices, mut noticed) = unbounded_channel();
        let guarding = Box::pin(inbox.run(move |notice| {
            on_notice(&notice);
            drop(notices.send(notice));
        }));
        let testing = Box::pin(async {
            next_notice(&mut noticed, |notice| matches!(notice, GuardNotice::Ready)).await;
            test(&mut noticed).await
        });
        tokio::select! {
            error = guarding => panic!("the guard has ended: {error:?}"),
            () = self.receive_answers() => panic!("the inbox of the agent has ended"),
            outcome = testing => outcome,
        }
    }

    async fn receive_answers(&self) {
        let mut inbox = self.helper.messenger.follow().with_auto_ack();
        loop {
            if let InboxItem::Message(message) = inbox.next().await.expect("no final error") {
                let _is_answer = self.caller.receive(&message);
            }
        }
    }

    pub(super) async fn call(&self, tool: &str, text: &str) -> Result<ToolOutcome, ToolCallError> {
        self.call_with(tool, json!({ "text": text })).await
    }

    /// Calls a tool with the scope of the manifest.
    pub(super) async fn call_with(&self, tool: &str, arguments: Value) -> Result<ToolOutcome, ToolCallError> {
        let scope =
            TOOLS.iter().find(|(name, _)| *name == tool).map_or("notification:send", |(_, scope)| scope);
        let request = ToolCallRequest {
            tool: tool.to_owned(),
            scope: scope.to_owned(),
            arguments,
            conversation: "c-1".to_owned(),
            timeout_ms: None,
        };
        self.caller.call(&self.alice.owner.aid, request, TIMEOUT).await
    }
}

fn quiet() -> Vec<(&'static str, String)> {
    vec![("GUILDHALL_TELEMETRY_LOG_FILTER", "off".to_owned())]
}

/// Waits for a notice.
pub(super) async fn next_notice(
    noticed: &mut UnboundedReceiver<GuardNotice>,
    is_wanted: impl Fn(&GuardNotice) -> bool,
) -> GuardNotice {
    let next = async {
        loop {
            let notice = noticed.recv().await.expect("the guard runs");
            if is_wanted(&notice) {
                return notice;
            }
        }
    };
    timeout(TIMEOUT, next).await.expect("a notice")
}
