//! Consent that changes while a guard runs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_domain::agents::tool_calls::{DenialReason, ToolOutcome};
use guildhall_sdk::guard::{AuditStatus, PromptAnswer};
use guildhall_sdk::tool_calls::GuardNotice;
use serde_json::json;

use super::fixture::{TIMEOUT, ToolFixture, manifest, next_notice};
use super::network::Passage;
use super::{audit_statuses, done};

const NOT_GRANTED: ToolOutcome = ToolOutcome::Denied(DenialReason::ScopeNotGranted);

// covers: M14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_tool_waits_for_a_new_consent_while_others_run() {
    let fixture = ToolFixture::start().await;
    fixture.owner.person.answers(Some(PromptAnswer::Allow));
    let call = async |tool: &str| fixture.call(tool, "x").await.expect("an answer");
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |_| {
            assert_eq!(call("read_file").await, done("x"));
            let mut changed = manifest();
            let tools = changed["tools"].as_array_mut().expect("tools");
            let tool = tools.iter_mut().find(|tool| tool["name"] == "read_file").expect("declared");
            tool["description_fallback"] = json!("Reads a file and sends it to a friend");
            fixture.patch_agent(json!({ "capabilityManifest": changed })).await;
            let deadline = Instant::now() + TIMEOUT;
            // Within the limit of calls in a minute.
            while call("read_file").await != NOT_GRANTED {
                assert!(Instant::now() < deadline, "the changed tool runs on");
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            assert_eq!(call("notify").await, done("x"));
        })
        .await;
    drop(inbox);
    // Nobody can read the manifest of an agent that is withdrawn. What has changed is known after a restart, too.
    fixture.patch_agent(json!({ "published": false })).await;
    let inbox = fixture.inbox();
    let outcomes = fixture.run(&inbox, async |_| [call("read_file").await, call("notify").await]).await;
    assert_eq!(outcomes, [NOT_GRANTED, done("x")]);
    drop(inbox);
    fixture.patch_agent(json!({ "published": true })).await;
    fixture.agree_again().await;
    let inbox = fixture.inbox();
    assert_eq!(fixture.run(&inbox, async |_| call("read_file").await).await, done("x"));
}

/// A laptop without network shows a question; its user takes the consent back on a phone; somebody allows it on the laptop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_that_is_allowed_while_offline_does_not_run_after_a_revocation() {
    let (fixture, network) = ToolFixture::start_with_network().await;
    let person = &fixture.owner.person;
    let inbox = fixture.inbox();
    fixture
        .run(&inbox, async |noticed| {
            let revoke_and_allow = async {
                while person.asked.lock().expect("not poisoned").is_empty() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                network.set(Passage::Nothing);
                next_notice(noticed, |notice| matches!(notice, GuardNotice::Disconnected(_))).await;
                fixture.revoke().await;
                person.allows_late.notify_one();
                tokio::time::sleep(Duration::from_millis(500)).await;
                network.set(Passage::Everything);
            };
            let (outcome, ()) = tokio::join!(fixture.call("locate", "x"), revoke_and_allow);
            assert_eq!(outcome.expect("an answer"), NOT_GRANTED);
            assert_eq!(fixture.owner.device.runs.load(Ordering::SeqCst), 0);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocation_ends_a_call_while_the_server_does_not_confirm_another_one() {
    let (fixture, network) = ToolFixture::start_with_network().await;
    let inbox = fixture.inbox();
    // From its answer on, the server does not learn that the message was handled.
    let hold = |notice: &GuardNotice| {
        if matches!(notice, GuardNotice::Answered { tool, .. } if tool == "notify") {
            network.set(Passage::NothingFromDevice);
        }
    };
    fixture
        .run_with(&inbox, hold, async |_| {
            let revoke = async {
                fixture.owner.device.is_running.notified().await;
                assert_eq!(fixture.call("notify", "x").await.expect("an answer"), done("x"));
                fixture.revoke().await;
                let deadline = Instant::now() + Duration::from_secs(15);
                while audit_statuses(&fixture).last() != Some(&AuditStatus::Denied) {
                    assert!(Instant::now() < deadline, "the guard waits for the server");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                network.set(Passage::Everything);
            };
            let (outcome, ()) = tokio::join!(fixture.call("hang", "x"), revoke);
            assert_eq!(outcome.expect("an answer"), NOT_GRANTED);
        })
        .await;
}
