//! Questions that nobody answers for a night, with real agents.

use std::time::Duration;

use guildhall_testkit::Stopwatch;
use serde_json::{Value, json};

use super::agent::Agent;
use super::approvals::{answer, answer_with, create_asking_run, wait_for_approval};
use super::fixture::{RunnerFixture, TestRun};
use crate::support::runner_process::{descendants, wait_until_exited};

const TIMEOUT: Duration = Duration::from_secs(120);

/// Moves the questions into the past.
async fn pass_time(fixture: &RunnerFixture, interval: &str) {
    let shift = format!(
        "UPDATE approvals SET created_at = created_at - interval '{interval}', \
         expires_at = expires_at - interval '{interval}' WHERE status = 'pending'"
    );
    fixture.cluster.db.sql().await.execute(shift).await;
}

/// Waits for the turn that continues another.
async fn wait_for_continuing_turn(fixture: &RunnerFixture, run: &TestRun, parked: &str) -> String {
    let started = Stopwatch::start();
    let path = format!("/api/v1/runs/{}/history", run.id);
    loop {
        let list = fixture.get(&path).await;
        let mut commands = list["commands"].as_array().expect("commands").iter();
        if let Some(turn) = commands.find(|command| command["payload"]["continues"] == parked) {
            return turn["commandId"].as_str().expect("an id").to_owned();
        }
        assert!(started.elapsed() < TIMEOUT, "no turn continues {parked}: {list}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Claude Code asks with a form, and the runner exits when it is parked. The values are given in the morning, kept
/// encrypted, and reach the model in the turn that continues the work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_a_parked_form_reach_the_agent_in_the_next_turn() {
    let fixture = RunnerFixture::start().await;
    let run = create_asking_run(&fixture, Agent::Claude).await;
    let runner = fixture.start_runner(&run, &[]);
    let choices = json!([{ "label": "Blue", "description": "b" }, { "label": "Red", "description": "r" }]);
    let question =
        json!({ "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": choices });
    let prompt = format!("tool:AskUserQuestion {}", json!({ "questions": [question] }));
    let parked = fixture.send(&run, &prompt).await;
    let approval = wait_for_approval(&fixture, &run, "pending").await;
    assert_eq!(approval["question"]["action"]["kind"], "elicitation_form", "{approval}");
    let pids = descendants(runner.guard_pid());
    pass_time(&fixture, "11 minutes").await;
    let result = fixture.wait_for_result(&run, &parked, TIMEOUT).await;
    assert_eq!(result["terminalStatus"], "blocked", "{result}");
    wait_until_exited(&pids, TIMEOUT).await;
    assert!(!last_request(&fixture).contains("Violet"));

    pass_time(&fixture, "8 hours").await;
    let values = json!({ "question_0_custom": "Violet, please" });
    assert_eq!(answer_with(&fixture, &approval, "answer", Some(values)).await, 200);
    let turn = wait_for_continuing_turn(&fixture, &run, &parked).await;
    let _next_runner = fixture.start_runner(&run, &[]);
    let result = fixture.wait_for_result(&run, &turn, TIMEOUT).await;
    assert_eq!(result["terminalStatus"], "completed", "{result}");
    let received = last_request(&fixture);
    assert!(received.contains("Violet, please"), "the model was not told: {received}");
    let reused = wait_for_approval(&fixture, &run, "reused").await;
    assert_eq!(reused["approvalId"], approval["approvalId"]);
    let kept = "SELECT count(*) FROM approvals WHERE sealed_content IS NOT NULL";
    assert_eq!(fixture.cluster.db.sql().await.number(kept).await, 0, "the values are erased");
}

/// Returns the last request that the model received.
fn last_request(fixture: &RunnerFixture) -> String {
    fixture.model.requests().last().map(|request| request.body.to_string()).unwrap_or_default()
}

/// The runner exits when its question is parked. Another one continues the work in the same thread: the model finds there
/// what it wanted to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_in_the_same_thread_after_a_night() {
    let fixture = RunnerFixture::start().await;
    for agent in [Agent::Codex, Agent::Qwen, Agent::Claude] {
        let run = create_asking_run(&fixture, agent).await;
        let runner = fixture.start_runner(&run, &[]);
        let parked = fixture.send(&run, "ask:echo once >> made").await;
        let approval = wait_for_approval(&fixture, &run, "pending").await;
        let pids = descendants(runner.guard_pid());
        assert!(!pids.is_empty(), "{agent:?} runs");
        pass_time(&fixture, "11 minutes").await;
        let result = fixture.wait_for_result(&run, &parked, TIMEOUT).await;
        assert_eq!(result["terminalStatus"], "blocked", "{agent:?} {result}");
        let expected = format!("approval:{}", approval["approvalId"].as_str().expect("an id"));
        assert_eq!(result["blocker"], Value::String(expected), "{agent:?} {result}");
        wait_until_exited(&pids, TIMEOUT).await;
        assert!(!run.workspace.join("made").exists(), "{agent:?} did it unasked");

        pass_time(&fixture, "8 hours").await;
        assert_eq!(answer(&fixture, &approval, "allow").await, 200);
        let turn = wait_for_continuing_turn(&fixture, &run, &parked).await;
        let _next_runner = fixture.start_runner(&run, &[]);
        let result = fixture.wait_for_result(&run, &turn, TIMEOUT).await;
        assert_eq!(result["terminalStatus"], "completed", "{agent:?} {result}");
        let made = std::fs::read_to_string(run.workspace.join("made"));
        assert_eq!(made.expect("a file"), "once\n", "{agent:?}");
        let reused = wait_for_approval(&fixture, &run, "reused").await;
        assert_eq!(reused["approvalId"], approval["approvalId"]);
    }
}
