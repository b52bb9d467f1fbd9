//! Turns that approvals cut into several runs, and turns that wait for each other.

use serde_json::json;

use super::journal::{Journal, command};
use crate::agui::event::AguiVersion;
use crate::agui::fold::{AguiFold, StreamMode};

const INTERRUPT: &str = r#"RUN_FINISHED outcome={"interrupts":[{"expiresAt":"2027-01-01T00:00:00Z","id":"apr_1","message":"Allow the agent to use shell?","reason":"tool_call","responseSchema":{"properties":{"approved":{"type":"boolean"},"optionId":{"type":"string"}},"required":["approved"],"type":"object"},"toolCallId":"A:c1:c1"}],"type":"interrupt"} runId=r1"#;
const DECISION: &str =
    r#"CUSTOM name=guildhall.approval value={"approvalId":"apr_1","effect":"allow","status":"decided"}"#;
const RESULT: &str = "TOOL_CALL_RESULT content=done messageId=A:o1:c1 toolCallId=A:c1:c1";

/// A turn that has asked, with a message in progress.
fn asked() -> Journal {
    Journal::new()
        .turn('A', "hi", Some("r1"))
        .running('A')
        .add('A', "tool_call", json!({ "callId": "c1", "toolName": "shell", "status": "started" }))
        .add('A', "assistant_delta", json!({ "itemId": "m1", "text": "One " }))
        .ask('A', "apr_1")
}

/// The rest of the turn after the answer.
fn answered(journal: Journal) -> Journal {
    journal
        .add('A', "command_output", json!({ "callId": "c1", "text": "done" }))
        .add('A', "tool_call", json!({ "callId": "c1", "status": "completed", "exitCode": 0 }))
        .message('A', "m1", "One two")
        .end('A', "completed")
}

/// The frames of the second run after its start.
fn rest(run_id: &str) -> Vec<String> {
    vec![
        DECISION.to_owned(),
        RESULT.to_owned(),
        "TEXT_MESSAGE_START messageId=A:t2:m1".to_owned(),
        "TEXT_MESSAGE_CONTENT delta=two messageId=A:t2:m1".to_owned(),
        "TEXT_MESSAGE_END messageId=A:t2:m1".to_owned(),
        format!(r#"RUN_FINISHED outcome={{"type":"success"}} runId={run_id}"#),
    ]
}

#[test]
fn question_ends_the_run_with_an_interrupt_and_closes_what_is_open() {
    let frames = asked().run("r1", 'A');
    assert_eq!(frames[frames.len() - 2..], ["TEXT_MESSAGE_END messageId=A:t1:m1", INTERRUPT]);
    assert_eq!(asked().thread(AguiVersion::V1), frames);
}

#[test]
fn resume_is_a_new_run_with_the_rest_of_the_turn() {
    let journal = asked().resume('A', "r2", "apr_1").approval_status('A', "apr_1", "decided");
    let started = journal.run("r2", 'A');
    assert_eq!(started, ["RUN_STARTED runId=r2", DECISION]);
    let journal = answered(journal);
    let frames = journal.run("r2", 'A');
    assert_eq!(frames[1..], rest("r2"));
    assert_eq!(journal.run("r1", 'A'), asked().run("r1", 'A'));
    assert_eq!(journal.thread(AguiVersion::V1), [asked().run("r1", 'A'), frames].concat());
}

#[test]
fn answer_from_elsewhere_continues_the_thread_and_a_later_resume_gets_all() {
    let journal = answered(asked().approval_status('A', "apr_1", "decided"));
    let thread = journal.thread(AguiVersion::V1);
    let first = asked().run("r1", 'A');
    assert_eq!(thread[first.len()], "RUN_STARTED runId=A.1");
    assert_eq!(thread[first.len() + 1..], rest("A.1"));
    let resumed = journal.resume('A', "r2", "apr_1");
    assert_eq!(resumed.thread(AguiVersion::V1), thread);
    let frames = resumed.run("r2", 'A');
    assert_eq!(frames[0], "RUN_STARTED runId=r2");
    assert_eq!(frames[1..], rest("r2"));
}

#[test]
fn tools_of_a_resume_are_repeated_in_the_run_that_follows() {
    let tools = json!([{ "name": "pick", "description": "Pick a colour" }]);
    let resume = json!({ "clientRunId": "r2", "resumed": ["apr_1"], "tools": tools });
    let expected = r#"RUN_STARTED input={"context":[],"messages":[],"runId":"r2","threadId":"main","tools":[{"description":"Pick a colour","name":"pick"}]} runId=r2"#;
    let journal = asked().add('A', "client_run", resume.clone()).approval_status('A', "apr_1", "decided");
    assert_eq!(journal.run("r2", 'A'), [expected, DECISION]);
    let late = answered(asked().approval_status('A', "apr_1", "decided")).add('A', "client_run", resume);
    let frames = late.run("r2", 'A');
    assert_eq!((frames[0].as_str(), &frames[1..]), (expected, &rest("r2")[..]));
}

#[test]
fn thread_waits_for_the_answer_and_goes_on_after_it() {
    let state = |journal: &Journal| {
        let mut fold = AguiFold::new("main", AguiVersion::V1, StreamMode::Thread);
        journal.events.iter().for_each(|event| drop(fold.push(event.clone())));
        (fold.is_idle(), fold.is_waiting())
    };
    assert_eq!(state(&asked()), (true, true));
    let decided = asked().approval_status('A', "apr_1", "decided");
    assert_eq!(state(&decided), (false, false), "nothing has followed yet");
    assert_eq!(state(&answered(decided.clone())), (true, false));
    let mut erased = decided;
    erased.push(None, "terminal_status", None);
    assert_eq!(state(&erased), (true, false), "nobody waits for an end that was erased");
}

#[test]
fn resume_in_the_middle_of_a_continued_turn_gets_its_start() {
    let journal = asked().approval_status('A', "apr_1", "expired").message('A', "m2", "so far");
    let journal = journal.resume('A', "r2", "apr_1").message('A', "m3", "then").end('A', "completed");
    let frames = journal.run("r2", 'A');
    assert_eq!(frames.iter().filter(|frame| frame.starts_with("TEXT_MESSAGE_START")).count(), 2);
    assert_eq!(frames.first().map(String::as_str), Some("RUN_STARTED runId=r2"));
    assert!(frames.last().is_some_and(|frame| frame.starts_with("RUN_FINISHED")), "{frames:?}");
}

#[test]
fn events_during_a_question_are_shown_after_its_answer() {
    let journal = asked().message('A', "m2", "meanwhile");
    assert_eq!(journal.thread(AguiVersion::V1), asked().thread(AguiVersion::V1));
    let journal = journal.approval_status('A', "apr_1", "decided");
    let frames = journal.thread(AguiVersion::V1).split_off(asked().thread(AguiVersion::V1).len());
    assert_eq!(frames[..2], ["RUN_STARTED runId=A.1", DECISION]);
    assert_eq!(frames[3], "TEXT_MESSAGE_CONTENT delta=meanwhile messageId=A:t1:m2");
}

#[test]
fn question_that_a_rule_answers_is_no_interrupt() {
    let payload = json!({ "approvalId": "apr_2", "kind": "command", "tool": "shell", "answered": true });
    let journal = Journal::new().turn('A', "hi", None).running('A').add('A', "approval_requested", payload);
    assert_eq!(journal.approval_status('A', "apr_2", "decided").thread(AguiVersion::V1).len(), 1);
}

#[test]
fn second_question_is_the_interrupt_of_the_next_run() {
    let journal = asked().ask('A', "apr_2").approval_status('A', "apr_1", "decided");
    let frames = journal.thread(AguiVersion::V1).split_off(asked().thread(AguiVersion::V1).len());
    assert_eq!(frames.len(), 3, "{frames:?}");
    assert!(frames[2].contains(r#""id":"apr_2""#) && !frames[2].contains("apr_1"), "{}", frames[2]);
}

#[test]
fn turn_that_is_parked_ends_without_another_run() {
    let journal = asked().approval_status('A', "apr_1", "pending").end('A', "blocked");
    assert_eq!(journal.thread(AguiVersion::V1), asked().thread(AguiVersion::V1));
    let resumed = asked().resume('A', "r2", "apr_1").end('A', "blocked");
    let frames = resumed.run("r2", 'A');
    assert_eq!(frames, ["RUN_STARTED runId=r2".to_owned(), INTERRUPT.replace("runId=r1", "runId=r2")]);
}

#[test]
fn turn_that_continues_a_parked_one_is_the_run_of_the_resume() {
    let parked = asked().approval_status('A', "apr_1", "pending").end('A', "blocked");
    let status = json!({ "status": "pending", "type": "turn", "continues": command('A').to_string() });
    let journal = parked.approval_status('A', "apr_1", "decided").add('B', "command_status", status);
    let journal = journal.resume('B', "r2", "apr_1").running('B').message('B', "m1", "done");
    let frames = journal.end('B', "completed").run("r2", 'B');
    assert_eq!(frames[0], "RUN_STARTED runId=r2");
    assert_eq!(frames[4], "TEXT_MESSAGE_CONTENT delta=done messageId=B:t1:m1");
}

#[test]
fn resume_of_a_turn_that_has_ended_is_a_conflict() {
    let parked = asked().approval_status('A', "apr_1", "pending").end('A', "blocked");
    let frames = parked.resume('A', "r2", "apr_1").run("r2", 'A');
    assert_eq!(
        frames,
        ["RUN_STARTED runId=r2", "RUN_ERROR code=conflict message=the turn ended before this resume"]
    );
}

#[test]
fn resume_after_the_turn_shows_what_followed_the_answer_of_another() {
    let answered = asked().approval_status('A', "apr_1", "decided").message('A', "m2", "done");
    let mut journal = answered.end('A', "completed").resume('A', "r2", "apr_1");
    journal.events.last_mut().expect("the resume").late = true;
    let frames = journal.run("r2", 'A');
    assert_eq!(frames[0], "RUN_STARTED runId=r2");
    assert_eq!(frames[3], "TEXT_MESSAGE_CONTENT delta=done messageId=A:t1:m2");
    assert!(frames.last().is_some_and(|frame| frame.starts_with("RUN_FINISHED")), "{frames:?}");
}

#[test]
fn rest_of_a_turn_can_have_the_run_id_of_its_beginning() {
    let journal = asked().resume('A', "apr_1", "apr_1").approval_status('A', "apr_1", "decided");
    let journal = answered(journal);
    assert_eq!(journal.run("r1", 'A'), asked().run("r1", 'A'));
    let frames = journal.named_run("r1", "apr_1", 'A');
    assert_eq!((frames[0].as_str(), &frames[1..]), ("RUN_STARTED runId=r1", &rest("r1")[..]));
}

#[test]
fn cancelled_question_is_a_cancelled_run() {
    let journal = asked().approval_status('A', "apr_1", "withdrawn").end('A', "cancelled");
    let frames = journal.thread(AguiVersion::V1);
    assert_eq!(
        frames.last().map(String::as_str),
        Some(r#"RUN_FINISHED outcome={"type":"cancelled"} runId=A.1"#)
    );
}

#[test]
fn queued_turn_starts_in_the_thread_when_the_turn_before_it_has_ended() {
    let journal = Journal::new().turn('A', "one", Some("r1")).running('A').turn('B', "two", Some("r2"));
    assert_eq!(journal.thread(AguiVersion::V1).len(), 3);
    assert_eq!(journal.run("r2", 'B').len(), 2, "its own stream starts at once");
    let frames = journal.end('A', "completed").thread(AguiVersion::V1);
    assert!(frames[3].starts_with("RUN_FINISHED") && frames[4].ends_with("runId=r2"), "{frames:?}");
}

#[test]
fn closed_stream_has_an_explicit_last_event_while_a_run_is_open() {
    let close = |journal: &Journal, mode: StreamMode| {
        let mut fold = AguiFold::new("main", AguiVersion::V1, mode);
        for event in journal.events.clone() {
            fold.push(event);
        }
        fold.close().map(|event| json!(event))
    };
    let run_id = || "r1".to_owned();
    let run = || StreamMode::Run { run_id: run_id(), client_run: run_id(), command: command('A') };
    let expected = json!({
        "type": "RUN_ERROR", "code": "stream-closed",
        "message": "the server closed the stream; the run goes on: connect again",
    });
    let open = Journal::new().turn('A', "hi", Some("r1")).running('A');
    for journal in [Journal::new(), open.clone()] {
        assert_eq!(close(&journal, StreamMode::Thread), Some(expected.clone()));
        assert_eq!(close(&journal, run()), Some(expected.clone()));
    }
    let ended = open.end('A', "completed");
    assert_eq!(close(&ended, StreamMode::Thread), None);
    assert_eq!(close(&ended, run()), None);
}
