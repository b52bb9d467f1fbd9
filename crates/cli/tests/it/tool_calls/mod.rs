//! An agent calls tools of a user's device, over two replicas, with the Rust client on both sides.

mod changes;
mod fixture;
mod load;
mod network;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::agents::tool_calls::{
    DenialReason, ToolCall, ToolErrorCode, ToolMessage, ToolMessageKind, ToolOutcome, tool_headers,
};
use guildhall_sdk::guard::{AuditStatus, PromptAnswer};
use guildhall_sdk::messages::{MessengerError, SendOptions};
use guildhall_sdk::tool_calls::{GuardNotice, RefusedMessage, ToolCallError};
use guildhall_testkit::{Stopwatch, nats_url};
use serde_json::{Value, json};

use self::fixture::{ToolFixture, next_notice};
use self::network::Passage;
use crate::aun_clients::rust_device::RustDevice;
use crate::canary::{Canaries, capture_tables};
use crate::support::channels::{CapturedOutput, capture_nats, start_trace_collector};

fn done(text: &str) -> ToolOutcome {
    ToolOutcome::Done(json!({ "done": text }))
}

fn kind_of(error: &ToolCallError) -> Option<FailureKind> {
    match error {
        ToolCallError::Messenger(MessengerError::Socket(error)) => error.kind(),
        other @ (ToolCallError::Messenger(_) | ToolCallError::NoAnswer(_) | ToolCallError::TooManyCalls) => {
            panic!("{other:?}")
        }
    }
}

// covers: M18, M19, M23, M28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_and_results_of_calls_are_nowhere_but_on_the_devices() {
    let (endpoint, spans) = start_trace_collector();
    let nats_messages = capture_nats(&nats_url());
    let settings = vec![
        ("GUILDHALL_TELEMETRY_LOG_FILTER", "trace".to_owned()),
        ("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", endpoint),
    ];
    let mut fixture = ToolFixture::start_with(settings).await;
    let mut canaries = Canaries(Vec::new());
    let secret = canaries.generate("an argument, which the tool returns");
    let webhook = fixture.add_listener().await;
    fixture.owner.person.answers(Some(PromptAnswer::Allow));
    let inbox = fixture.inbox();
    let outcome = fixture.run(&inbox, async |_| fixture.call("locate", &secret).await).await;
    assert_eq!(outcome.expect("an answer"), done(&secret));
    let asked = fixture.owner.person.asked.lock().expect("not poisoned").clone();
    let shown: Vec<_> = asked.iter().map(|prompt| (prompt.tool.as_str(), &prompt.arguments)).collect();
    assert_eq!(shown, [("locate", &json!({ "text": secret }))]);

    // The server knows that it was a call, and stores what it cannot read.
    let mut sql = fixture.replicas.sql().await;
    let marks = "SELECT kind || ' ' || (relation IS NOT NULL) FROM inbox_messages ORDER BY relation IS NULL";
    assert_eq!(sql.texts(marks).await, ["sealed-v2 true", "sealed-v2 false"]);
    let mut channels = CapturedOutput::default();
    capture_tables(&mut channels, fixture.replicas.db()).await;
    let prefix = fixture.replicas.subject_prefix().to_owned();
    channels.add("exports", fixture.replicas.operator().run(&["audit", "tail", "--installation"]).stdout);
    channels.add("exports", fixture.replicas.operator().run(&["audit", "export", "--tenant", "acme"]).stdout);
    channels.add("webhooks", fixture.claim(&webhook).await);
    channels.add("logs", fixture.replicas.stop());
    channels.add("messages", nats_messages.bytes());
    channels.add("spans", spans.bytes());
    let captured = [
        ("exports", "relation.granted"),
        ("webhooks", "ciphertext"),
        ("exports", "aid.created"),
        ("logs", "socket authenticated"),
        ("messages", &*prefix),
    ];
    for (channel, text) in captured.into_iter().chain([("spans", "/aun"), ("tables", "artifact_tool_call")]) {
        assert!(channels.channels_containing(text).contains(&channel), "{text} is not on {channel}");
    }
    assert_eq!(canaries.leaks(&channels), []);
}

// covers: M20a, M20b, M20c, M20d, M20e, M20f, M20g, M20h, M20i, M21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_gets_each_outcome_of_a_call() {
    let fixture = ToolFixture::start().await;
    let person = &fixture.owner.person;
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |noticed| {
            let group = async {
                let headers = BTreeMap::from([("group_id".to_owned(), "g-1".to_owned())]);
                call_with_headers(&fixture, headers).await;
                let answered = |notice: &GuardNotice| matches!(notice, GuardNotice::Answered { .. });
                next_notice(noticed, answered).await
            };
            let GuardNotice::Answered { outcome, .. } = group.await else { panic!("answered") };
            assert_eq!(outcome, ToolOutcome::Denied(DenialReason::NotSupportedInGroup));
            // Nobody answers this one: it takes 30 seconds, beside the others.
            let unanswered = fixture.call("locate", "x");
            let others = async {
                while person.asked.lock().expect("not poisoned").is_empty() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                for (answer, tool, arguments, expected) in [
                    (None, "notify", json!({ "text": "hi" }), done("hi")),
                    (None, "fail", json!({ "text": "x" }), ToolOutcome::Failed(ToolErrorCode::PlatformError)),
                    (None, "notify", json!({}), ToolOutcome::Failed(ToolErrorCode::InvalidArguments)),
                    (
                        None,
                        "missing",
                        json!({ "text": "x" }),
                        ToolOutcome::Failed(ToolErrorCode::Unavailable),
                    ),
                    (
                        Some(PromptAnswer::Refuse),
                        "locate",
                        json!({ "text": "x" }),
                        ToolOutcome::Denied(DenialReason::UserRefused),
                    ),
                    (
                        None,
                        "listen",
                        json!({ "text": "x" }),
                        ToolOutcome::Denied(DenialReason::ScopeNotGranted),
                    ),
                    (
                        None,
                        "erase",
                        json!({ "text": "x" }),
                        ToolOutcome::Denied(DenialReason::ToolNotDeclared),
                    ),
                ] {
                    person.answers(answer);
                    let outcome = fixture.call_with(tool, arguments).await.expect("an answer");
                    assert_eq!(outcome, expected, "{tool}");
                }
            };
            let (unanswered, ()) = tokio::join!(unanswered, others);
            assert_eq!(unanswered.expect("an answer"), ToolOutcome::Denied(DenialReason::UserTimeout));
        })
        .await;
}

/// Sends a call of `notify` with further headers, and does not wait for the answer.
async fn call_with_headers(fixture: &ToolFixture, further: BTreeMap<String, String>) {
    let call = ToolCall {
        id: format!("call-{}", further.len()).parse().expect("an id"),
        tool: "notify".to_owned(),
        arguments: json!({ "text": "x" }),
        scope: "notification:send".to_owned(),
        timeout_ms: None,
    };
    let mut headers = tool_headers(ToolMessageKind::Call, "c-1");
    headers.extend(further);
    send_call(&fixture.helper, fixture, call, headers).await.expect("sent");
}

async fn send_call(
    device: &RustDevice,
    fixture: &ToolFixture,
    call: ToolCall,
    headers: BTreeMap<String, String>,
) -> Result<(), MessengerError> {
    let options = SendOptions::default().with_headers(headers);
    let payload = ToolMessage::Call(call).to_payload();
    device.messenger.send(&fixture.alice.owner.aid, &payload, &options).await.map(drop)
}

// covers: M28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_with_other_headers_inside_gets_no_answer_and_does_not_run() {
    let fixture = ToolFixture::start().await;
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |noticed| {
            // Hidden from the server, or of another kind.
            for headers in [BTreeMap::new(), tool_headers(ToolMessageKind::Response, "c-1")] {
                let call = ToolCall {
                    id: "call-1".parse().expect("an id"),
                    tool: "notify".to_owned(),
                    arguments: json!({ "text": "x" }),
                    scope: "notification:send".to_owned(),
                    timeout_ms: None,
                };
                send_call(&fixture.helper, &fixture, call, headers).await.expect("sent");
                let refused = next_notice(noticed, |_| true).await;
                let is_mismatch =
                    matches!(&refused, GuardNotice::Refused { reason: RefusedMessage::Headers(_), .. });
                assert!(is_mismatch, "{refused:?}");
            }
            assert_eq!(fixture.owner.device.runs.load(Ordering::SeqCst), 0);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocation_ends_a_running_call_on_the_other_replica_within_1s() {
    let fixture = ToolFixture::start().await;
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |_| {
            let revoke = async {
                fixture.owner.device.is_running.notified().await;
                let watch = Stopwatch::start();
                fixture.revoke().await;
                watch
            };
            let (outcome, watch) = tokio::join!(fixture.call("hang", "x"), revoke);
            assert_eq!(outcome.expect("an answer"), ToolOutcome::Denied(DenialReason::ScopeNotGranted));
            let elapsed = watch.elapsed();
            assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
            let refused = fixture.call("notify", "x").await.expect_err("refused by the server");
            assert_eq!(kind_of(&refused), Some(FailureKind::RelationRequired));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_of_a_scope_removed_while_offline_does_not_run() {
    let (fixture, network) = ToolFixture::start_with_network().await;
    let runs = || fixture.owner.device.runs.load(Ordering::SeqCst);
    let is_answered = |notice: &GuardNotice| matches!(notice, GuardNotice::Answered { .. });
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |noticed| {
            assert_eq!(fixture.call("notify", "x").await.expect("an answer"), done("x"));
            next_notice(noticed, is_answered).await;
            network.set(Passage::Nothing);
            next_notice(noticed, |notice| matches!(notice, GuardNotice::Disconnected(_))).await;
            fixture.change_grant(&["filesystem:read", "location:read"]).await;
            let call = ToolCall {
                id: "call-offline".parse().expect("an id"),
                tool: "notify".to_owned(),
                arguments: json!({ "text": "x" }),
                scope: "notification:send".to_owned(),
                timeout_ms: None,
            };
            let headers = tool_headers(ToolMessageKind::Call, "c-1");
            send_call(&fixture.helper, &fixture, call, headers).await.expect("sent");
            // The inbox can be pulled, while the guard still asks what may run.
            network.set(Passage::NoManifests);
            fixture.alice.messenger.socket().connected().await.expect("connected");
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(runs(), 1, "the call waits");
            network.set(Passage::Everything);
            let notice = next_notice(noticed, is_answered).await;
            let GuardNotice::Answered { outcome, .. } = notice else { panic!("{notice:?}") };
            assert_eq!(outcome, ToolOutcome::Denied(DenialReason::ScopeNotGranted));
            assert_eq!(runs(), 1);
        })
        .await;
}

// covers: M24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_first_call_within_a_minute_is_refused_on_both_replicas() {
    let fixture = ToolFixture::start().await;
    let second = RustDevice::start(&fixture.helper.owner, &[fixture.replicas.url(1)]);
    let mut sql = fixture.replicas.sql().await;
    // All calls are in one window.
    while sql.number("SELECT extract(second FROM now())::bigint").await > 35 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let (mut accepted, mut refused) = (0, BTreeMap::new());
    for number in 0..200 {
        let replica = number % 2;
        if refused.contains_key(&replica) {
            continue;
        }
        let call = ToolCall {
            id: format!("call-{number}").parse().expect("an id"),
            tool: "notify".to_owned(),
            arguments: Value::Null,
            scope: "notification:send".to_owned(),
            timeout_ms: None,
        };
        let device = if replica == 0 { &fixture.helper } else { &second };
        match send_call(device, &fixture, call, tool_headers(ToolMessageKind::Call, "")).await {
            Ok(()) => accepted += 1,
            Err(MessengerError::Socket(error)) => {
                let wait = error.retry_after().is_some_and(|wait| wait > Duration::ZERO);
                refused.insert(replica, (error.kind(), wait));
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    let limited = (Some(FailureKind::RateLimited), true);
    assert_eq!((accepted, refused), (60, BTreeMap::from([(0, limited), (1, limited)])));
    let text = json!({ "type": "text", "text": "hi" }).as_object().cloned().unwrap_or_default();
    let options = SendOptions::default();
    let other = fixture.helper.messenger.send(&fixture.alice.owner.aid, &text, &options).await;
    assert!(other.is_ok(), "other messages are not counted: {other:?}");
}

// covers: M22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_that_a_restart_interrupts_is_answered_once_and_does_not_run_again() {
    let fixture = ToolFixture::start().await;
    let call = async {
        let outcome = fixture.call("hang", "x").await;
        assert_eq!(outcome.expect("an answer"), ToolOutcome::Failed(ToolErrorCode::PlatformError));
    };
    let guarding = async {
        let inbox = fixture.inbox();
        fixture.run(&inbox, async |_| fixture.owner.device.is_running.notified().await).await;
        drop(inbox);
        // The device starts again: the message was not confirmed.
        let inbox = fixture.inbox();
        fixture
            .run(&inbox, async |noticed| {
                next_notice(noticed, |notice| matches!(notice, GuardNotice::Answered { .. })).await;
                // Its answer is received, and what was confirmed does not come again.
                assert_eq!(fixture.call("notify", "later").await.expect("an answer"), done("later"));
            })
            .await;
        let statuses: Vec<_> = audit_statuses(&fixture);
        let expected = [AuditStatus::Started, AuditStatus::Error, AuditStatus::Started, AuditStatus::Ok];
        assert_eq!(statuses, expected);
    };
    tokio::join!(call, guarding);
    assert_eq!(fixture.owner.device.runs.load(Ordering::SeqCst), 2);
}

fn audit_statuses(fixture: &ToolFixture) -> Vec<AuditStatus> {
    fixture.audit_entries().into_iter().map(|entry| entry.status).collect()
}
