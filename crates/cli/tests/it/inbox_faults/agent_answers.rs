//! Agents that answer messages, while servers, PostgreSQL and NATS are killed with SIGKILL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use guildhall_runtime::Tasks;
use guildhall_testkit::{Rounds, Stopwatch, spawn_task};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ISSUER;
use super::connection::{DeviceConnection, Identity};
use super::history::Device;
use crate::support::agent::write_private;
use crate::support::cluster::Cluster;
use crate::support::proxy::{self, ProxyAction};
use crate::support::runner_process::RunnerProcess;

const SENDERS: usize = 4;
const AGENT: &str = "helper.guild.example";

/// A turn may be lost with its runner's lease, and has an answer then too.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_to_an_agent_has_one_answer_despite_kills() {
    let mut rounds = Rounds::from_env(5);
    let fixture = AgentFixture::start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut asking = Vec::new();
    for number in 0..SENDERS {
        let identity = Identity::register(&fixture.cluster, format!("sender-{number}.{ISSUER}")).await;
        let device = Device { principal: number, number: 0 };
        let connection = DeviceConnection::new(&fixture.cluster, &fixture.tasks, &identity, device);
        let sender = Sender { connection, number, questions: 0 };
        asking.push(spawn_task(sender.ask_until(Arc::clone(&stop))));
    }
    fixture.cluster.kill_at_random(&mut rounds).await;
    stop.store(true, Ordering::SeqCst);
    let senders = try_join_all(asking).await.expect("the senders do not panic");
    fixture.wait_until_all_are_sent().await;
    let mut kinds = Vec::new();
    for sender in senders {
        kinds.extend(sender.check_answers().await);
    }
    let replies = kinds.iter().filter(|kind| *kind == "text").count();
    assert!(replies >= SENDERS, "too few replies for a test: {kinds:?}");
}

/// Two replicas, and an agent with an inbox and runners.
struct AgentFixture {
    cluster: Arc<Cluster>,
    tasks: Tasks,
    _runners: Vec<RunnerProcess>,
    _folder: TempDir,
}

impl AgentFixture {
    async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-answers-").tempdir().expect("a folder");
        let settings = [("GUILDHALL_RUNS_SANDBOX", "danger-full-access"), ("GUILDHALL_RUNS_LEASE", "20s")];
        let cluster = Cluster::start_issuer(ISSUER, &folder.path().join("secrets"), &settings).await;
        let access = cluster.sign_in().await;
        let (tenant, _) = cluster.create_tenant(&access, "acme").await;
        let agent = json!({
            "tenantId": tenant, "slug": "helper", "name": "Helper", "projectId": "acme/web",
            "workspaceRef": { "kind": "empty" }, "providerId": "local", "backendProfile": "demo",
        });
        let agent = cluster.create(0, "/api/v1/agents", &access, "agent", &agent).await.expect("an agent");
        let path = format!("/api/v1/agents/{}/inbox", agent["id"].as_str().expect("an id"));
        let inbox = cluster.request(1, Method::PUT, &path, &access).json(&json!({ "senders": "anyone" }));
        assert_eq!(inbox.send().await.expect("a response").status(), 200);
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let enrolment = cluster.create(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let secret = enrolment.expect("an enrolment")["secret"].as_str().expect("a secret").to_owned();
        write_private(&folder.path().join("enrolment"), &secret);
        let servers = [0, 1].map(|replica| cluster.url(replica, ""));
        let url = proxy::start_on("127.0.0.1", &[&servers[0], &servers[1]], |_| ProxyAction::Forward);
        let state = |number: usize| folder.path().join(format!("runner-{number}"));
        let runners = (0..SENDERS).map(|number| RunnerProcess::start_demo(&url, state(number))).collect();
        Self { cluster: Arc::new(cluster), tasks: Tasks::new(), _runners: runners, _folder: folder }
    }

    /// What is doubled comes after the first one, so nothing may be waiting to be sent.
    async fn wait_until_all_are_sent(&self) {
        let limit = Stopwatch::start();
        while !self.cluster.db.sql().await.texts("SELECT command::text FROM agent_answers").await.is_empty() {
            assert!(limit.elapsed() < ANSWER_TIMEOUT, "an answer is not sent");
            tokio::time::sleep(POLL).await;
        }
    }
}

/// An AID that asks the agent one question after the other.
struct Sender {
    connection: DeviceConnection,
    number: usize,
    questions: usize,
}

impl Sender {
    async fn ask_until(mut self, stop: Arc<AtomicBool>) -> Self {
        while !stop.load(Ordering::SeqCst) {
            self.ask().await;
        }
        self
    }

    /// Checks that each question has one answer. Returns their types.
    async fn check_answers(mut self) -> Vec<String> {
        let answers = self.answers().await;
        let answered: Vec<&String> = answers.keys().collect();
        let asked: Vec<String> = (1..=self.questions).map(|question| self.id(question)).collect();
        assert_eq!(answered.len(), asked.len(), "{answers:?}");
        let mut kinds = Vec::new();
        for id in &asked {
            let found = answers.get(id).map(Vec::as_slice).unwrap_or_default();
            let [answer] = found else { panic!("{id} has {} answers: {found:?}", found.len()) };
            let kind = answer["type"].as_str().expect("a type");
            let text = answer["text"].as_str().expect("a text");
            assert!(["error", "text"].contains(&kind) && !text.is_empty(), "{id}: {answer}");
            kinds.push(kind.to_owned());
        }
        self.connection.close().await;
        kinds
    }

    fn id(&self, question: usize) -> String {
        format!("q-{}-{question:04}", self.number)
    }

    /// Sends a question and waits for an answer.
    async fn ask(&mut self) {
        self.questions += 1;
        let id = self.id(self.questions);
        let payload = json!({ "type": "text", "text": format!("question {id}") });
        let params = json!({ "to": AGENT, "message_id": id, "payload": payload });
        let sent = self.connection.call("message.send", &params).await;
        assert_eq!(sent["message_id"], id, "{sent}");
        let limit = Stopwatch::start();
        while !self.answers().await.contains_key(&id) {
            assert!(limit.elapsed() < ANSWER_TIMEOUT, "{id} has no answer");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns the stored answers by question.
    async fn answers(&mut self) -> BTreeMap<String, Vec<Value>> {
        let (mut answers, mut after): (BTreeMap<String, Vec<Value>>, i64) = (BTreeMap::new(), 0);
        loop {
            let page =
                self.connection.call("message.pull", &json!({ "after_seq": after, "limit": 200 })).await;
            for row in page["messages"].as_array().expect("rows") {
                let (payload, is_stored) = (&row["payload"], row["delivery_mode"] == "fanout");
                if let Some(question) = payload["in_reply_to"].as_str().filter(|_| is_stored) {
                    answers.entry(question.to_owned()).or_default().push(payload.clone());
                }
            }
            if page["has_more"] != true {
                return answers;
            }
            after = page["latest_seq"].as_i64().expect("a seq");
        }
    }
}
