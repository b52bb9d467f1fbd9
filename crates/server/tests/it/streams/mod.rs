//! Following runs and sessions over HTTP, on two replicas.

mod faults;
mod many;
mod session;
mod slow;

use std::time::{Duration, Instant};

use guildhall_domain::ops::capability::{ENVELOPE_VERSION, EVENT_SCHEMA_VERSION, Protocol};
use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::events::{Event, Events};
use crate::support::people::World;
use crate::support::runs::{Held, Yard, ask, said, text};
use crate::support::{Setup, read};

/// A run that a runner holds, with a command that it is at.
pub(crate) struct Stage {
    pub(crate) yard: Yard,
    pub(crate) run: String,
    pub(crate) command: String,
    pub(crate) held: Held,
    pub(crate) path: String,
}

impl Stage {
    pub(crate) async fn new(world: &World, slug: &str) -> Self {
        let yard = world.yard(slug).await;
        let run = world.run(&yard).await;
        let command = world.command(&run, "go").await;
        let held = world.one.claim(&yard, &run).await;
        assert_eq!(world.one.ack(&held, &command).await.status, 200);
        let path = format!("/api/v1/runs/{run}/events/stream");
        Self { yard, run, command, held, path }
    }

    /// Says some words in the run.
    pub(crate) async fn say(&self, world: &World, words: &[&str]) {
        let events: Vec<Value> = words.iter().map(|word| said(word, &self.command, word)).collect();
        let answer = world.one.append(&self.held, json!(events)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

pub(crate) fn data(events: &[Event]) -> Vec<Value> {
    events.iter().map(|event| event.data.clone()).collect()
}

/// The behaviour behind `typed_event_schema` and `client_identity`, and where each of the three versions stands.
// covers: C4, C5, C9
#[tokio::test]
async fn a_stream_says_who_reads_replays_and_goes_live_with_type_and_version_on_each_frame() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    stage.say(&world, &["old"]).await;
    let history = world.events(&stage.run).await;
    let request = world.other.client.get(world.other.url(&stage.path)).bearer_auth(&world.operator.access);
    let response = request.header("x-guildhall-client-id", "tab:1").send().await.expect("an answer");
    for (name, value) in
        [("x-accel-buffering", "no"), ("cache-control", "no-cache"), ("x-guildhall-client-id", "tab:1")]
    {
        assert_eq!(response.headers()[name], value);
    }
    let mut stream = Events::of(response);
    let (event, protocol) = (EVENT_SCHEMA_VERSION, Protocol::CURRENT.as_str());
    let hello = stream.frame().await.expect("a frame");
    let expected = json!({ "v": event, "type": "hello", "clientId": "tab:1", "protocol": protocol });
    assert_eq!((hello.kind.as_str(), hello.id, hello.data), ("hello", None, expected));
    assert_eq!(data(&stream.facts(history.len()).await), history, "the frames are the events of the pages");
    let replayed = stream.frame().await.expect("a frame");
    let count = history.len();
    let expected = json!({ "v": event, "type": "replay_complete", "replayedCount": count, "lastSeq": count });
    assert_eq!((replayed.kind.as_str(), replayed.id, replayed.data), ("replay_complete", None, expected));
    stage.say(&world, &["new"]).await;
    let live = stream.frame().await.expect("a frame");
    assert_eq!(live.data, *world.events(&stage.run).await.last().expect("events"));
    assert_eq!((&live.data["v"], &live.data["type"]), (&json!(event), &json!("assistant_message")));
    assert_eq!(live.kind, "event", "a runner chooses its types, not the names of frames");
    let capabilities = world.one.get("/capabilities").await.body;
    assert_eq!(
        json!([capabilities["v"], capabilities["protocol"]["current"]]),
        json!([ENVELOPE_VERSION, protocol])
    );
}

// covers: C9
#[tokio::test]
async fn the_first_line_is_a_retry_time_and_a_client_without_an_id_gets_one() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut stream = world.one.events(&stage.path, &world.operator.access, None).await;
        let first = stream.response.chunk().await.expect("bytes").expect("an open stream");
        assert!(first.starts_with(b"retry: 3000\n\n"), "{first:?}");
        let given = stream.response.headers()["x-guildhall-client-id"].to_str().expect("text").to_owned();
        assert!(given.starts_with("client_"), "{given}");
        ids.push(given);
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn what_cannot_be_read_of_a_request_is_refused_and_not_repeated() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let session = text(&world.show(&stage.run).await, "sessionId");
    let session = format!("/api/v1/sessions/{session}/stream");
    let of_run = "00000000deadbeef-1";
    let of_session = "00000000deadbeef-1-1";
    let refused = [
        (&stage.path, "last-event-id", "nonsense"),
        (&stage.path, "last-event-id", "0"),
        (&stage.path, "last-event-id", of_session),
        (&session, "last-event-id", of_run),
        (&session, "last-event-id", "00000000deadbeef-0-1"),
        (&stage.path, "x-guildhall-client-id", "two words"),
        (&stage.path, "x-guildhall-client-id", ""),
        (&session, "x-guildhall-client-id", &"x".repeat(129)),
    ];
    for (path, name, value) in refused {
        let request = world.one.client.get(world.one.url(path)).bearer_auth(&world.operator.access);
        let answer = read(request.header(name, value).send().await.expect("an answer")).await;
        answer.assert_failure(400, "schema-invalid");
        let message = answer.body["message"].as_str().expect("words");
        assert!(value.is_empty() || value == "0" || !message.contains(value), "{message}");
    }
    for (path, cursor) in [(&stage.path, of_run), (&session, of_session)] {
        let mut stream = world.one.events(path, &world.operator.access, Some(cursor)).await;
        let gap = stream.next().await.expect("a frame");
        let expected = json!({ "v": 1, "type": "gap", "recovered": false, "reason": "other_incarnation" });
        assert_eq!((gap.kind.as_str(), gap.id, gap.data), ("gap", None, expected));
        let first = stream.next().await.expect("a frame");
        assert_eq!(first.data["seq"], 1, "the log begins anew");
        let (incarnation, _) = first.id.as_deref().expect("a cursor").split_once('-').expect("a cursor");
        let ahead =
            if path == &session { format!("{incarnation}-1-999") } else { format!("{incarnation}-999") };
        let mut stream = world.other.events(path, &world.operator.access, Some(&ahead)).await;
        assert_eq!(stream.next().await.expect("a frame").data["reason"], "ahead_of_log");
        assert_eq!(stream.next().await.expect("a frame").data["seq"], 1);
    }
}

#[tokio::test]
async fn a_cursor_goes_on_at_the_other_replica_without_gap_or_double() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    stage.say(&world, &["a", "b", "c"]).await;
    let history = world.events(&stage.run).await;
    let mut seen = world.one.events(&stage.path, &world.operator.access, None).await.facts(2).await;
    while seen.len() < history.len() {
        let server = if seen.len() % 2 == 0 { &world.other } else { &world.one };
        let cursor = seen.last().and_then(|last| last.id.clone());
        let mut stream = server.events(&stage.path, &world.operator.access, cursor.as_deref()).await;
        seen.extend(stream.facts(1).await);
    }
    assert_eq!(data(&seen), history);
    let end = seen.last().and_then(|last| last.id.clone());
    let mut at_the_end = world.one.events(&stage.path, &world.operator.access, end.as_deref()).await;
    at_the_end.frame().await.expect("hello");
    let replayed = at_the_end.frame().await.expect("a frame").data;
    assert_eq!(json!([replayed["replayedCount"], replayed["lastSeq"]]), json!([0, history.len()]));
}

#[tokio::test]
async fn a_runner_cannot_speak_for_the_stream() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    for own in guildhall_domain::journal::follow::notice::ALL {
        let event = json!({ "id": own, "type": own, "payload": { "failureKind": "unauthenticated" } });
        world.one.append(&stage.held, json!([event])).await.assert_failure(400, "schema-invalid");
    }
}

/// Revocation closes streams of every kind within a second, with NATS stopped as well.
#[tokio::test]
async fn a_revoked_key_loses_its_streams_within_a_second_with_nats_down() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let world = World::on(Setup::on_private(&db, &engines.addresses()), db).await;
    let stage = Stage::new(&world, "acme").await;
    let session = text(&world.show(&stage.run).await, "sessionId");
    engines.nats.kill();
    let (id, secret) = world.key(&stage.yard.tenant, "viewer").await;
    let mut streams = Vec::new();
    for path in [&stage.path, &format!("/api/v1/sessions/{session}/stream")] {
        for server in [&world.one, &world.other] {
            let mut stream = server.events(path, &secret, None).await;
            stream.facts(1).await;
            streams.push(stream);
        }
    }
    let revoke = format!("/api/v1/tenants/{}/keys/{id}", stage.yard.tenant);
    assert_eq!(world.one.ask(Method::DELETE, &revoke, &world.operator.access, None).await.status, 204);
    let began = Instant::now();
    for stream in &mut streams {
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event);
        }
        let last = last.expect("a last word");
        assert_eq!((last.kind.as_str(), &last.data["failureKind"]), ("closed", &json!("unauthenticated")));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "open for {:?} more", began.elapsed());
}

#[tokio::test]
async fn who_loses_the_right_loses_the_stream_and_keeps_the_token() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let ada = world.user("ada").await;
    world.member(&stage.yard.tenant, &ada, "viewer").await;
    let mut stream = world.other.events(&stage.path, &ada.access, None).await;
    stream.facts(1).await;
    let path = format!("/api/v1/tenants/{}/members/{}", stage.yard.tenant, ada.principal);
    assert_eq!(world.one.ask(Method::DELETE, &path, &world.operator.access, None).await.status, 204);
    let began = Instant::now();
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    assert!(began.elapsed() < Duration::from_secs(1), "open for {:?} more", began.elapsed());
    assert_eq!(last.expect("a last word").data["failureKind"], "forbidden");
    assert_eq!(world.other.get_as("/api/v1/whoami", &ada.access).await.status, 200);
}

#[tokio::test]
async fn one_caller_holds_so_many_streams_of_a_run_and_no_more() {
    let db = TestDb::new().await;
    let world = World::on(Setup::on(&db).with("http.max_streams_each", 2), db).await;
    let stage = Stage::new(&world, "acme").await;
    let open = async || world.one.events(&stage.path, &world.operator.access, None).await;
    let (first, _second) = (open().await, open().await);
    let refused = world.one.get_as(&stage.path, &world.operator.access).await;
    refused.assert_failure(429, "rate-limited");
    assert_eq!(refused.header("retry-after"), "5");
    let other_run = ask(&stage.yard.tenant);
    let other_run = world.one.post_as("/api/v1/runs", &world.operator.access, other_run).await.body;
    let path = format!("/api/v1/runs/{}/events/stream", text(&other_run, "runId"));
    world.one.events(&path, &world.operator.access, None).await.facts(1).await;
    drop(first);
    let began = Instant::now();
    while world.one.try_events(&stage.path, &world.operator.access, None).await.expect("an answer").status()
        != 200
    {
        assert!(began.elapsed() < Duration::from_secs(5), "the place is not free again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Nothing happens for longer than a proxy waits.
// covers: C9
#[tokio::test]
async fn a_quiet_stream_gives_a_sign_of_life() {
    let world = World::new().await;
    let stage = Stage::new(&world, "acme").await;
    let mut stream = world.one.events(&stage.path, &world.operator.access, None).await;
    let (began, mut text) = (Instant::now(), String::new());
    while !text.contains(": heartbeat\n\n") {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing but {text}");
        let chunk = stream.response.chunk().await.expect("bytes").expect("an open stream");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(began.elapsed() > Duration::from_secs(10), "too often");
}
