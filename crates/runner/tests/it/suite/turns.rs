use std::time::Duration;

use guildhall_domain::approvals::question::{OptionEffect, Question, QuestionKind};
use guildhall_domain::runs::policy::Approval;
use guildhall_runner::backend::{
    AnswerDelivery, BackendEvent, PendingQuestion, ThreadStart, TurnControl, TurnOutcome,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::harness::TurnReport;
use super::{BackendFixture, DenialReaction, Harness};

pub(crate) async fn text_turn_streams_its_answer(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    let report = harness.turn("tidy my notes").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert_eq!(report.streamed_text(), "Echo: tidy my notes");
    assert_eq!(report.messages(), ["Echo: tidy my notes"]);
    assert!(report.count(|event| matches!(event, BackendEvent::TextDelta { .. })) > 1, "{report:?}");
    assert!(report.count(|event| matches!(event, BackendEvent::Usage(usage) if usage.output_tokens > 0)) > 0);
    harness.finish();
}

pub(crate) async fn events_arrive_while_a_long_turn_runs(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    harness.config.turn_timeout = Duration::from_secs(120);
    harness.start(ThreadStart::New).await.expect("start a thread");
    let (started, mut first_delta) = (std::time::Instant::now(), None);
    let report = harness
        .turn_while("slow", async |_, events| {
            events.wait_for(|event| matches!(event, BackendEvent::TextDelta { .. })).await;
            first_delta = Some(started.elapsed());
        })
        .await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let text = report.streamed_text();
    assert!(text.starts_with("tok0 tok1 ") && text.ends_with("tok39 "), "{text}");
    // The model takes ten seconds from its first word to its last.
    let after_first = first_delta.map(|first| started.elapsed().saturating_sub(first));
    assert!(after_first.is_some_and(|time| time.as_secs() > 5), "{first_delta:?} {after_first:?}");
    harness.finish();
}

pub(crate) async fn tool_call_is_reported_with_its_output(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    let report = harness.turn("run:echo first; sleep 0.3; echo second; echo done > made; exit 3").await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert_eq!(report.count(|event| matches!(event, BackendEvent::ToolStarted { .. })), 1);
    if fixture.capabilities.is_separate_process {
        let command = report.tool_arguments()["command"].to_string();
        assert!(command.contains("echo first; sleep 0.3"), "{report:?}");
    }
    let (output, truncated) = report.tool_output();
    assert!(output.contains("first\nsecond") && !truncated, "{truncated} {output:?}");
    let tools = report.finished_tools();
    assert!(matches!(&tools[..], [(_, Some(3) | None)]), "{tools:?}");
    assert_eq!(std::fs::read_to_string(harness.path("made")).ok().as_deref(), Some("done\n"));
    harness.finish();
}

pub(crate) async fn second_turn_has_the_context_of_the_first(fixture: &BackendFixture) {
    let mut harness = Harness::started(fixture).await;
    assert_eq!(harness.turn("the colour is teal").await.outcome, TurnOutcome::Completed);
    assert_eq!(harness.turn("and the shape is round").await.outcome, TurnOutcome::Completed);
    let received = harness.received();
    let last = received.last().expect("a request");
    assert!(last.contains("teal") && last.contains("round"), "{last}");
    harness.finish();
}

pub(crate) async fn declined_approval_is_reported_and_nothing_is_done(fixture: &BackendFixture) {
    let mut harness = Harness::new(fixture).await;
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let report = harness.turn("ask:touch made").await;
    assert_eq!(report.declined() > 0, fixture.capabilities.asks_approval, "{report:?}");
    if fixture.capabilities.asks_approval {
        assert!(!harness.path("made").exists(), "it was declined");
        let expected = match fixture.after_denial {
            DenialReaction::EndsTheTurn => TurnOutcome::Blocked(
                "the agent stopped because its request was declined: execute (the approval policy `never` allows it in \
                 the sandbox)"
                    .to_owned(),
            ),
            DenialReaction::GoesOn => TurnOutcome::Completed,
        };
        assert_eq!(report.outcome, expected, "{report:?}");
    }
    harness.finish();
}

/// Runs a turn that asks for `touch NAME`, and gives the first option with this effect. Returns the question.
async fn answer_turn(
    harness: &mut Harness<'_>,
    asked: &mut mpsc::Receiver<PendingQuestion>,
    name: &str,
    effect: OptionEffect,
) -> (Question, TurnReport) {
    answered_turn(harness, asked, &format!("ask:touch {name}"), effect, Value::Null).await
}

/// Runs a turn that asks one question, and gives the first option with this effect and these values. Returns the question.
pub(crate) async fn answered_turn(
    harness: &mut Harness<'_>,
    asked: &mut mpsc::Receiver<PendingQuestion>,
    prompt: &str,
    effect: OptionEffect,
    values: Value,
) -> (Question, TurnReport) {
    let mut shown = None;
    let report = harness.turn_while(prompt, async |_, _| {
        let PendingQuestion { call, question, reply, .. } = asked.recv().await.expect("a question");
        let option = question.options.iter().find(|option| option.effect == effect).expect("an option");
        let content = serde_json::from_value(values).expect("values");
        let (delivered, confirmed) = oneshot::channel();
        let answer = AnswerDelivery { option: option.id.clone(), content, delivered };
        reply.send(answer).expect("the turn waits");
        confirmed.await.expect("the process has got the answer");
        shown = Some((call, question));
    });
    let report = report.await;
    let (call, question) = shown.expect("a question");
    let acts = [QuestionKind::Command, QuestionKind::FileChange, QuestionKind::McpTool];
    if acts.contains(&question.action.kind) && harness.fixture.names_calls {
        let call = call.expect("the question names its tool call");
        assert!(report.has_started(&call), "{call} {report:?}");
    }
    (question, report)
}

pub(crate) async fn question_is_answered_with_the_option_of_a_person(fixture: &BackendFixture) {
    if !fixture.capabilities.asks_approval {
        return;
    }
    let mut harness = Harness::new(fixture).await;
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let mut asked = harness.listen_to_questions();
    let (question, report) = answer_turn(&mut harness, &mut asked, "allowed", OptionEffect::Allow).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    assert!(harness.path("allowed").exists(), "{report:?}");
    assert_eq!(question.action.kind, QuestionKind::Command);
    let command = question.action.arguments.as_ref().map(|arguments| arguments["command"].to_string());
    assert!(command.is_some_and(|command| command.contains("touch allowed")), "{question:?}");
    assert!(question.options.iter().all(|option| !option.changes_mode), "{question:?}");

    let (_, report) = answer_turn(&mut harness, &mut asked, "denied", OptionEffect::Deny).await;
    assert!(!harness.path("denied").exists(), "{report:?}");
    let expected = match fixture.after_denial {
        DenialReaction::EndsTheTurn => TurnOutcome::Blocked(
            "the agent stopped because its request was declined: execute (denied)".to_owned(),
        ),
        DenialReaction::GoesOn => TurnOutcome::Completed,
    };
    assert_eq!(report.outcome, expected, "{report:?}");
    assert!(asked.try_recv().is_err(), "it asked once for each command");
    harness.finish();
}

pub(crate) async fn interrupt_ends_a_turn_that_waits_for_a_person(fixture: &BackendFixture) {
    if !fixture.capabilities.asks_approval {
        return;
    }
    let mut harness = Harness::new(fixture).await;
    harness.config.approval = Approval::OnRequest;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let mut asked = harness.listen_to_questions();
    let report = interrupted_turn(&mut harness, &mut asked, Duration::ZERO).await;
    assert_eq!(report.outcome, TurnOutcome::Interrupted, "{report:?}");
    assert!(!harness.path("made").exists(), "nobody allowed it");
    harness.finish();
}

/// Runs a turn that asks, and interrupts it when the question has been open for some time.
async fn interrupted_turn(
    harness: &mut Harness<'_>,
    asked: &mut mpsc::Receiver<PendingQuestion>,
    wait: Duration,
) -> TurnReport {
    let turn = harness.turn_while("ask:touch made", async |controls, _| {
        let mut reply = asked.recv().await.expect("a question").reply;
        assert!(timeout(wait, reply.closed()).await.is_err(), "the question did not stay open");
        controls.send(TurnControl::Interrupt).await.expect("the turn runs");
        // The question is open until the turn has ended.
        reply.closed().await;
    });
    turn.await
}

/// People have all the time they need. For an agent that is a script: it asks at once.
pub(crate) async fn time_limit_does_not_count_the_wait_for_a_person(harness: &mut Harness<'_>) {
    let time_limit = Duration::from_secs(1);
    harness.config.approval = Approval::OnRequest;
    harness.config.turn_timeout = time_limit;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let mut asked = harness.listen_to_questions();
    let report = interrupted_turn(harness, &mut asked, time_limit * 3 / 2).await;
    assert_eq!(report.outcome, TurnOutcome::Interrupted, "{report:?}");
}
