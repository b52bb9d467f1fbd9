//! Journals in any order that storage allows, and in some that it does not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::journal::{Journal, command};

/// One event of a generated journal.
#[derive(Debug, Clone)]
pub(super) struct GeneratedStep {
    /// Mostly the current turn.
    turn: u8,
    kind: u8,
    item: u8,
    text: String,
    /// Erased, late, without a payload field, or as it is.
    damage: u8,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<GeneratedStep>> {
    let step = (0..12_u8, 0..44_u8, 0..3_u8, "[a-c \u{e9}]{0,3}", 0..30_u8);
    let step =
        step.prop_map(|(turn, kind, item, text, damage)| GeneratedStep { turn, kind, item, text, damage });
    prop::collection::vec(step, 0..70)
}

/// Returns the journal of a list of steps.
pub(super) fn journal(steps: &[GeneratedStep]) -> Journal {
    let mut journal = Journal::new();
    let mut current = 0_u8;
    for (number, step) in steps.iter().enumerate() {
        let (kind, payload) = match event(step, number) {
            Some(event) => event,
            None if step.kind < 2 => {
                journal.ordinal += 1;
                continue;
            }
            None => {
                current = (current + 1) % 5;
                let text = &step.text;
                let client = (step.item > 0)
                    .then(|| format!("run-{number}{}", ["", "", "-routed"][usize::from(step.item)]));
                let turn = letter(journal.ordinal, current);
                journal = journal.turn(turn, text, client.as_deref());
                continue;
            }
        };
        let turn = if step.turn < 10 { current } else { step.turn % 5 };
        let has_command = step.damage != 1;
        let command = command(letter(journal.ordinal, turn));
        journal.push(has_command.then_some(command), kind, Some(payload));
        if let Some(last) = journal.events.last_mut() {
            match step.damage {
                0 => (last.command, last.payload) = (None, None),
                2 => last.late = true,
                3 => last.payload = Some(Value::Null),
                4 => last.payload = Some(json!({ "text": null, "status": 7, "approvalId": [] })),
                _ => {}
            }
        }
    }
    journal
}

/// Returns the letter of a turn. No command has events in two runs.
fn letter(ordinal: i32, turn: u8) -> char {
    let run = u32::try_from(ordinal).unwrap_or(0);
    char::from_u32(u32::from('A') + run * 8 + u32::from(turn)).unwrap_or('A')
}

/// Returns arguments of any JSON; null for those of an old event.
fn arguments(step: &GeneratedStep) -> Value {
    let text = &step.text;
    match step.turn % 4 {
        0 => Value::Null,
        1 => json!({ "path": text, "line": null, "list": [text] }),
        2 => json!([text]),
        _ => json!(text),
    }
}

/// Returns tools of a front end, in any form; null for those of an old event.
fn tools(step: &GeneratedStep) -> Value {
    let text = &step.text;
    let schema =
        json!({ "type": "object", "properties": { "a": { "default": null, "enum": [text, null] } } });
    match step.turn % 4 {
        0 => Value::Null,
        1 => json!([{ "name": text, "description": text, "parameters": schema, "metadata": { "a": text } }]),
        2 => {
            json!([{ "name": text, "description": null, "parameters": null, "metadata": 1 }, text, { "name": 1 }])
        }
        _ => json!({ "name": text }),
    }
}

/// Returns the event of a step; none for a new run or a new turn.
fn event(step: &GeneratedStep, number: usize) -> Option<(&'static str, Value)> {
    let (item, text) = (format!("i{}", step.item), &step.text);
    let approval = format!("apr_{}", step.item);
    let client_run = format!("run-{number}");
    Some(match step.kind {
        0..=5 => return None,
        6..=9 => ("assistant_delta", json!({ "itemId": item, "text": text })),
        10..=12 => ("assistant_message", json!({ "itemId": item, "text": text, "final": true })),
        13..=14 => ("reasoning_delta", json!({ "itemId": item, "text": text })),
        15 => ("reasoning", json!({ "itemId": item, "text": text })),
        16..=18 => (
            "tool_call",
            json!({
                "callId": item, "toolName": "shell", "status": "started", "command": text,
                "arguments": arguments(step),
            }),
        ),
        19..=20 => (
            "tool_call",
            json!({ "callId": item, "status": "failed", "exitCode": step.turn, "command": null }),
        ),
        21..=22 => ("command_output", json!({ "callId": item, "text": text, "whole": step.turn == 0 })),
        23..=25 => (
            "approval_requested",
            json!({
                "approvalId": approval, "kind": (["command", "question", "plan"][usize::from(step.item)]), "tool": "shell",
                "expiresAt": "2027-01-01T00:00:00Z", "callId": item, "answered": step.turn == 1,
            }),
        ),
        26..=29 => {
            let status = ["decided", "pending", "withdrawn", "settled"][usize::from(step.turn % 4)];
            ("approval_status", json!({ "approvalId": approval, "status": status, "effect": null }))
        }
        30..=31 => {
            let tools = tools(step);
            (
                "client_run",
                json!({ "clientRunId": client_run, "resumed": [approval], "parentRunId": "p", "tools": tools }),
            )
        }
        32 => ("client_run", json!({ "clientRunId": client_run, "tools": tools(step) })),
        33 => ("usage", json!({ "inputTokens": u64::MAX, "outputTokens": 3 })),
        34 => ("artifact", json!({ "kind": "file", "path": null, "list": [null, 1] })),
        35 => ("error", json!({ "failureKind": "provider-unavailable", "message": text })),
        36 => ("command_status", json!({ "status": "running" })),
        37 => ("user_message", json!({ "type": "steer", "text": text, "by": null })),
        38 => ("backend_event", json!({ "kind": "other" })),
        39 => ("terminal_status", json!({ "scope": "run", "terminalStatus": "cancelled" })),
        _ => {
            let status = ["completed", "failed", "blocked", "cancelled"][usize::from(step.turn % 4)];
            ("terminal_status", json!({ "scope": "command", "terminalStatus": status, "failureKind": null }))
        }
    })
}
