//! Event streams of runs and sessions, on two replicas.

mod fan_out;
mod faults;
mod session;
mod slow_client;

use std::time::{Duration, Instant};

use guildhall_domain::ops::capability::{ENVELOPE_VERSION, EVENT_SCHEMA_VERSION, Protocol};
use guildhall_testkit::{PrivateEngines, Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, wait_for_lock};
use crate::support::events::{EventStream, StreamEvent};
use crate::support::runs::{RunClaim, TestTenant, assistant_message, run_request, text};
use crate::support::{Setup, read_response};

/// A claimed run with a running command.
pub(crate) struct StreamFixture {
    pub(crate) tenant: TestTenant,
    pub(crate) run: String,
    pub(crate) command: String,
    pub(crate) claim: RunClaim,
    pub(crate) path: String,
}

impl StreamFixture {
    pub(crate) async fn new(cluster: &Cluster, slug: &str) -> Self {
        let tenant = cluster.create_test_tenant(slug).await;
        let run = cluster.create_run(&tenant).await;
        let command = cluster.send_turn(&run, "go").await;
        let claim = cluster.first.claim(&tenant, &run).await;
        assert_eq!(cluster.first.ack(&claim, &command).await.status, 200);
        let path = format!("/api/v1/runs/{run}/events/stream");
        Self { tenant, run, command, claim, path }
    }

    /// Appends assistant messages to the run.
    pub(crate) async fn append_messages(&self, cluster: &Cluster, texts: &[&str]) {
        let events: Vec<Value> =
            texts.iter().map(|text| assistant_message(text, &self.command, text)).collect();
        let response = cluster.first.append_events(&self.claim, json!(events)).await;
        assert_eq!(response.status, 200, "{}", response.text);
    }
}

pub(crate) fn data(events: &[StreamEvent]) -> Vec<Value> {
    events.iter().map(|event| event.data.clone()).collect()
}

// covers: C4, C5
// exercises: typed_event_schema
#[tokio::test]
async fn stream_sends_hello_replay_and_live_events_with_versions() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    fixture.append_messages(&cluster, &["old"]).await;
    let history = cluster.list_events(&fixture.run).await;
    let request =
        cluster.second.client.get(cluster.second.url(&fixture.path)).bearer_auth(&cluster.operator.token);
    let response = request.header("x-guildhall-client-id", "tab:1").send().await.expect("a response");
    for (name, value) in
        [("x-accel-buffering", "no"), ("cache-control", "no-cache"), ("x-guildhall-client-id", "tab:1")]
    {
        assert_eq!(response.headers()[name], value);
    }
    let mut stream = EventStream::new(response);
    let (event, protocol) = (EVENT_SCHEMA_VERSION, Protocol::CURRENT.to_string());
    let hello = stream.next_frame().await.expect("a frame");
    let expected = json!({ "v": event, "type": "hello", "clientId": "tab:1", "protocol": protocol });
    assert_eq!((hello.kind.as_str(), hello.id, hello.data), ("hello", None, expected));
    assert_eq!(
        data(&stream.next_events(history.len()).await),
        history,
        "the stream and the pages have the same events"
    );
    let replayed = stream.next_frame().await.expect("a frame");
    let count = history.len();
    let expected = json!({ "v": event, "type": "replay_complete", "replayedCount": count, "lastSeq": count });
    assert_eq!((replayed.kind.as_str(), replayed.id, replayed.data), ("replay_complete", None, expected));
    fixture.append_messages(&cluster, &["new"]).await;
    let live = stream.next_frame().await.expect("a frame");
    assert_eq!(live.data, *cluster.list_events(&fixture.run).await.last().expect("events"));
    assert_eq!((&live.data["v"], &live.data["type"]), (&json!(event), &json!("assistant_message")));
    assert_eq!(live.kind, "event", "the event type of a runner is not the frame type");
    let capabilities = cluster.first.get("/capabilities").await.body;
    assert_eq!(
        json!([capabilities["v"], capabilities["protocol"]["current"]]),
        json!([ENVELOPE_VERSION, protocol])
    );
}

#[tokio::test]
async fn stream_starts_with_a_retry_time_and_assigns_a_client_id() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut stream = cluster.first.open_stream(&fixture.path, &cluster.operator.token, None).await;
        let first = stream.response.chunk().await.expect("bytes").expect("an open stream");
        assert!(first.starts_with(b"retry: 3000\n\n"), "{first:?}");
        let client_id = stream.response.headers()["x-guildhall-client-id"].to_str().expect("text").to_owned();
        assert!(client_id.starts_with("client_"), "{client_id}");
        ids.push(client_id);
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn invalid_stream_headers_are_refused_and_not_repeated() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let session = text(&cluster.get_run(&fixture.run).await, "sessionId");
    let session = format!("/api/v1/sessions/{session}/stream");
    let run_cursor = "00000000deadbeef-1";
    let session_cursor = "00000000deadbeef-1-1";
    let invalid = [
        (&fixture.path, "last-event-id", "nonsense"),
        (&fixture.path, "last-event-id", "0"),
        (&fixture.path, "last-event-id", session_cursor),
        (&session, "last-event-id", run_cursor),
        (&session, "last-event-id", "00000000deadbeef-0-1"),
        (&fixture.path, "x-guildhall-client-id", "two words"),
        (&fixture.path, "x-guildhall-client-id", ""),
        (&session, "x-guildhall-client-id", &"x".repeat(129)),
    ];
    for (path, name, value) in invalid {
        let request = cluster.first.client.get(cluster.first.url(path)).bearer_auth(&cluster.operator.token);
        let response = read_response(request.header(name, value).send().await.expect("a response")).await;
        response.assert_failure(400, "schema-invalid");
        let message = response.body["message"].as_str().expect("a message");
        assert!(value.is_empty() || value == "0" || !message.contains(value), "{message}");
    }
    for (path, cursor) in [(&fixture.path, run_cursor), (&session, session_cursor)] {
        let mut stream = cluster.first.open_stream(path, &cluster.operator.token, Some(cursor)).await;
        let gap = stream.next().await.expect("a frame");
        let expected = json!({ "v": 1, "type": "gap", "recovered": false, "reason": "other_incarnation" });
        assert_eq!((gap.kind.as_str(), gap.id, gap.data), ("gap", None, expected));
        let first = stream.next().await.expect("a frame");
        assert_eq!(first.data["seq"], 1, "the stream restarts at the first event");
        let (incarnation, _) = first.id.as_deref().expect("a cursor").split_once('-').expect("a cursor");
        let ahead =
            if path == &session { format!("{incarnation}-1-999") } else { format!("{incarnation}-999") };
        let mut stream = cluster.second.open_stream(path, &cluster.operator.token, Some(&ahead)).await;
        assert_eq!(stream.next().await.expect("a frame").data["reason"], "ahead_of_log");
        assert_eq!(stream.next().await.expect("a frame").data["seq"], 1);
    }
}

#[tokio::test]
async fn cursor_resumes_on_the_other_replica_without_gap_or_duplicate() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    fixture.append_messages(&cluster, &["a", "b", "c"]).await;
    let history = cluster.list_events(&fixture.run).await;
    let mut received =
        cluster.first.open_stream(&fixture.path, &cluster.operator.token, None).await.next_events(2).await;
    while received.len() < history.len() {
        let server = if received.len() % 2 == 0 { &cluster.second } else { &cluster.first };
        let cursor = received.last().and_then(|last| last.id.clone());
        let mut stream = server.open_stream(&fixture.path, &cluster.operator.token, cursor.as_deref()).await;
        received.extend(stream.next_events(1).await);
    }
    assert_eq!(data(&received), history);
    let end = received.last().and_then(|last| last.id.clone());
    let mut at_the_end =
        cluster.first.open_stream(&fixture.path, &cluster.operator.token, end.as_deref()).await;
    at_the_end.next_frame().await.expect("hello");
    let replayed = at_the_end.next_frame().await.expect("a frame").data;
    assert_eq!(json!([replayed["replayedCount"], replayed["lastSeq"]]), json!([0, history.len()]));
}

#[tokio::test]
async fn runner_cannot_append_stream_notices() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    for own in guildhall_domain::journal::follow::notice::ALL {
        let event = json!({ "id": own, "type": own, "payload": { "failureKind": "unauthenticated" } });
        cluster
            .first
            .append_events(&fixture.claim, json!([event]))
            .await
            .assert_failure(400, "schema-invalid");
    }
}

/// A revocation closes all streams within a second, also without NATS.
#[tokio::test]
async fn revoked_key_loses_its_streams_within_1s_without_nats() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let cluster = Cluster::with_setup(Setup::with_private_engines(&db, &engines.urls()), db).await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let session = text(&cluster.get_run(&fixture.run).await, "sessionId");
    engines.nats.kill();
    let (id, secret) = cluster.create_key(&fixture.tenant.id, "viewer").await;
    let mut streams = Vec::new();
    for path in [&fixture.path, &format!("/api/v1/sessions/{session}/stream")] {
        for server in [&cluster.first, &cluster.second] {
            let mut stream = server.open_stream(path, &secret, None).await;
            stream.next_events(1).await;
            streams.push(stream);
        }
    }
    let revoke = format!("/api/v1/tenants/{}/keys/{id}", fixture.tenant.id);
    assert_eq!(
        cluster.first.request_as(Method::DELETE, &revoke, &cluster.operator.token, None).await.status,
        200
    );
    let began = Stopwatch::start();
    for stream in &mut streams {
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event);
        }
        let last = last.expect("a closing event");
        assert_eq!((last.kind.as_str(), &last.data["failureKind"]), ("closed", &json!("unauthenticated")));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "the stream stayed open for {:?}", began.elapsed());
}

/// Permissions that cannot be read are denied, but not before the configured time.
#[tokio::test]
async fn stream_closes_when_permissions_cannot_be_checked() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls()).with("http.stream_check_timeout", "2s");
    let cluster = Cluster::with_setup(setup, db).await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let mut stream = cluster.first.open_stream(&fixture.path, &cluster.operator.token, None).await;
    stream.next_events(1).await;
    engines.postgres.kill();
    let (began, stopwatch) = (Instant::now(), Stopwatch::start());
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    let last = last.expect("a closing event");
    assert_eq!((last.kind.as_str(), &last.data["failureKind"]), ("closed", &json!("infra-failed")));
    assert!(began.elapsed() > Duration::from_millis(1500), "closed after {:?}", began.elapsed());
    assert!(stopwatch.elapsed() < Duration::from_secs(4), "still open after {:?}", stopwatch.elapsed());
}

/// Nothing is sent on permissions that are older than a second; a short outage of the check does not end the stream.
#[tokio::test]
async fn stream_pauses_while_permissions_cannot_be_checked() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let mut stream = cluster.second.open_stream(&fixture.path, &cluster.operator.token, None).await;
    let history = cluster.list_events(&fixture.run).await.len();
    stream.next_events(history).await;
    let (mut lock, mut watch) = (cluster.db.sql().await, cluster.db.sql().await);
    lock.execute("BEGIN; LOCK TABLE memberships IN ACCESS EXCLUSIVE MODE").await;
    wait_for_lock(&mut watch).await;
    // The last check began before the lock.
    tokio::time::sleep(Duration::from_secs(1)).await;
    fixture.append_messages(&cluster, &["paused"]).await;
    let paused = tokio::time::timeout(Duration::from_secs(2), stream.next_events(1)).await;
    assert!(paused.is_err(), "sent without a check: {paused:?}");
    lock.execute("COMMIT").await;
    let resumed = stream.next_events(1).await;
    assert_eq!(resumed[0].data["payload"]["text"], "paused");
}

#[tokio::test]
async fn removed_member_loses_the_stream_and_keeps_the_token() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let ada = cluster.create_user("ada").await;
    cluster.set_role(&fixture.tenant.id, &ada, "viewer").await;
    let mut stream = cluster.second.open_stream(&fixture.path, &ada.token, None).await;
    stream.next_events(1).await;
    let path = format!("/api/v1/tenants/{}/members/{}", fixture.tenant.id, ada.principal);
    assert_eq!(
        cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await.status,
        200
    );
    let began = Stopwatch::start();
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    assert!(began.elapsed() < Duration::from_secs(1), "the stream stayed open for {:?}", began.elapsed());
    assert_eq!(last.expect("a closing event").data["failureKind"], "forbidden");
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &ada.token).await.status, 200);
}

#[tokio::test]
async fn streams_per_caller_and_run_are_limited() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("http.max_streams_each", 2), db).await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let open = async || cluster.first.open_stream(&fixture.path, &cluster.operator.token, None).await;
    let (first, _second) = (open().await, open().await);
    let refused = cluster.first.get_as(&fixture.path, &cluster.operator.token).await;
    refused.assert_failure(429, "rate-limited");
    assert_eq!(refused.header("retry-after"), "5");
    let other_run = run_request(&fixture.tenant.id);
    let other_run = cluster.first.post_as("/api/v1/runs", &cluster.operator.token, other_run).await.body;
    let path = format!("/api/v1/runs/{}/events/stream", text(&other_run, "runId"));
    cluster.first.open_stream(&path, &cluster.operator.token, None).await.next_events(1).await;
    drop(first);
    let began = Stopwatch::start();
    while cluster
        .first
        .try_open_stream(&fixture.path, &cluster.operator.token, None)
        .await
        .expect("a response")
        .status()
        != 200
    {
        assert!(began.elapsed() < Duration::from_secs(5), "the closed stream still counts");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Heartbeats keep proxies from closing an idle stream.
#[tokio::test]
async fn idle_stream_sends_heartbeats() {
    let cluster = Cluster::new().await;
    let fixture = StreamFixture::new(&cluster, "acme").await;
    let mut stream = cluster.first.open_stream(&fixture.path, &cluster.operator.token, None).await;
    let (began, mut text) = (Instant::now(), String::new());
    while !text.contains(": heartbeat\n\n") {
        assert!(began.elapsed() < Duration::from_secs(20), "no heartbeat: {text}");
        let chunk = stream.response.chunk().await.expect("bytes").expect("an open stream");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(began.elapsed() > Duration::from_secs(10), "the heartbeat came too early");
}
