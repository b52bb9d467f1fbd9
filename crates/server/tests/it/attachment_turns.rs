//! Images in the messages of runs: who may name them, what is stored, and what agents and later readers get.

use std::time::Duration;

use guildhall_domain::ids::AttachmentId;
use guildhall_runtime::Clock;
use guildhall_store::attachments::{RemovalAges, begin_removal};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::agent_threads::{
    RUNS, THREAD, TestTurn, agui_request, input_with, read_frames, tenant_with_agent,
};
use crate::support::attachments::{
    AttachmentFixture, HOUR, PNG, PUBLIC_URL, key, path_of, upload, upload_to,
};
use crate::support::runs::{TestTenant, text};
use crate::support::{TestResponse, read_response};

const REFUSED_URL: &str = "binary content url: must be a signed URL of your own, from POST /api/v1/agent/attachments, that \
                           has not expired";

/// Servers with a default agent.
struct Fixture {
    attachments: AttachmentFixture,
    tenant: TestTenant,
}

impl Fixture {
    async fn new() -> Self {
        let attachments = AttachmentFixture::without_tenant(&[]).await;
        let tenant = tenant_with_agent(&attachments.cluster).await;
        let attachments = AttachmentFixture { tenant: tenant.id.clone(), ..attachments };
        Self { attachments, tenant }
    }

    fn token(&self) -> &str {
        &self.attachments.cluster.operator.token
    }

    /// Returns a URL of an attachment of the operator that was signed some time ago for an hour.
    fn url_signed_before(&self, attachment: &Value, before: SignedDuration) -> String {
        let (id, now): (AttachmentId, _) =
            (text(attachment, "id").parse().expect("an id"), Clock::system().now());
        let owner = self.attachments.owner(&self.attachments.cluster.operator);
        format!("{PUBLIC_URL}{}", key().sign(owner, id, now - before, HOUR))
    }

    async fn post(&self, input: &Value) -> TestResponse {
        self.attachments.cluster.second.post_as(RUNS, self.token(), input.clone()).await
    }

    /// Sends the input of an AG-UI client. Returns the response to an input that is refused.
    async fn post_agui(&self, input: &Value) -> TestResponse {
        let request = agui_request(&self.attachments.cluster.first, self.token(), input);
        read_response(request.send().await.expect("a response")).await
    }

    async fn session_count(&self) -> i64 {
        self.attachments.cluster.db.sql().await.number("SELECT count(*) FROM sessions").await
    }

    /// Reads an attachment as the runner of a turn.
    async fn read_as_runner(&self, turn: &TestTurn, attachment: &str) -> reqwest::Response {
        let server = &self.attachments.cluster.first;
        let path = format!("/api/v1/runs/{}/attachments/{attachment}", turn.claim.run);
        let request = server.client.get(server.url(&path)).bearer_auth(&turn.claim.token);
        request.send().await.expect("a response")
    }
}

/// Returns the message of a user with a text and images, in the words of the Agent Run Input Protocol.
fn message_with(urls: &[&str]) -> Value {
    let image = |url: &&str| json!({ "type": "binary", "mimeType": "image/png", "url": url });
    let blocks = [json!({ "type": "text", "text": "what is it?" })].into_iter().chain(urls.iter().map(image));
    json!([{ "id": "msg-1", "role": "user", "content": blocks.collect::<Vec<_>>() }])
}

/// Returns the same message in the words of AG-UI 1.0.
fn agui_message_with(urls: &[&str]) -> Value {
    let image = |url: &&str| json!({ "type": "image", "source": { "type": "url", "value": url } });
    let parts = [json!({ "type": "text", "text": "what is it?" })].into_iter().chain(urls.iter().map(image));
    json!([{ "id": "msg-1", "role": "user", "content": parts.collect::<Vec<_>>() }])
}

/// Asserts that a signed URL is new, and that it leads to the image.
async fn assert_signed_anew(fixture: &Fixture, url: &str) {
    let expires = url.split_once("expires=").and_then(|(_, rest)| rest.split_once('&')).expect("an expiry").0;
    let expires = Timestamp::from_second(expires.parse().expect("a number")).expect("a time");
    let left = expires.duration_since(Clock::system().now());
    assert!(left > SignedDuration::from_mins(55), "{left}");
    let server = &fixture.attachments.cluster.first;
    let path = url.strip_prefix(PUBLIC_URL).expect("our origin");
    let read = server.client.get(server.url(path)).send().await.expect("a response");
    assert_eq!((read.status().as_u16(), &*read.bytes().await.expect("a body")), (200, PNG), "{url}");
}

// covers: I9
#[tokio::test]
async fn image_of_a_message_reaches_the_agent_and_is_signed_anew_for_readers() {
    let fixture = Fixture::new().await;
    let (used, unused) = (fixture.attachments.upload().await, fixture.attachments.upload().await);
    let id = text(&used, "id");
    let url = fixture.url_signed_before(&used, SignedDuration::from_mins(59));
    let accepted = fixture.post(&input_with(&json!({ "messages": message_with(&[&url, &url]) }))).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text);

    let turn = TestTurn::claim(&fixture.attachments.cluster.first, &fixture.tenant).await;
    let commands = fixture.attachments.cluster.first.poll(&turn.claim, 0, 0).await;
    let reference = json!([{ "id": id, "mimeType": "image/png" }]);
    let payload = &commands.body["commands"][0]["payload"];
    assert_eq!(
        (&payload["prompt"], &payload["attachments"]),
        (&json!("what is it?"), &reference),
        "{payload}"
    );
    let read = fixture.read_as_runner(&turn, &id).await;
    assert_eq!(
        (read.status().as_u16(), &read.headers()["content-type"]),
        (200, &"image/png".parse().unwrap())
    );
    assert_eq!(read.bytes().await.expect("a body"), PNG);
    let stored = "SELECT (SELECT count(*) FROM commands WHERE payload::text LIKE '%signature=%') + \
                  (SELECT count(*) FROM journal_entries WHERE body::text LIKE '%signature=%')";
    assert_eq!(fixture.attachments.cluster.db.sql().await.number(stored).await, 0, "no URL is stored");
    turn.say(&fixture.attachments.cluster.first, "m1", "a pixel").await;
    turn.complete(&fixture.attachments.cluster.first).await;

    for server in [&fixture.attachments.cluster.first, &fixture.attachments.cluster.second] {
        let history = server.get_as("/api/v1/agent/history?tenantId=acme", fixture.token()).await;
        let message = &history.body["messages"][0];
        assert_eq!(message["content"], "what is it?", "{}", history.text);
        let attachments = message["attachments"].as_array().expect("attachments");
        assert_eq!((attachments.len(), &attachments[0]["mimeType"]), (1, &json!("image/png")));
        assert_signed_anew(&fixture, &text(&attachments[0], "url")).await;
    }
    let nothing = Duration::ZERO;
    let ages = RemovalAges { unreferenced: nothing, unfinished_upload: nothing, unfinished_removal: nothing };
    let removed = begin_removal(&fixture.attachments.store(), ages, 9).await.expect("claimed");
    assert_eq!(removed.iter().map(|(_, id)| id.to_string()).collect::<Vec<_>>(), [text(&unused, "id")]);
}

#[tokio::test]
async fn replayed_run_has_its_image_in_the_words_of_each_version() {
    let fixture = Fixture::new().await;
    let uploaded = fixture.attachments.upload().await;
    let url = fixture.url_signed_before(&uploaded, SignedDuration::from_mins(59));
    let input = input_with(&json!({ "messages": message_with(&[&url]) }));
    assert_eq!(fixture.post(&input).await.status, 200);
    let turn = TestTurn::claim(&fixture.attachments.cluster.first, &fixture.tenant).await;
    turn.complete(&fixture.attachments.cluster.first).await;

    let content = |frames: &[Value]| frames[0]["input"]["messages"][0]["content"].clone();
    let text_part = json!({ "type": "text", "text": "what is it?" });
    let server = &fixture.attachments.cluster.second;
    let path = format!("/api/v1/agent/runs/{THREAD}/events?tenantId=acme");
    let (thread, _) =
        read_frames(server.client.get(server.url(&path)).bearer_auth(fixture.token()), |_| false).await;
    let mut expected =
        json!([text_part, { "type": "image", "source": { "type": "url", "mimeType": "image/png" } }]);
    let source = text(&content(&thread)[1]["source"], "value");
    expected[1]["source"]["value"] = json!(source);
    assert_eq!(content(&thread), expected);
    assert_signed_anew(&fixture, &source).await;

    // The same run, with a URL that has expired meanwhile: it is replayed and not checked again.
    let expired = fixture.url_signed_before(&uploaded, SignedDuration::from_hours(2));
    let repeated = input_with(&json!({ "messages": message_with(&[&expired]) }));
    assert_eq!(fixture.post(&repeated).await.status, 200);
    let (old, _) = read_frames(agui_request(server, fixture.token(), &repeated), |_| false).await;
    let source = text(&content(&old)[1], "url");
    assert_eq!(
        content(&old),
        json!([text_part, { "type": "binary", "mimeType": "image/png", "url": source }])
    );
    assert_signed_anew(&fixture, &source).await;
}

// covers: I9
#[tokio::test]
async fn url_that_is_not_a_valid_one_of_the_caller_is_refused() {
    let fixture = Fixture::new().await;
    let cluster = &fixture.attachments.cluster;
    let uploaded = fixture.attachments.upload().await;
    let url = text(&uploaded, "url");
    let other = cluster.create_user("other").await;
    cluster.set_role(&fixture.tenant.id, &other, "developer").await;
    let theirs = upload(&cluster.first, &other.token, "image/png", PNG).await;
    cluster.create_tenant("else").await;
    let elsewhere = upload_to(&cluster.first, "else", fixture.token(), "image/png", PNG).await;
    let signature_at = url.find("signature=").expect("a signature") + "signature=".len();
    let digit = if url[signature_at..].starts_with('0') { "1" } else { "0" };
    let urls = [
        ("forged", format!("{}{digit}{}", &url[..signature_at], &url[signature_at + 1..])),
        ("expired", fixture.url_signed_before(&uploaded, SignedDuration::from_hours(2))),
        ("of another user", text(&theirs.body, "url")),
        ("of another tenant", text(&elsewhere.body, "url")),
        ("another origin", url.replace(PUBLIC_URL, "https://evil.example")),
        ("another scheme", url.replace("http://", "https://")),
        ("without an origin", path_of(&uploaded)),
        ("traversal", url.replace("/content?", "/../../runs/content?")),
        ("foreign", "https://storage.example.com/agent-inputs/user-123/image.png?signature=xxx".to_owned()),
        ("data", "data:image/png;base64,iVBORw0KGgo=".to_owned()),
        ("local file", "file:///etc/passwd".to_owned()),
        ("link-local", "http://169.254.169.254/latest/meta-data/".to_owned()),
    ];
    for (what, bad) in &urls {
        // A good one beside it changes nothing.
        let refused = fixture.post(&input_with(&json!({ "messages": message_with(&[&url, bad]) }))).await;
        refused.assert_failure(422, "invalid-input");
        assert_eq!(text(&refused.body, "message"), REFUSED_URL, "{what}");
        for messages in [agui_message_with(&[bad]), message_with(&[bad])] {
            let refused = fixture.post_agui(&input_with(&json!({ "messages": messages }))).await;
            refused.assert_failure(422, "invalid-input");
            assert_eq!(text(&refused.body, "message"), REFUSED_URL, "{what}");
        }
    }
    assert_eq!(fixture.session_count().await, 0, "nothing was created");
    let used = cluster.db.sql().await.number("SELECT count(*) FROM attachments WHERE is_used").await;
    assert_eq!(used, 0);
}

#[tokio::test]
async fn agui_message_has_at_most_three_images_and_needs_no_text() {
    let fixture = Fixture::new().await;
    let url = text(&fixture.attachments.upload().await, "url");
    let refused =
        fixture.post_agui(&input_with(&json!({ "messages": agui_message_with(&[url.as_str(); 4]) }))).await;
    refused.assert_failure(422, "invalid-input");
    assert_eq!(text(&refused.body, "message"), "Too many attachments");
    let data = json!([{ "id": "m", "role": "user", "content": [
        { "type": "image", "source": { "type": "data", "value": "aGk=", "mimeType": "image/png" } },
    ] }]);
    fixture.post_agui(&input_with(&json!({ "messages": data }))).await.assert_failure(422, "invalid-input");

    let mut messages = agui_message_with(&[&url]);
    messages[0]["content"].as_array_mut().expect("parts").remove(0);
    let input = input_with(&json!({ "messages": messages, "protocolVersion": "1.0" }));
    let stream = agui_request(&fixture.attachments.cluster.first, fixture.token(), &input);
    let ((frames, _), ()) = tokio::join!(read_frames(stream, |_| false), async {
        let turn = TestTurn::claim(&fixture.attachments.cluster.second, &fixture.tenant).await;
        turn.complete(&fixture.attachments.cluster.second).await;
    });
    let content = &frames[0]["input"]["messages"][0]["content"];
    assert_eq!(
        (content.as_array().map(Vec::len), &content[0]["type"]),
        (Some(1), &json!("image")),
        "{frames:?}"
    );
    let history =
        fixture.attachments.cluster.first.get_as("/api/v1/agent/history?tenantId=acme", fixture.token());
    let message = history.await.body["messages"][0].clone();
    assert_eq!((&message["content"], message["attachments"].as_array().map(Vec::len)), (&json!(""), Some(1)));
}

#[tokio::test]
async fn runner_reads_only_what_a_message_of_its_session_has_named() {
    let fixture = Fixture::new().await;
    let cluster = &fixture.attachments.cluster;
    let (named, other) = (fixture.attachments.upload().await, fixture.attachments.upload().await);
    let url = text(&named, "url");
    fixture.post(&input_with(&json!({ "messages": message_with(&[&url]) }))).await;
    let turn = TestTurn::claim(&cluster.first, &fixture.tenant).await;
    // The payload of a command is the user's own text: naming an attachment there gives no access to it.
    let path = format!("/api/v1/runs/{}/commands", turn.claim.run);
    let payload =
        json!({ "prompt": "x", "attachments": [{ "id": text(&other, "id"), "mimeType": "image/png" }] });
    let forged =
        cluster.first.post_as(&path, fixture.token(), json!({ "type": "turn", "payload": payload })).await;
    assert_eq!(forged.status, 201, "{}", forged.text);
    for id in [text(&other, "id"), AttachmentId::generate().to_string()] {
        let read = read_response(fixture.read_as_runner(&turn, &id).await).await;
        read.assert_failure(404, "not-found");
    }
    let (id, thread) = (text(&named, "id"), json!("0192f0c1-2222-7000-8000-000000000000"));
    assert_eq!(fixture.read_as_runner(&turn, &id).await.status(), 200);
    turn.complete(&cluster.first).await;

    fixture.post(&input_with(&json!({ "threadId": thread, "runId": "run-2" }))).await;
    let elsewhere = TestTurn::claim(&cluster.first, &fixture.tenant).await;
    assert_ne!(elsewhere.claim.run, turn.claim.run);
    let read = read_response(fixture.read_as_runner(&elsewhere, &id).await).await;
    read.assert_failure(404, "not-found");
}
