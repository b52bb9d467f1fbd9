use serde_json::json;

use super::*;

fn render(events: &[(&str, Value)]) -> String {
    render_with(EventRenderer::default(), events)
}

fn render_with(mut renderer: EventRenderer, events: &[(&str, Value)]) -> String {
    let texts = (1..).zip(events).map(|(seq, (kind, payload))| {
        renderer.render(&EventView {
            v: 1,
            seq,
            r#type: (*kind).to_owned(),
            event_id: None,
            command_id: None,
            payload: Some(payload.clone()).filter(|payload| !payload.is_null()),
            erased: payload.is_null(),
            late: false,
            recorded_at: "2026-01-02T03:04:05Z".parse().expect("a time"),
        })
    });
    texts.collect()
}

#[test]
fn run_is_rendered_as_text_tool_lines_and_outcome() {
    let delta = |text: &str| ("assistant_delta", json!({ "text": text, "itemId": "m1" }));
    let text = render(&[
        ("run_status", json!({ "status": "pending" })),
        ("backend_status", json!({ "phase": "run-claimed", "runnerId": "rnr_1" })),
        ("command_status", json!({ "status": "running" })),
        delta("I look "),
        delta("around.\nThen I te"),
        delta("ll."),
        ("tool_call", json!({ "callId": "a", "toolName": "shell", "command": "ls -l\nrm x" })),
        ("command_output", json!({ "text": "total 0" })),
        ("tool_call", json!({ "callId": "a", "status": "completed", "exitCode": 0 })),
        ("tool_call", json!({ "callId": "b", "toolName": "shell", "command": "make", "status": "started" })),
        ("error", json!({ "message": "the model is slow" })),
        (
            "tool_call",
            json!({ "callId": "b", "toolName": "shell", "command": "make", "status": "failed", "exitCode": 2 }),
        ),
        ("assistant_message", json!({ "text": "I look around.\nThen I tell. Done.", "itemId": "m1" })),
        ("assistant_message", json!({ "text": "That is all.", "final": true, "itemId": "m2" })),
        ("assistant_message", Value::Null),
        ("something_newer", json!({ "x": 1 })),
        (
            "terminal_status",
            json!({ "scope": "command", "terminalStatus": "completed", "failureKind": null, "message": null }),
        ),
    ]);
    insta::assert_snapshot!(text, @r"
      rnr_1 claimed the run
    I look around.
    Then I tell.
      tool shell: ls -l ... completed, exit 0
      tool shell: make ...
      error: the model is slow
      tool shell: make ... failed, exit 2
     Done.
    That is all.
    completed
    ");
}

#[test]
fn outcome_has_status_failure_kind_and_message() {
    let end = |scope: &str, status: &str, kind: Option<&str>, message: Option<&str>| {
        format_outcome(
            &json!({ "scope": scope, "terminalStatus": status, "failureKind": kind, "message": message }),
        )
    };
    assert_eq!(end("command", "completed", None, None), "completed");
    assert_eq!(
        end("command", "failed", Some("backend-failed"), Some("no model")),
        "failed (backend-failed): no model"
    );
    assert_eq!(end("run", "cancelled", Some("cancelled"), Some("asked to")), "run cancelled: asked to");
}

#[test]
fn control_characters_of_an_agent_are_replaced() {
    let escape = "\u{1b}]0;x\u{7}\r";
    for kind in ["assistant_message", "tool_call", "error", "artifact", "terminal_status", "run_status"] {
        let payload = json!({
            "text": escape, "message": escape, "path": escape, "toolName": escape, "status": escape, "command": escape,
            "terminalStatus": escape, "reason": "released", "runnerId": escape,
        });
        let text = render(&[(kind, payload)]);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{kind}: {text:?}");
    }
}

#[test]
fn folded_tool_is_one_line_with_the_tail_of_its_output() {
    let start = |call: &str, command: &str| {
        ("tool_call", json!({ "callId": call, "toolName": "shell", "command": command, "status": "started" }))
    };
    let text = render_with(
        EventRenderer::with_folded_tools(),
        &[
            ("assistant_delta", json!({ "text": "I build.", "itemId": "m1" })),
            start("a", "make"),
            ("command_output", json!({ "callId": "a", "text": "1\n2\n3\n4\n5\n6\n7\n" })),
            ("tool_call", json!({ "callId": "a", "status": "failed", "exitCode": 2 })),
            start("b", "sleep 9"),
            ("terminal_status", json!({ "scope": "command", "terminalStatus": "cancelled" })),
        ],
    );
    insta::assert_snapshot!(text, @r"
    I build.
      tool shell: make ... failed, exit 2
        | … 2 more lines
        | 3
        | 4
        | 5
        | 6
        | 7
      tool shell: sleep 9 ...
    cancelled
    ");
}

#[test]
fn end_of_a_question_says_who_answered_or_why_nobody_can() {
    let status = |status: &str, reason: Option<&str>| {
        let payload = json!({
            "approvalId": "apr_1", "status": status, "effect": "allow", "by": ["prn_1", "prn_2"], "reason": reason,
        });
        format_approval_status(&payload, Some("prn_2"))
    };
    assert_eq!(status("decided", None).as_deref(), Some("answered: allow by prn_1, you"));
    assert_eq!(status("expired", None).as_deref(), Some("denied: nobody answered in time"));
    assert_eq!(status("withdrawn", Some("cancelled")).as_deref(), Some("question withdrawn: cancelled"));
    assert_eq!(status("delivered", None), None);
}
