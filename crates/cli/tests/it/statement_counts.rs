//! How many statements requests and runs cost, counted in the log of PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use guildhall_testkit::SqlConnection;
use reqwest::{Client, Method};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::user::DevServer;

/// Longer than all rounds that a server repeats within seconds.
const IDLE: Duration = Duration::from_secs(12);

/// Runners that wait while a command is offered.
const WAITING_RUNNERS: usize = 500;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A statement, and the session that ran it.
#[derive(Debug, Clone)]
struct Statement {
    session: String,
    /// Empty: the commit of the transaction.
    text: String,
    /// A commit of a transaction that has a number: it has written, or locked rows.
    is_numbered: bool,
}

/// The statements of a transaction.
#[derive(Debug, Clone)]
struct Transaction {
    texts: Vec<String>,
    /// It has written, or locked rows, and is committed.
    is_numbered: bool,
}

impl Transaction {
    fn is_open(&self) -> bool {
        self.texts[0] == "BEGIN" && !self.texts.iter().any(|text| text == "COMMIT" || text == "ROLLBACK")
    }

    /// Returns whether its commit waits for the disk.
    fn is_durable(&self) -> bool {
        let is_off = |text: &String| text.contains("set_config('synchronous_commit', 'off'");
        self.is_numbered && !self.texts.iter().any(is_off)
    }
}

/// A server whose PostgreSQL logs all statements.
struct LoggedServer {
    server: DevServer,
    client: Client,
    access: String,
    sql: SqlConnection,
    log: PathBuf,
    own_session: String,
    /// What the server runs while nobody uses it.
    idle: BTreeSet<String>,
}

impl LoggedServer {
    async fn start(launcher: &str) -> Self {
        let server = DevServer::ephemeral_with(&[("GUILDHALL_LAUNCHER_KIND", launcher)]);
        let password =
            std::fs::read_to_string(server.state.join("postgres-admin.password")).expect("a password");
        let port = &server.ready["postgres"]["port"];
        let url = format!("postgres://postgres:{}@127.0.0.1:{port}/guildhall", password.trim());
        let mut sql = SqlConnection::connect(&SecretString::from(url)).await;
        let own_session = sql.number("SELECT pg_backend_pid()::bigint").await.to_string();
        let client = Client::builder().no_proxy().build().expect("a client");
        let log = server.state.join("postgres/postgres.log");
        let mut started =
            Self { server, client, access: String::new(), sql, log, own_session, idle: BTreeSet::new() };
        let login = json!({ "name": "admin", "password": started.server.password.trim() });
        let signed_in = started.request(Method::POST, "/api/v1/auth/login", "", login).await;
        started.access = text(&signed_in, "accessToken");
        started.run_once(launcher).await;
        // The most verbose level logs the number of each transaction that commits.
        for setting in ["log_statement = 'all'", "log_min_messages = debug5"] {
            started.sql.execute(format!("ALTER SYSTEM SET {setting}")).await;
        }
        started.sql.execute("SELECT pg_reload_conf()").await;
        let from = started.position();
        tokio::time::sleep(IDLE).await;
        let idle = started.statements(from).into_iter().map(|statement| statement.text);
        started.idle = idle.filter(|text| !text.is_empty()).collect();
        assert!(!started.idle.is_empty(), "PostgreSQL logs no statements");
        started
    }

    /// What is done once in the life of a server is not counted.
    async fn run_once(&mut self, launcher: &str) {
        if launcher == "local" {
            self.demo_run().await;
        }
    }

    async fn request(&self, method: Method, path: &str, bearer: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.server.url);
        let request = self.client.request(method, url).bearer_auth(bearer).json(&body);
        let response = request.send().await.expect("a response");
        let (status, body) = (response.status(), response.json().await.expect("JSON"));
        assert!(status.is_success(), "{path}: {body}");
        body
    }

    async fn create_run(&self) -> String {
        let body = json!({
            "tenantId": "dev", "projectId": "dev/p", "workspaceRef": { "kind": "empty" }, "providerId": "local",
            "backendProfile": "demo", "traceSink": null,
        });
        text(&self.request(Method::POST, "/api/v1/runs", &self.access, body).await, "runId")
    }

    async fn send_turn(&self, run: &str) {
        let turn = json!({ "type": "turn", "payload": { "prompt": "tidy my notes" } });
        self.request(Method::POST, &format!("/api/v1/runs/{run}/commands"), &self.access, turn).await;
    }

    /// Runs the demo agent for one turn, until everything that follows from it is done: its audit entries are sealed and
    /// the next warm runner has registered.
    async fn demo_run(&mut self) {
        let runners = self.sql.number("SELECT count(*) FROM runners").await;
        let run = self.create_run().await;
        self.send_turn(&run).await;
        let is_done = format!(
            "SELECT count(*) FROM sessions WHERE storage_kind = 'directory' AND active_run = '{run}'
             AND NOT running AND NOT EXISTS (SELECT FROM unsealed_logs)
             AND (SELECT count(*) FROM runners) > {runners}",
            run = run.trim_start_matches("run_")
        );
        let deadline = Instant::now() + TIMEOUT;
        while self.sql.number(&is_done).await == 0 {
            assert!(Instant::now() < deadline, "the demo run does not end");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until all requests have arrived: those that wait share a few statements a second.
    async fn settle(&self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let from = self.position();
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.count(from).0 <= 10 {
                return;
            }
            assert!(Instant::now() < deadline, "the requests do not arrive");
        }
    }

    fn position(&self) -> usize {
        std::fs::metadata(&self.log).expect("a log").len().try_into().expect("a size")
    }

    /// Reads the statements of the server since a position of the log.
    fn statements(&self, from: usize) -> Vec<Statement> {
        let log = std::fs::read(&self.log).expect("a log");
        let log = String::from_utf8_lossy(&log[from..]).into_owned();
        let mut found: Vec<Statement> = Vec::new();
        let mut is_statement = false;
        for line in log.lines() {
            if line.starts_with('\t') {
                // Other messages have more lines too.
                found
                    .last_mut()
                    .filter(|_| is_statement)
                    .into_iter()
                    .for_each(|last| last.text.push_str(line));
                continue;
            }
            let parsed = parse(line);
            is_statement = parsed.as_ref().is_some_and(|statement| !statement.text.is_empty());
            found.extend(parsed);
        }
        found.retain(|statement| statement.session != self.own_session);
        found
    }

    /// Returns the transactions since a position that an idle server would not have run.
    fn transactions(&self, from: usize) -> Vec<Transaction> {
        let mut transactions: BTreeMap<String, Vec<Transaction>> = BTreeMap::new();
        for Statement { session, text, is_numbered } in self.statements(from) {
            let of_session = transactions.entry(session).or_default();
            let is_part = text.is_empty() || of_session.last().is_some_and(Transaction::is_open);
            match of_session.last_mut().filter(|_| is_part) {
                Some(transaction) => {
                    transaction.is_numbered |= is_numbered;
                    transaction.texts.extend(Some(text).filter(|text| !text.is_empty()));
                }
                None if text.is_empty() => {}
                None => of_session.push(Transaction { texts: vec![text], is_numbered }),
            }
        }
        let is_extra = |text: &String| !self.idle.contains(text) && text != "BEGIN" && text != "ROLLBACK";
        transactions.into_values().flatten().filter(|found| found.texts.iter().any(is_extra)).collect()
    }

    /// Counts the statements since a position that an idle server would not have run, with the BEGIN and COMMIT of their
    /// transactions. Returns them as well, for messages.
    fn count(&self, from: usize) -> (usize, Vec<String>) {
        let counted: Vec<String> =
            self.transactions(from).into_iter().flat_map(|transaction| transaction.texts).collect();
        (counted.len(), counted)
    }
}

/// Parses the first line of a logged statement, `… [session] LOG:  execute name: text` or `… LOG:  statement: text`, or of a commit,
/// `… [session] DEBUG:  CommitTransaction(1) …, xid/subid/cid: 7/1/0`.
fn parse(line: &str) -> Option<Statement> {
    let session = line.split_once('[')?.1.split_once(']')?.0.to_owned();
    if let Some((_, commit)) = line.split_once("DEBUG:  CommitTransaction(1) ") {
        let number = commit.split_once("xid/subid/cid: ")?.1.split_once('/')?.0;
        return Some(Statement { session, text: String::new(), is_numbered: number != "0" });
    }
    let (_, logged) = line.split_once("LOG:  ")?;
    let text = logged
        .strip_prefix("statement: ")
        .or_else(|| logged.strip_prefix("execute ")?.split_once(": ").map(|(_, text)| text))?;
    Some(Statement { session, text: text.to_owned(), is_numbered: false })
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// The limits are what was measured. A change that needs more says why.
#[tokio::test]
async fn demo_run_and_its_requests_cost_a_bounded_number_of_statements() {
    let mut server = LoggedServer::start("local").await;
    let mut runs = Vec::new();
    // A round that is repeated every few minutes may fall into one of them.
    for _ in 0..3 {
        let from = server.position();
        server.demo_run().await;
        runs.push((server.count(from), server.transactions(from)));
    }
    // Each batch of events that the runner reports waits for the disk too; their number depends on the time that the turn takes.
    let is_batch = |transaction: &Transaction| transaction.texts[0].contains("journal_append_group");
    let durable = runs.iter().map(|(_, transactions)| {
        let waiting = transactions.iter().filter(|transaction| transaction.is_durable());
        waiting.filter(|transaction| !is_batch(transaction)).collect::<Vec<_>>()
    });
    let durable = durable.min_by_key(Vec::len).expect("a run");
    assert!(durable.len() <= 8, "{} durable commits for a demo run: {durable:#?}", durable.len());
    let (count, statements) =
        runs.into_iter().map(|(counted, _)| counted).min_by_key(|(count, _)| *count).expect("a run");
    assert!(count <= 80, "{count} statements for a demo run: {statements:#?}");

    let from = server.position();
    server.create_run().await;
    let (count, statements) = server.count(from);
    assert!(count <= 10, "{count} statements to create a run: {statements:#?}");

    let from = server.position();
    let path = "/api/v1/runs?tenantId=dev&limit=100";
    let listed = server.request(Method::GET, path, &server.access.clone(), json!({})).await;
    assert!(listed["runs"].as_array().is_some_and(|runs| runs.len() >= 4), "{listed}");
    let (count, statements) = server.count(from);
    assert!(count <= 2, "{count} statements for a list of runs: {statements:#?}");
}

#[tokio::test]
async fn offered_command_costs_the_same_with_500_waiting_runners() {
    let server = LoggedServer::start("none").await;
    let body = json!({ "slug": "dev", "name": "dev" });
    let tenant = text(&server.request(Method::POST, "/api/v1/tenants", &server.access, body).await, "id");
    let path = format!("/api/v1/tenants/{tenant}/enrolments");
    let enrolment = server.request(Method::POST, &path, &server.access, json!({ "name": "waiting" })).await;
    let enrolment = text(&enrolment, "secret");
    let runners = stream::iter(0..WAITING_RUNNERS).map(|_| {
        let body = json!({ "name": "waiting", "backendProfiles": ["demo"] });
        server.request(Method::POST, "/api/v1/runners/register", &enrolment, body)
    });
    let runners: Vec<Value> = runners.buffer_unordered(16).collect().await;
    let mut waiting = JoinSet::new();
    for runner in runners {
        let (client, enrolment) = (server.client.clone(), enrolment.clone());
        let url = format!("{}/api/v1/runners/claim", server.server.url);
        let body = json!({ "runnerId": runner["runnerId"], "wait": 25_000 });
        waiting.spawn(async move {
            let response =
                client.post(url).bearer_auth(enrolment).json(&body).send().await.expect("a response");
            response.json::<Value>().await.expect("JSON")
        });
    }
    let run = server.create_run().await;
    let expected = format!("guildhall_http_waiting_requests {WAITING_RUNNERS}");
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let metrics = server.client.get(format!("{}/metrics", server.server.url)).send().await;
        let metrics = metrics.expect("a response").text().await.expect("text");
        if metrics.lines().any(|line| line == expected) {
            break;
        }
        assert!(Instant::now() < deadline, "{WAITING_RUNNERS} runners do not wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.settle().await;
    let from = server.position();
    server.send_turn(&run).await;
    let granted = waiting.join_next().await.expect("a runner").expect("a grant");
    assert_eq!(granted["grant"]["run"]["runId"], json!(run), "{granted}");
    let (count, statements) = server.count(from);
    assert!(count <= 20, "{count} statements for an offered command: {statements:#?}");
}
