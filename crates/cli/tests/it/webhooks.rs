//! Webhooks on the command line, and their events when a replica is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_identity::webhook_secret::WebhookSecret;
use rustix::process::Signal;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::aun_clients::replicas::{AunReplicas, Registration};
use crate::support::ChildProcess;
use crate::support::aid_user::AidUser;
use crate::support::cluster::Cluster;
use crate::support::proxy::{self, ProxyAction};
use crate::support::user::{CliUser, DevServer, stderr, stdout};

const TIMEOUT: Duration = Duration::from_secs(120);

#[test]
fn webhook_commands_create_list_rotate_test_and_delete() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let url = "https://hooks.example.invalid/guildhall";
    let added = user.json(&["webhooks", "add", url, "--description", "chat", "--tenant", "acme"]);
    let (id, secret) = (text(&added, "id"), text(&added, "secret"));
    assert!(id.starts_with("whk_") && secret.starts_with("whsec_"), "{added}");
    let listed = user.json(&["webhooks", "ls", "--tenant", "acme"]);
    let webhook = &listed["webhooks"][0];
    let shown = json!([webhook["id"], webhook["url"], webhook["events"], webhook["description"]]);
    assert_eq!(shown, json!([id, url, ["approval.requested"], "chat"]));

    let rotated = user.run(&["webhooks", "rotate", &id, "--tenant", "acme"]);
    let new_secret = stdout(&rotated).lines().last().expect("a secret").to_owned();
    assert!(new_secret.starts_with("whsec_") && new_secret != secret, "{}", stdout(&rotated));
    let tested = user.json(&["webhooks", "test", &id, "--tenant", "acme"]);
    assert!(text(&tested, "eventId").starts_with("evt_"), "{tested}");
    let listed = stdout(&user.run(&["webhooks", "ls", "--tenant", "acme"]));
    assert!(listed.contains(&id) && listed.contains("enabled"), "{listed}");
    let audit = stdout(&user.run(&["audit", "tail", "--tenant", "acme"]));
    for shown in [&listed, &audit] {
        assert!(!shown.contains(&secret) && !shown.contains(&new_secret), "{shown}");
    }
    assert!(audit.contains("webhook.secret-rotated"), "{audit}");

    let triggered = user.json(&["trigger", "approval.requested", "--webhook", &id]);
    let listed = user.json(&["webhooks", "deliveries", &id, "--limit", "1"]);
    let delivery = &listed["deliveries"][0];
    let shown = json!([delivery["eventId"], delivery["type"]]);
    assert_eq!(shown, json!([triggered["eventId"], "approval.requested"]));
    assert!(user.json(&["webhooks", "disable", &id])["disabledReason"] == "manual");
    let refused = user.run(&["webhooks", "resend", &id, "--since", "1h"]);
    assert!(stderr(&refused).contains("enable it first"), "{}", stderr(&refused));
    assert!(user.json(&["webhooks", "enable", &id])["enabled"] == true);
    let shown = stdout(&user.run(&["webhooks", "show", &id]));
    assert!(shown.contains(url) && shown.contains("enabled"), "{shown}");
    let resent = user.json(&["webhooks", "resend", &id, "--since", "1h"]);
    assert_eq!(resent, json!({ "id": id, "events": 2 }));

    let refused = user.run(&["webhooks", "add", "http://example.org/", "--tenant", "acme"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    let removed = user.json(&["webhooks", "remove", &id, "--tenant", "acme"]);
    assert_eq!(removed, json!({ "id": id, "deleted": true }));
    assert_eq!(user.json(&["webhooks", "ls", "--tenant", "acme"]), json!({ "webhooks": [] }));
}

/// The receiver has the event, and the replica dies before it gets the answer.
#[tokio::test(flavor = "multi_thread")]
async fn event_of_a_killed_replica_is_sent_again_with_the_same_id() {
    let cluster = Cluster::start(&[("GUILDHALL_EGRESS_ALLOW", "127.0.0.0/8")]).await;
    let access = cluster.create_operator().await;
    let (tenant, _) = cluster.create_tenant(&access, "acme").await;
    let (url, requests) = start_receiver();
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let body = json!({ "url": url, "events": ["approval.requested"] });
    let created = cluster.create(0, &path, &access, "webhook", &body).await.expect("created");
    // Only one replica is left, so it sends the event.
    cluster.kill_replica(1);
    let test = format!("{path}/{}/test", text(&created, "id"));
    let sent = cluster.request(0, reqwest::Method::POST, &test, &access).send().await.expect("a response");
    assert_eq!(sent.status(), 202);
    let next = || tokio::task::block_in_place(|| requests.recv_timeout(TIMEOUT).expect("a request"));
    let (first, connection) = next();
    cluster.kill_replica(0);
    drop(connection);
    let mut sql = cluster.db.sql().await;
    assert_eq!(sql.number("SELECT count(*) FROM webhook_lanes WHERE claim IS NOT NULL").await, 1);
    // Instead of waiting until the claim of the killed replica expires.
    sql.execute("UPDATE webhook_lanes SET next_attempt_at = now()").await;
    cluster.restart_replica(1).await;
    let (second, mut connection) = next();
    connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("written");
    assert_eq!(second.content(), first.content());
    let deadline = std::time::Instant::now() + TIMEOUT;
    while sql.number("SELECT count(*) FROM webhook_events WHERE state = 'waiting'").await > 0 {
        assert!(std::time::Instant::now() < deadline, "the event remains");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(requests.try_recv().is_err(), "the event was sent a third time");
}

/// A developer without a public address: `guildhall listen` asks for the events, and signs them for the local receiver.
#[test]
fn listen_forwards_samples_and_messages_with_valid_signatures() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let alice = AidUser::create(&user, "alice");
    alice.log_in(&server.url);
    user.json(&["tenants", "create", "acme"]);
    user.json(&["agents", "create", "helper"]);
    let aid = text(&user.json(&["agents", "inbox", "helper"]), "aid");
    let (url, requests) = start_receiver();
    let listen = || {
        let mut listening =
            ChildProcess::start(&mut user.command(&["listen", "--forward-to", &url, "--json"]));
        let started: Value = serde_json::from_str(&listening.read_line()).expect("JSON");
        (listening, started)
    };
    let (mut listening, started) = listen();
    let secret = SecretString::from(text(&started, "secret"));
    let secret = WebhookSecret::from_text(&secret).expect("a secret");

    let triggered = user.json(&["trigger", "artifact_response"]);
    let mut seen = Vec::new();
    for send_message in [false, true] {
        if send_message {
            alice.user.json(&["send", &aid, "--plain", "hello"]);
        }
        let (event, mut connection) = requests.recv_timeout(TIMEOUT).expect("a request");
        let signed = format!("{}.{}.{}", event.id, event.timestamp, event.body);
        assert_eq!(event.signature, format!("v1,{}", secret.sign(&signed)));
        connection
            .write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .expect("written");
        drop(connection);
        let body: Value = serde_json::from_str(&event.body).expect("JSON");
        let line: Value = serde_json::from_str(&listening.read_line()).expect("JSON");
        assert_eq!(
            json!([line["eventId"], line["type"], line["status"]]),
            json!([event.id, body["type"], 204])
        );
        seen.push(json!([body["type"], body["data"]["test"], body["data"]["envelope"]["text"]]));
    }
    assert_eq!(seen, [json!(["artifact_response", true, null]), json!(["message.new", null, "hello"])]);
    let webhooks = user.json(&["webhooks", "ls"]);
    assert_eq!(webhooks["webhooks"][0]["sender"], "listener");
    let deliveries = user.json(&["webhooks", "deliveries", &text(&started, "id")]);
    assert_eq!(deliveries["deliveries"][1]["eventId"], triggered["eventId"]);
    listening.signal(Signal::TERM);
    assert!(listening.wait().success(), "{}", listening.remaining_stderr());
    assert_eq!(user.json(&["webhooks", "ls"]), json!({ "webhooks": [] }), "the listener is gone");
    let (_listening, again) = listen();
    assert_eq!(again["secret"], started["secret"]);
}

/// Replicas that restart or are busy: the listener and its waiting events stay.
#[test]
fn listen_goes_on_while_the_server_is_not_ready_or_busy() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    let failures = Mutex::new(vec![
        ("/claim ", FailureKind::NotReady),
        ("/claim ", FailureKind::Overloaded),
        ("/reports ", FailureKind::NotReady),
    ]);
    let proxy = proxy::start(&server.url, move |request| {
        let mut failures = failures.lock().expect("not poisoned");
        match failures.iter().position(|(path, _)| request.line.contains(path)) {
            Some(index) => ProxyAction::Fail(failures.remove(index).1),
            None => ProxyAction::Forward,
        }
    });
    let login = ["login", "--url", &proxy, "--name", "admin", "--password-stdin"];
    let login = user.run_with_stdin(&login, &format!("{}\n", server.password));
    assert_eq!(login.status.code(), Some(0), "{}", stderr(&login));
    user.json(&["tenants", "create", "acme"]);
    user.json(&["agents", "create", "helper"]);
    let (url, requests) = start_receiver();
    let mut listening = ChildProcess::start(&mut user.command(&["listen", "--forward-to", &url, "--json"]));
    let started: Value = serde_json::from_str(&listening.read_line()).expect("JSON");
    let triggered = user.json(&["trigger", "message.new"]);
    let (event, mut connection) = requests.recv_timeout(TIMEOUT).expect("a request");
    assert_eq!(json!(event.id), triggered["eventId"]);
    connection
        .write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .expect("written");
    let delivered = std::time::Instant::now() + TIMEOUT;
    let state =
        || user.json(&["webhooks", "deliveries", &text(&started, "id")])["deliveries"][0]["state"].clone();
    while state() != "delivered" {
        assert!(std::time::Instant::now() < delivered, "the report was not sent again");
    }
    assert!(requests.try_recv().is_err(), "the event was sent twice");
}

/// The receiver is down, and a replica dies meanwhile: the other one sends exactly what was missed, in order.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_agent_survive_a_killed_replica_in_order() {
    let settings = [("GUILDHALL_EGRESS_ALLOW", "127.0.0.0/8"), ("GUILDHALL_TELEMETRY_LOG_FILTER", "off")];
    let settings = settings.map(|(name, value)| (name, value.to_owned())).to_vec();
    let replicas = AunReplicas::start_with(Registration::Closed, 2, settings).await;
    let operator = replicas.operator_at(1);
    operator.json(&["tenants", "create", "acme"]);
    operator.json(&["agents", "create", "helper"]);
    let aid = text(&operator.json(&["agents", "inbox", "helper"]), "aid");
    let alice = AidUser::create(&operator, "alice");
    alice.log_in(&replicas.url(1));
    let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
    let url = format!("http://{free}/hook");
    let id = text(&operator.json(&["webhooks", "add", &url, "--agent", "helper"]), "id");
    let send = |words: &str| {
        alice.user.json(&["send", &aid, "--plain", words]);
    };
    ["m0", "m1", "m2"].into_iter().for_each(send);
    let deadline = std::time::Instant::now() + TIMEOUT;
    while operator.json(&["webhooks", "show", &id])["lastFailure"].is_null() {
        assert!(std::time::Instant::now() < deadline, "no attempt was made");
    }
    replicas.kill_first();
    ["m3", "m4"].into_iter().for_each(send);
    let (_, requests) = start_receiver_at(free);
    let mut sql = replicas.sql().await;
    let mut received = Vec::new();
    while received.len() < 5 {
        // Instead of waiting until the pauses and the claims of the killed replica end.
        sql.execute("UPDATE webhook_lanes SET next_attempt_at = now() WHERE claim IS NULL OR next_attempt_at < now() + interval '55 seconds'").await;
        let next = tokio::task::block_in_place(|| requests.recv_timeout(Duration::from_secs(1)));
        let Ok((event, mut connection)) = next else {
            assert!(std::time::Instant::now() < deadline, "{received:?}");
            continue;
        };
        let body: Value = serde_json::from_str(&event.body).expect("JSON");
        received.push(text(&body["data"]["envelope"], "text"));
        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("written");
    }
    assert_eq!(received, ["m0", "m1", "m2", "m3", "m4"]);
    while sql.number("SELECT count(*) FROM webhook_events WHERE state = 'waiting'").await > 0 {
        assert!(std::time::Instant::now() < deadline, "an event remains");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(requests.try_recv().is_err(), "an event was sent twice");
}

/// A received request.
#[derive(Debug, Clone, Default)]
struct ReceivedEvent {
    id: String,
    timestamp: String,
    signature: String,
    body: String,
}

impl ReceivedEvent {
    /// What is the same at each attempt.
    fn content(&self) -> (&str, &str) {
        (&self.id, &self.body)
    }
}

/// Starts a receiver that leaves the answers to the test.
fn start_receiver() -> (String, mpsc::Receiver<(ReceivedEvent, TcpStream)>) {
    start_receiver_at(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn start_receiver_at(address: SocketAddr) -> (String, mpsc::Receiver<(ReceivedEvent, TcpStream)>) {
    let listener = TcpListener::bind(address).expect("a free port");
    let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let event = read_event(&stream);
            if sender.send((event, stream)).is_err() {
                return;
            }
        }
    });
    (url, requests)
}

fn read_event(stream: &TcpStream) -> ReceivedEvent {
    let mut reader = BufReader::new(stream);
    let (mut event, mut length) = (ReceivedEvent::default(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        let Some((name, value)) = line.trim().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "webhook-id" => event.id = value.to_owned(),
            "webhook-timestamp" => event.timestamp = value.to_owned(),
            "webhook-signature" => event.signature = value.to_owned(),
            "content-length" => length = value.parse().expect("a number"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    event.body = String::from_utf8(body).expect("UTF-8");
    event
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}
