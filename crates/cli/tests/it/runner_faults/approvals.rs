//! Questions of real agents, answered by a person.

use std::time::Duration;

use guildhall_testkit::Stopwatch;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::fixture::{RunnerFixture, TestRun};
use super::{DETECTION_TIMEOUT, LEASE};
use crate::support::runner_process::{descendants, send_signal, wait_until_exited};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Creates a run whose agent asks.
pub(super) async fn create_asking_run(fixture: &RunnerFixture, agent: Agent) -> TestRun {
    let mut policy = agent.policy();
    policy["sandbox"] = json!("workspace-write");
    policy["approval"] = json!("on-request");
    fixture.create_run_with(agent, policy).await
}

/// Waits for an approval of the run with this status.
pub(super) async fn wait_for_approval(fixture: &RunnerFixture, run: &TestRun, status: &str) -> Value {
    let started = Stopwatch::start();
    let path = format!("/api/v1/approvals?tenantId=acme&state=all&runId={}", run.id);
    loop {
        let list = fixture.get(&path).await;
        let mut found = list["approvals"].as_array().expect("approvals").iter();
        if let Some(approval) = found.find(|approval| approval["status"] == status) {
            return approval.clone();
        }
        assert!(started.elapsed() < TIMEOUT, "no {status} approval: {list}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Answers with the first option of an effect.
pub(super) async fn answer(fixture: &RunnerFixture, approval: &Value, effect: &str) -> u16 {
    answer_with(fixture, approval, effect, None).await
}

/// Answers with the first option of an effect, and with values.
pub(super) async fn answer_with(
    fixture: &RunnerFixture,
    approval: &Value,
    effect: &str,
    values: Option<Value>,
) -> u16 {
    let options = approval["question"]["options"].as_array().expect("options");
    let option = options.iter().find(|option| option["effect"] == effect).expect("an option");
    let path = format!("/api/v1/approvals/{}/votes", approval["approvalId"].as_str().expect("an id"));
    let mut body = json!({ "optionId": option["id"], "shownDigest": approval["shownDigest"] });
    if let Some(values) = values {
        body["content"] = values;
    }
    let request = fixture.cluster.request(1, Method::POST, &path, &fixture.bearer).json(&body);
    request.send().await.expect("a response").status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_acts_only_after_a_person_allows_it() {
    let fixture = RunnerFixture::start().await;
    for agent in [Agent::Codex, Agent::Qwen, Agent::Claude] {
        let run = create_asking_run(&fixture, agent).await;
        let _runner = fixture.start_runner(&run, &[]);
        for (effect, name) in [("allow", "allowed"), ("deny", "denied")] {
            let command = fixture.send(&run, &format!("ask:touch {name}")).await;
            let approval = wait_for_approval(&fixture, &run, "pending").await;
            let shown = approval["question"]["action"]["arguments"]["command"].to_string();
            assert!(shown.contains(&format!("touch {name}")), "{agent:?} {approval}");
            assert!(!run.workspace.join(name).exists(), "{agent:?} did not wait");
            assert_eq!(answer(&fixture, &approval, effect).await, 200);
            let result = fixture.wait_for_result(&run, &command, TIMEOUT).await;
            assert_eq!(run.workspace.join(name).exists(), effect == "allow", "{agent:?} {result}");
            // Codex and Claude Code tell their model about a denial; Qwen Code ends the turn.
            let expected = if (agent, effect) == (Agent::Qwen, "deny") { "blocked" } else { "completed" };
            assert_eq!(result["terminalStatus"], expected, "{agent:?} {result}");
            let settled = wait_for_approval(&fixture, &run, "settled").await;
            assert_eq!(settled["approvalId"], approval["approvalId"], "{settled}");
        }
    }
}

/// A runner that is killed while its agent waits: the question is withdrawn, and nothing runs. Claude Code is a child of the
/// adapter, and would go on by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_of_a_killed_runner_is_withdrawn() {
    let fixture = RunnerFixture::start().await;
    for agent in [Agent::Codex, Agent::Claude] {
        let run = create_asking_run(&fixture, agent).await;
        let runner = fixture.start_runner(&run, &[]);
        let command = fixture.send(&run, "ask:touch made").await;
        let approval = wait_for_approval(&fixture, &run, "pending").await;
        let pids = descendants(runner.guard_pid());
        send_signal(runner.guard_pid(), Signal::KILL);
        wait_until_exited(&pids, LEASE).await;
        let requests = fixture.model.requests().len();
        let result = fixture.wait_for_result(&run, &command, DETECTION_TIMEOUT).await;
        assert_eq!(result["terminalStatus"], "failed", "{agent:?} {result}");
        let withdrawn = wait_for_approval(&fixture, &run, "withdrawn").await;
        assert_eq!(withdrawn["endReason"], "runner-lost", "{agent:?} {withdrawn}");
        assert_eq!(answer(&fixture, &approval, "allow").await, 409, "nobody waits for it");
        assert!(!run.workspace.join("made").exists(), "{agent:?} ran it unasked");
        assert_eq!(fixture.model.requests().len(), requests, "{agent:?} called its model again");
    }
}
