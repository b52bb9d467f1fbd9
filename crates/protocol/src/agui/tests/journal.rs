//! Journals written by hand, and frames in a readable form.

use guildhall_domain::ids::{CommandId, RunId};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agui::event::AguiVersion;
use crate::agui::fold::{AguiFold, Frame, JournalEvent, StreamMode};

/// The journal of a session.
#[derive(Debug, Clone)]
pub(super) struct Journal {
    pub(super) events: Vec<JournalEvent>,
    pub(super) ordinal: i32,
}

/// Returns the command with this letter. Readable frames have the letter for the id.
pub(super) fn command(letter: char) -> CommandId {
    format!("cmd_{:032x}", u32::from(letter)).parse().expect("an id")
}

impl Journal {
    pub(super) fn new() -> Self {
        Self { events: Vec::new(), ordinal: 1 }
    }

    /// Starts a turn as the server does, with the id of a client's run if it came through this door. A run whose id ends with
    /// `-routed` has a router.
    pub(super) fn turn(mut self, letter: char, text: &str, client_run: Option<&str>) -> Self {
        self =
            self.add(letter, "command_status", json!({ "status": "pending", "type": "turn", "ordinal": 1 }));
        let mut message = json!({ "text": text, "type": "turn", "by": "prn_1" });
        if client_run.is_some() {
            message["clientMessageId"] = json!(format!("own-{letter}"));
        }
        self = self.add(letter, "user_message", message);
        match client_run {
            Some(run) if run.ends_with("-routed") => {
                self.add(letter, "client_run", json!({ "clientRunId": run, "worker": "code" }))
            }
            Some(run) => self.add(letter, "client_run", json!({ "clientRunId": run })),
            None => self,
        }
    }

    pub(super) fn running(self, letter: char) -> Self {
        self.add(letter, "command_status", json!({ "status": "running", "runnerId": "rnr_1" }))
    }

    pub(super) fn message(self, letter: char, item: &str, text: &str) -> Self {
        self.add(letter, "assistant_message", json!({ "itemId": item, "text": text, "final": true }))
    }

    pub(super) fn ask(self, letter: char, approval: &str) -> Self {
        let payload = json!({
            "approvalId": approval, "kind": "command", "tool": "shell", "expiresAt": "2027-01-01T00:00:00Z",
            "callId": "c1",
        });
        self.add(letter, "approval_requested", payload)
    }

    pub(super) fn approval_status(self, letter: char, approval: &str, status: &str) -> Self {
        let effect = (status == "decided").then_some("allow");
        let payload = json!({
            "approvalId": approval, "status": status, "optionId": null, "effect": effect, "by": null, "reason": null,
        });
        self.add(letter, "approval_status", payload)
    }

    pub(super) fn resume(self, letter: char, run: &str, approval: &str) -> Self {
        self.add(letter, "client_run", json!({ "clientRunId": run, "resumed": [approval] }))
    }

    pub(super) fn end(self, letter: char, status: &str) -> Self {
        let kind = (status == "failed").then_some("provider-unavailable");
        let message = (status == "failed").then_some("the provider failed");
        let payload =
            json!({ "scope": "command", "terminalStatus": status, "failureKind": kind, "message": message });
        self.add(letter, "terminal_status", payload)
    }

    pub(super) fn add(mut self, letter: char, kind: &str, payload: Value) -> Self {
        self.push(Some(command(letter)), kind, Some(payload));
        self
    }

    pub(super) fn push(&mut self, command: Option<CommandId>, kind: &str, payload: Option<Value>) {
        self.events.push(JournalEvent {
            run: format!("run_{:032x}", 1).parse::<RunId>().expect("an id"),
            ordinal: self.ordinal,
            seq: i64::try_from(self.events.len()).unwrap_or(i64::MAX) + 1,
            kind: kind.to_owned(),
            command,
            payload,
            recorded_at: Timestamp::UNIX_EPOCH,
            late: false,
        });
    }

    pub(super) fn fold(&self, mut fold: AguiFold) -> Vec<Frame> {
        self.events.iter().cloned().flat_map(|event| fold.push(event)).collect()
    }

    /// Returns the frames of the thread, readable.
    pub(super) fn thread(&self, version: AguiVersion) -> Vec<String> {
        readable(&self.fold(AguiFold::new("main", version, StreamMode::Thread)))
    }

    /// Returns the frames of a client's run, readable.
    pub(super) fn run(&self, run_id: &str, letter: char) -> Vec<String> {
        self.named_run(run_id, run_id, letter)
    }

    /// Returns the frames of a client's run that the journal names otherwise, readable.
    pub(super) fn named_run(&self, run_id: &str, client_run: &str, letter: char) -> Vec<String> {
        let (run_id, client_run) = (run_id.to_owned(), client_run.to_owned());
        let mode = StreamMode::Run { run_id, client_run, command: command(letter) };
        readable(&self.fold(AguiFold::new("main", AguiVersion::V1, mode)))
    }
}

/// Returns each frame as its type and fields, without time and thread.
pub(super) fn readable(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(|frame| readable_event(&frame.to_json())).collect()
}

fn readable_event(json: &str) -> String {
    let mut text = json.to_owned();
    for letter in 'A'..='F' {
        text = text.replace(&command(letter).to_string(), &letter.to_string());
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(&text) else { panic!("{text}") };
    let mut words = vec![fields["type"].as_str().unwrap_or_default().to_owned()];
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !["type", "timestamp", "threadId", "protocolVersion", "result", "role"].contains(&name.as_str()) {
            words.push(format!("{name}={value}"));
        }
    }
    words.join(" ")
}
