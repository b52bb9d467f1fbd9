//! Webhooks on the command line, and their events when a replica is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
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
    assert_eq!(sql.number("SELECT count(*) FROM outbox WHERE claim IS NOT NULL").await, 1);
    // Instead of waiting until the claim of the killed replica expires.
    sql.execute("UPDATE outbox SET next_attempt_at = now()").await;
    cluster.restart_replica(1).await;
    let (second, mut connection) = next();
    connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("written");
    assert_eq!(second, first);
    let deadline = std::time::Instant::now() + TIMEOUT;
    while sql.number("SELECT count(*) FROM outbox").await > 0 {
        assert!(std::time::Instant::now() < deadline, "the event remains");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(requests.try_recv().is_err(), "the event was sent a third time");
}

/// A request without its time: the id of the event and the body.
type ReceivedEvent = (String, String);

/// Starts a receiver that leaves the answers to the test.
fn start_receiver() -> (String, mpsc::Receiver<(ReceivedEvent, TcpStream)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
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
    let (mut id, mut length) = (String::new(), 0);
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
            "webhook-id" => id = value.to_owned(),
            "content-length" => length = value.parse().expect("a number"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (id, String::from_utf8(body).expect("UTF-8"))
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}
