//! Webhooks: who manages them, and what their receivers get.

use std::time::{Duration, Instant};

use guildhall_testkit::{NodeProcess, NodeScript, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;
use crate::support::webhook_receiver::{Answer, WebhookReceiver};
use crate::support::{Setup, TestServer, read_response};

const PUBLIC_URL: &str = "https://guildhall.example.org";

/// A tenant whose agent asks questions, on servers that may call loopback addresses.
async fn question_fixture() -> QuestionFixture {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("egress.allow", "127.0.0.0/8").with("http.public_url", PUBLIC_URL);
    QuestionFixture::with_setup(setup, db).await
}

impl QuestionFixture {
    async fn add_webhook(&self, receiver: &WebhookReceiver) -> String {
        self.cluster.create_webhook(&self.tenant.id, &receiver.url()).await.0
    }

    fn webhooks_path(&self) -> String {
        format!("/api/v1/tenants/{}/webhooks", self.tenant.id)
    }

    async fn list_webhooks(&self) -> Value {
        let token = &self.cluster.operator.token;
        self.cluster.second.get_as(&self.webhooks_path(), token).await.body["webhooks"].clone()
    }

    /// Sends a test event. Returns its id.
    async fn send_test(&self, webhook: &str) -> String {
        let path = format!("{}/{webhook}/test", self.webhooks_path());
        let sent = self.cluster.second.post_as(&path, &self.cluster.operator.token, json!({})).await;
        assert_eq!(sent.status, 202, "{}", sent.text);
        text(&sent.body, "eventId")
    }

    /// Waits until a webhook in the list meets a condition.
    async fn wait_for_webhook(&self, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let webhook = self.list_webhooks().await[0].clone();
            if condition(&webhook) {
                return webhook;
            }
            assert!(Instant::now() < deadline, "{webhook}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until nothing is left to be sent.
    async fn wait_for_empty_outbox(&self) {
        let mut sql = self.cluster.db.sql().await;
        let deadline = Instant::now() + Duration::from_secs(120);
        while sql.number("SELECT count(*) FROM outbox WHERE dead_at IS NULL").await > 0 {
            assert!(Instant::now() < deadline, "effects remain");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn audit_entries(&self, action: &str) -> Vec<Value> {
        let path = format!("/api/v1/tenants/{}/audit?limit=500", self.tenant.id);
        let log = self.cluster.first.get_as(&path, &self.cluster.operator.token).await.body;
        let entries = log["entries"].as_array().expect("entries").iter();
        let entries = entries.filter(|entry| text(entry, "action").starts_with(action));
        entries
            .map(|entry| json!([entry["action"], entry["body"]["actor"], entry["body"]["detail"]]))
            .collect()
    }
}

#[tokio::test]
async fn question_and_answer_are_sent_once_by_two_replicas() {
    let fixture = question_fixture().await;
    let (receiver, other) = (WebhookReceiver::start([]).await, WebhookReceiver::start([]).await);
    let webhook = fixture.add_webhook(&receiver).await;
    let only_decided = json!({ "url": other.url(), "events": ["approval.decided"] });
    let token = &fixture.cluster.operator.token;
    let created = fixture.cluster.first.post_as(&fixture.webhooks_path(), token, only_decided).await;
    assert_eq!(created.status, 201, "{}", created.text);

    let approval = fixture.ask("0", "curl -H 'Authorization: Bearer hunter2hunter2'").await;
    let requested = receiver.wait_for(1).await.remove(0);
    let shown = fixture.get(&approval).await;
    let about = json!({
        "approvalId": approval, "runId": shown["runId"], "sessionId": shown["sessionId"], "kind": "command",
        "tool": "shell", "expiresAt": requested.json()["data"]["expiresAt"],
        "link": format!("{PUBLIC_URL}/approve/{approval}"),
    });
    let sent_at = requested.json()["timestamp"].clone();
    let expected = json!({ "type": "approval.requested", "timestamp": sent_at, "data": about });
    assert_eq!(requested.json(), expected);
    assert!(requested.id.starts_with("evt_"), "{}", requested.id);

    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await.0, 200);
    fixture.wait_for_empty_outbox().await;
    let [_, decided] = <[_; 2]>::try_from(receiver.received()).expect("two events, each once");
    let mut answered = about;
    for (name, value) in [
        ("expiresAt", shown["expiresAt"].clone()),
        ("optionId", json!("yes")),
        ("effect", json!("allow")),
        ("decidedBy", json!([fixture.ada.principal])),
    ] {
        answered[name] = value;
    }
    let sent_at = decided.json()["timestamp"].clone();
    let expected = json!({ "type": "approval.decided", "timestamp": sent_at, "data": answered });
    assert_eq!(decided.json(), expected);
    let same_event = other.received();
    assert_eq!(same_event.len(), 1);
    assert_eq!((&same_event[0].id, &same_event[0].body), (&decided.id, &decided.body));
    assert_ne!(same_event[0].signature, decided.signature, "each webhook has its own secret");
    let listed = fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
    assert_eq!(json!([listed["id"], listed["lastFailure"]]), json!([webhook, null]));
}

#[tokio::test]
async fn many_questions_are_each_sent_once_by_two_replicas() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.add_webhook(&receiver).await;
    let mut asked = Vec::new();
    for request in 0..16 {
        asked.push(fixture.ask(&request.to_string(), &format!("echo {request}")).await);
    }
    fixture.wait_for_empty_outbox().await;
    let received = receiver.received();
    let mut told: Vec<String> =
        received.iter().map(|event| text(&event.json()["data"], "approvalId")).collect();
    told.sort();
    asked.sort();
    assert_eq!(told, asked);
}

#[tokio::test]
async fn expired_question_is_told_and_a_remembered_answer_is_not() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    fixture.cluster.create_approval_rule(&fixture.claim, &fixture.command).await;
    fixture.add_webhook(&receiver).await;
    // The rule answers it at once.
    fixture.ask("again", "remembered").await;
    let approval = fixture.ask("0", "ls").await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE approvals SET expires_at = now() - interval '1 second' WHERE status = 'pending'")
        .await;
    let received = receiver.wait_for(2).await;
    fixture.wait_for_empty_outbox().await;
    let told: Vec<Value> = received
        .iter()
        .map(|event| event.json())
        .map(|event| json!([event["type"], event["data"]["approvalId"], event["data"]["decidedBy"]]))
        .collect();
    let expected =
        [json!(["approval.requested", approval, null]), json!(["approval.decided", approval, ["expiry"]])];
    assert_eq!((told, receiver.received().len()), (expected.to_vec(), 2));
}

#[tokio::test]
async fn official_library_verifies_events_before_and_after_a_rotation() {
    let fixture = question_fixture().await;
    let receiver = OfficialReceiver::start();
    let (webhook, first_secret) = fixture.cluster.create_webhook(&fixture.tenant.id, &receiver.url).await;
    receiver.set_secret(&first_secret).await;
    let approval = fixture.ask("é", "ls").await;
    let received = receiver.wait_for(1).await;
    assert_eq!(json!([received[0]["verified"], received[0]["signatures"]]), json!([true, 1]), "{received:?}");
    assert_eq!(received[0]["payload"]["data"]["approvalId"], json!(approval));

    let rotate = async || {
        let path = format!("{}/{webhook}/rotate", fixture.webhooks_path());
        let rotated = fixture.cluster.second.post_as(&path, &fixture.cluster.operator.token, json!({})).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        rotated.body
    };
    let rotated = rotate().await;
    let listed = fixture.list_webhooks().await;
    assert_eq!(listed[0]["previousSecretEndsAt"], rotated["previousSecretEndsAt"]);
    // Both secrets sign, so the receiver can be changed at any time of the overlap.
    for (count, secret) in [(2, first_secret.clone()), (3, text(&rotated, "secret"))] {
        receiver.set_secret(&secret).await;
        let event = fixture.send_test(&webhook).await;
        let received = receiver.wait_for(count).await[count - 1].clone();
        let outcome = json!([received["id"], received["verified"], received["signatures"]]);
        assert_eq!(outcome, json!([event, true, 2]), "{received}");
    }
    // After the overlap only the new one signs.
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE webhooks SET previous_secret_ends_at = now() - interval '1 second'").await;
    receiver.set_secret(&first_secret).await;
    fixture.send_test(&webhook).await;
    let refused = receiver.wait_for(4).await[3].clone();
    let outcome = json!([refused["verified"], refused["signatures"], refused["error"]]);
    assert_eq!(outcome, json!([false, 1, "No matching signature found"]));
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    assert_eq!(failed["lastFailure"]["message"], "the receiver answered 401");
}

#[tokio::test]
async fn failed_attempts_are_repeated_with_the_same_id_and_body() {
    let fixture = question_fixture().await;
    let elsewhere = WebhookReceiver::start([]).await;
    let answers = [Answer::Status(500), Answer::Redirect(elsewhere.url()), Answer::Status(204)];
    let receiver = WebhookReceiver::start(answers).await;
    let webhook = fixture.add_webhook(&receiver).await;
    let event = fixture.send_test(&webhook).await;
    receiver.wait_for(3).await;
    fixture.wait_for_empty_outbox().await;
    let received = receiver.received();
    assert_eq!(received.len(), 3);
    for attempt in &received {
        assert_eq!((&attempt.id, &attempt.body), (&event, &received[0].body));
    }
    assert!(received.is_sorted_by_key(|attempt| attempt.timestamp));
    assert!(received[0].timestamp < received[2].timestamp, "the time of the attempt");
    assert_ne!(received[0].signature, received[2].signature);
    assert_eq!(elsewhere.received(), [], "a redirect is not followed");
    let listed = fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
    let failure = &listed["lastFailure"];
    let failure = json!([failure["eventId"], failure["attempt"], failure["message"], failure["isFinal"]]);
    assert_eq!(failure, json!([event, 2, "the receiver answered 302", false]));
}

#[tokio::test]
async fn receiver_that_is_gone_is_disabled() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(410)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    fixture.send_test(&webhook).await;
    let disabled = fixture.wait_for_webhook(|webhook| webhook["enabled"] == false).await;
    assert_eq!(disabled["disabledReason"], "gone");
    fixture.ask("0", "ls").await;
    fixture.wait_for_empty_outbox().await;
    assert_eq!(receiver.received().len(), 1);
    let path = format!("{}/{webhook}/test", fixture.webhooks_path());
    let refused = fixture.cluster.first.post_as(&path, &fixture.cluster.operator.token, json!({})).await;
    refused.assert_failure(409, "conflict");
    let host = receiver.address.to_string();
    let expected = json!(["webhook.disabled", null, { "host": host, "reason": "gone" }]);
    assert_eq!(fixture.audit_entries("webhook.disabled").await, [expected]);
}

#[tokio::test]
async fn silent_receiver_fails_after_ten_seconds_and_others_are_served() {
    let fixture = question_fixture().await;
    let silent = WebhookReceiver::start([Answer::Silence]).await;
    let endless = WebhookReceiver::start([Answer::EndlessBody]).await;
    fixture.add_webhook(&silent).await;
    fixture.add_webhook(&endless).await;
    fixture.ask("0", "ls").await;
    silent.wait_for(1).await;
    endless.wait_for(1).await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let message = text(&failed["lastFailure"], "message");
    assert!(message.starts_with("127.0.0.1 did not respond within 10s"), "{message}");
    fixture.wait_for_empty_outbox().await;
    let listed = fixture.list_webhooks().await;
    assert_eq!(listed[1]["lastFailure"], Value::Null, "the status is enough: the body is not read");
    assert_eq!((silent.received().len(), endless.received().len()), (2, 1));
}

#[tokio::test]
async fn event_is_sent_when_the_receiver_is_up_again() {
    let fixture = question_fixture().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
    let address = free.expect("a free port");
    let url = format!("http://{address}/hook");
    let (webhook, _) = fixture.cluster.create_webhook(&fixture.tenant.id, &url).await;
    let event = fixture.send_test(&webhook).await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let message = text(&failed["lastFailure"], "message");
    assert!(message.starts_with("cannot reach 127.0.0.1"), "{message}");
    let receiver = WebhookReceiver::start_at(address, []).await;
    assert_eq!(receiver.wait_for(1).await[0].id, event);
    fixture.wait_for_webhook(|webhook| webhook["lastSuccessAt"].is_string()).await;
}

#[tokio::test]
async fn last_failed_attempt_is_final_and_visible() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(503), Answer::Status(503)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    let event = fixture.send_test(&webhook).await;
    fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE outbox SET attempts = 19, next_attempt_at = now() WHERE claim IS NULL").await;
    let failed = fixture.wait_for_webhook(|webhook| webhook["lastFailure"]["isFinal"] == true).await;
    let failure = &failed["lastFailure"];
    let expected = json!([event, 20, "the receiver answered 503"]);
    assert_eq!(json!([failure["eventId"], failure["attempt"], failure["message"]]), expected);
    fixture.wait_for_empty_outbox().await;
    assert_eq!(sql.number("SELECT count(*) FROM outbox WHERE dead_at IS NOT NULL").await, 1);
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn deleted_webhook_receives_nothing_more() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([Answer::Status(500)]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    fixture.send_test(&webhook).await;
    fixture.wait_for_webhook(|webhook| webhook["lastFailure"].is_object()).await;
    let path = format!("{}/{webhook}", fixture.webhooks_path());
    let token = &fixture.cluster.operator.token;
    let deleted = fixture.cluster.first.request_as(Method::DELETE, &path, token, None).await;
    assert_eq!((deleted.status.as_u16(), deleted.body), (200, json!({ "id": webhook, "deleted": true })));
    let before = receiver.received().len();
    fixture.wait_for_empty_outbox().await;
    assert_eq!((before, receiver.received().len()), (1, 1));
    let again = fixture.cluster.second.request_as(Method::DELETE, &path, token, None).await;
    again.assert_failure(404, "not-found");
}

#[tokio::test]
async fn urls_of_internal_addresses_are_refused_by_default() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |url: &str| {
        let body = json!({ "url": url, "events": ["approval.requested"] });
        cluster.first.post_as(&path, &cluster.operator.token, body).await
    };
    for url in [
        "http://127.0.0.1:9/hunter2",
        "http://localhost/hunter2",
        "https://a.localhost/hunter2",
        "https://2130706433/hunter2",
        "https://[::1]/hunter2",
        "https://[::ffff:169.254.169.254]/hunter2",
        "https://10.1.2.3/hunter2",
        "https://169.254.169.254/hunter2",
        "https://metadata.google.internal/hunter2",
        "https://169.254.169.254.nip.io/hunter2",
    ] {
        let refused = create(url).await;
        refused.assert_failure(403, "tenant-policy-denied");
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    for url in [
        "http://example.org/hunter2",
        "ftp://example.org/hunter2",
        "https://me:hunter2@example.org/",
        "https://example.org/#hunter2",
        "hunter2",
    ] {
        let refused = create(url).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    assert_eq!(cluster.db.sql().await.number("SELECT count(*) FROM webhooks").await, 0);
}

#[tokio::test]
async fn webhook_is_created_once_per_idempotency_key_and_shown_without_secret() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |server: &TestServer, url: &str| {
        let body = json!({ "url": url, "events": ["approval.requested"], "description": "team chat" });
        let request = server.client.post(server.url(&path)).bearer_auth(&cluster.operator.token);
        let request = request.header("idempotency-key", "one").json(&body);
        read_response(request.send().await.expect("a response")).await
    };
    let url = "https://hooks.example.org/a";
    let (first, second) = tokio::join!(create(&cluster.first, url), create(&cluster.second, url));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body["id"], second.body["id"]);
    let secrets = [&first, &second].map(|created| created.body["secret"].as_str());
    let secret = secrets.into_iter().flatten().collect::<Vec<_>>();
    let [secret] = secret.as_slice() else {
        panic!("the secret is shown once: {} {}", first.text, second.text)
    };
    assert_eq!((secret.starts_with("whsec_"), secret.len()), (true, 50));
    create(&cluster.first, "https://other.example.org/").await.assert_failure(409, "idempotency-conflict");

    let list = cluster.second.get_as(&path, &cluster.operator.token).await;
    let expected = json!({
        "id": first.body["id"], "url": url, "events": ["approval.requested"], "description": "team chat",
        "createdBy": cluster.operator.principal, "createdAt": list.body["webhooks"][0]["createdAt"],
        "enabled": true, "disabledAt": null, "disabledReason": null, "previousSecretEndsAt": null,
        "lastSuccessAt": null, "lastFailure": null,
    });
    assert_eq!(list.body, json!({ "webhooks": [expected] }));
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let created = log.body["entries"].as_array().expect("entries").last().expect("an entry").clone();
    let detail = json!({ "host": "hooks.example.org", "events": ["approval.requested"] });
    assert_eq!(json!([created["action"], created["body"]["detail"]]), json!(["webhook.created", detail]));
    assert!(!log.text.contains(secret));
    let stored = format!("SELECT count(*) FROM webhooks AS t WHERE t::text LIKE '%{secret}%'");
    assert_eq!(cluster.db.sql().await.number(stored).await, 0);
}

#[tokio::test]
async fn tenant_has_at_most_twenty_webhooks() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    for _ in 0..17 {
        cluster.create_webhook(&tenant, "https://hooks.example.org/").await;
    }
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |server: &TestServer| {
        let body = json!({ "url": "https://hooks.example.org/", "events": ["approval.decided"] });
        server.post_as(&path, &cluster.operator.token, body).await.status.as_u16()
    };
    let servers = [&cluster.first, &cluster.second].into_iter().cycle().take(8);
    let mut statuses = futures::future::join_all(servers.map(create)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 201, 409, 409, 409, 409, 409]);
    let other = cluster.create_tenant("other").await;
    cluster.create_webhook(&other, "https://hooks.example.org/").await;
}

#[tokio::test]
async fn only_members_who_manage_keys_manage_webhooks() {
    let fixture = question_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    let cluster = &fixture.cluster;
    let user = cluster.create_user("person").await;
    let path = fixture.webhooks_path();
    let requests = [
        (Method::GET, path.clone(), None, 200),
        (
            Method::POST,
            path.clone(),
            Some(json!({ "url": "https://example.org", "events": ["approval.decided"] })),
            201,
        ),
        (Method::POST, format!("{path}/{webhook}/rotate"), None, 200),
        (Method::POST, format!("{path}/{webhook}/test"), None, 202),
        (Method::DELETE, format!("{path}/{webhook}"), None, 200),
    ];
    let send = async |user: &SignedInUser, (method, path, body, _): &(Method, String, Option<Value>, u16)| {
        cluster.second.request_as(method.clone(), path, &user.token, body.clone()).await
    };
    for role in ["viewer", "developer"] {
        cluster.set_role(&fixture.tenant.id, &user, role).await;
        for request in &requests {
            send(&user, request).await.assert_failure(403, "forbidden");
        }
    }
    cluster.set_role(&fixture.tenant.id, &user, "operator").await;
    for request in &requests {
        let response = send(&user, request).await;
        assert_eq!(response.status.as_u16(), request.3, "{} {}: {}", request.0, request.1, response.text);
    }
    let entries = fixture.audit_entries("webhook.").await;
    let actions: Vec<String> =
        entries.iter().map(|entry| entry[0].as_str().expect("text").to_owned()).collect();
    let expected =
        ["webhook.created", "webhook.created", "webhook.secret-rotated", "webhook.tested", "webhook.deleted"];
    assert_eq!(actions, expected);
    assert!(entries[1..].iter().all(|entry| entry[1] == user.principal.as_str()), "{entries:?}");
}

#[tokio::test]
async fn events_of_a_webhook_are_a_set_of_known_types() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    for body in [
        json!({ "events": [] }),
        json!({ "events": ["approval.requested", "approval.requested"] }),
        json!({ "events": ["webhook.test"] }),
        json!({ "events": ["run.completed"] }),
        json!({ "events": ["approval.requested"], "description": "a".repeat(201) }),
        json!({ "events": ["approval.requested"], "description": "a\nb" }),
        json!({ "events": ["approval.requested"], "secret": "mine" }),
    ] {
        let mut body = body;
        body["url"] = json!("https://hooks.example.org/");
        let refused = cluster.first.post_as(&path, &cluster.operator.token, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
}

/// The receiver that uses the official library.
struct OfficialReceiver {
    url: String,
    client: reqwest::Client,
    _process: NodeProcess,
}

impl OfficialReceiver {
    fn start() -> Self {
        let process = NodeProcess::start(NodeScript::WebhookReceiver, &json!({}));
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { url: text(&process.output, "url"), client, _process: process }
    }

    async fn set_secret(&self, secret: &str) {
        let request = self.client.put(format!("{}/secret", self.url)).body(secret.to_owned());
        assert_eq!(request.send().await.expect("a response").status(), 204);
    }

    /// Waits until this many requests have come.
    async fn wait_for(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let response =
                self.client.get(format!("{}/received", self.url)).send().await.expect("a response");
            let text = response.text().await.expect("a body");
            let received: Vec<Value> = serde_json::from_str(&text).expect("JSON");
            if received.len() >= count {
                return received;
            }
            assert!(Instant::now() < deadline, "{} of {count} requests came", received.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
