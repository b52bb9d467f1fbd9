//! What a runner sends fits the API document, and has no property that the document does not describe.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::{self, Usage};
use guildhall_testkit::schema::SchemaValidator;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::coalesce::{DeltaCoalescer, OutgoingEvent};
use super::redact::RunSecrets;
use super::runner_status::RunnerStatus;
use crate::backend::BackendEvent;
use crate::spool::{LeftoverSpool, SpoolKind};

fn api_document() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(file).expect("the API document")).expect("JSON")
}

/// One event of each variant.
fn backend_events() -> Vec<BackendEvent> {
    let (call, item, text) = (|| "c1".to_owned(), || "m1".to_owned(), || "text".to_owned());
    let command = || Some("ls -la".to_owned());
    let file = json!({ "kind": "file", "path": "a", "change": "added", "bytes": 25, "truncated": false });
    let summary = json!({
        "kind": "summary", "path": null, "files": 7, "bytes": 25, "truncated": true, "filesLookedAt": 9,
        "wholeWorkspace": false,
    });
    vec![
        BackendEvent::TextDelta { item: item(), text: text() },
        BackendEvent::Text { item: item(), text: text(), is_final: true },
        BackendEvent::ReasoningDelta { item: item(), text: text() },
        BackendEvent::Reasoning { item: item(), text: text(), truncated: true },
        BackendEvent::ToolStarted {
            call: call(),
            tool: "shell".into(),
            command: command(),
            arguments: Some(json!({ "command": "x".repeat(1 << 20) })),
        },
        BackendEvent::ToolOutput { call: call(), text: "x".repeat(2 << 20) },
        BackendEvent::ToolFullOutput { call: call(), text: text(), truncated: true },
        BackendEvent::ToolFinished {
            call: call(),
            tool: "shell".into(),
            status: "failed".into(),
            exit_code: None,
            command: None,
            arguments: None,
        },
        BackendEvent::Usage(Usage { input_tokens: 7, ..Usage::default() }),
        BackendEvent::Status { phase: "warning".into(), detail: json!({ "message": "careful" }) },
        BackendEvent::Error { kind: FailureKind::BackendFailed, message: text() },
        BackendEvent::ApprovalDeclined { what: "shell".into(), detail: json!({ "command": "ls" }) },
        BackendEvent::Artifact(file),
        BackendEvent::Artifact(summary),
        BackendEvent::Other { kind: "thread/compacted".into(), payload: json!([1]) },
    ]
}

fn status_events() -> Vec<OutgoingEvent> {
    let spool = LeftoverSpool { file: "a.jsonl".into(), events: 3, epoch: 2, kind: SpoolKind::Unconfirmed };
    let statuses = [
        RunnerStatus::leftover_spool(&spool),
        RunnerStatus::rejected_events(2, 1, 3, "a.jsonl"),
        RunnerStatus::draining(2, Duration::from_secs(30)),
        RunnerStatus::uncontained(2),
        RunnerStatus::log(2, 1, "warn", "slow"),
        RunnerStatus::leaving(2, "idle"),
    ];
    statuses.map(|status| OutgoingEvent::new(event::BACKEND_STATUS, status.payload)).into()
}

/// Returns the properties of a payload that its schema does not describe.
fn undocumented(document: &Value, event: &OutgoingEvent) -> Vec<String> {
    let schemas = &document["components"]["schemas"];
    let resolve = |reference: &Value| {
        let name = reference.as_str().and_then(|text| text.rsplit('/').next()).expect("a reference");
        schemas[name].clone()
    };
    let schema = resolve(&schemas["RunEvent"]["discriminator"]["mapping"][&event.kind]);
    let payload = resolve(&schema["properties"]["payload"]["oneOf"][0]["$ref"]);
    let fields = event.payload.as_object().expect("an object").keys();
    fields.filter(|name| payload["properties"].get(name).is_none()).cloned().collect()
}

#[test]
fn events_of_a_runner_fit_the_api_document() {
    let document = api_document();
    let validator = SchemaValidator::new(&document, "RunEvent");
    let secrets = RunSecrets::new([SecretString::from("canary-0123456789")]);
    let mut coalescer = DeltaCoalescer::new(secrets);
    let mut events: Vec<OutgoingEvent> =
        backend_events().into_iter().flat_map(|event| coalescer.push(event)).collect();
    events.extend(coalescer.finish());
    events.extend(status_events());
    for event in &events {
        let view = json!({
            "v": 1, "seq": 1, "type": event.kind, "eventId": "1-1", "commandId": null, "payload": event.payload,
            "erased": false, "late": false, "recordedAt": "2026-01-01T00:00:00Z",
        });
        assert_eq!(validator.errors(&view), Vec::<String>::new(), "{}", event.kind);
        assert_eq!(undocumented(&document, event), Vec::<String>::new(), "{}", event.kind);
    }
    let sent: BTreeSet<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(sent.len(), 12, "{sent:?}");
}
