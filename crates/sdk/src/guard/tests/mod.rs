use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use guildhall_domain::agents::manifest::Sensitivity;
use guildhall_domain::agents::tool_calls::{
    ConversationKind, DenialReason, PROMPT_TIMEOUT, ToolCall, ToolErrorCode, ToolOutcome,
};
use guildhall_domain::identity::Aid;
use guildhall_protocol::manifest;
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::*;

mod chain;

/// Answers prompts as it is told, and keeps them.
#[derive(Debug, Default)]
struct Person {
    /// None: the person does not answer.
    answer: Mutex<Option<PromptAnswer>>,
    asked: Mutex<Vec<ToolPrompt>>,
    is_asked: Notify,
}

impl Prompts for Arc<Person> {
    async fn ask(&self, prompt: ToolPrompt) -> PromptAnswer {
        self.asked.lock().expect("not poisoned").push(prompt);
        self.is_asked.notify_one();
        let answer = *self.answer.lock().expect("not poisoned");
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

/// Tools that count their runs.
#[derive(Debug, Default)]
struct Device {
    runs: AtomicUsize,
    ended: AtomicUsize,
    is_running: Notify,
}

impl Tools for Arc<Device> {
    async fn run(&self, run: ToolRun) -> Result<Value, ToolFailure> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.is_running.notify_one();
        match run.tool.as_str() {
            "notify" | "read_file" | "locate" => {
                self.ended.fetch_add(1, Ordering::SeqCst);
                Ok(json!({ "tool": run.tool, "arguments": run.arguments }))
            }
            "hang" | "hang_briefly" => std::future::pending().await,
            "large" => Ok(json!("x".repeat(MAX_RESULT_BYTES))),
            "fail" => Err(ToolFailure::Failed),
            _ => Err(ToolFailure::Unavailable),
        }
    }
}

struct Fixture {
    guard: Guard<Arc<Person>, Arc<Device>>,
    person: Arc<Person>,
    device: Arc<Device>,
    clock: Clock,
    agent: Aid,
    folder: TempDir,
    calls: AtomicUsize,
}

const SCOPES: [(&str, &str); 3] =
    [("notification:send", "low"), ("filesystem:read", "medium"), ("location:read", "high")];

const TOOLS: [(&str, &str); 9] = [
    ("notify", "notification:send"),
    ("read_file", "filesystem:read"),
    ("locate", "location:read"),
    ("hang", "notification:send"),
    ("hang_briefly", "notification:send"),
    ("large", "notification:send"),
    ("fail", "notification:send"),
    ("missing", "notification:send"),
    ("absent", "location:read"),
];

fn grant(granted: &[&str], version: &str) -> ToolGrant {
    let tools = TOOLS.map(|(name, scope)| {
        json!({
            "name": name, "description_i18n_key": "key", "description_fallback": format!("Words of {name}"),
            "permission_scope": scope, "timeout_ms": if name == "hang_briefly" { 50 } else { 60_000 },
            "input_schema": {
                "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"],
                "additionalProperties": false,
            },
        })
    });
    let scopes = SCOPES.map(|(id, sensitivity)| {
        json!({
            "id": id, "label_i18n_key": "key", "description_i18n_key": "key", "sensitivity": sensitivity,
        })
    });
    let text = json!({
        "schema_version": "1.0", "agent_version": version, "tools": tools, "permission_scopes": scopes,
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false,
            "supports_group_chat": true,
        },
    });
    let checked = manifest::check(&text.to_string()).expect("a valid manifest");
    ToolGrant::new(checked, granted.iter().map(|scope| (*scope).to_owned()).collect::<BTreeSet<_>>())
        .expect("usable schemas")
}

impl Fixture {
    fn new(granted: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::manual("2026-11-19T12:00:00Z".parse().expect("a time"));
        let (person, device) = (Arc::<Person>::default(), Arc::<Device>::default());
        let audit = AuditLog::open(folder.path(), clock.clone()).expect("a log");
        let guard = Guard::new(Arc::clone(&person), Arc::clone(&device), clock.clone(), audit);
        let agent: Aid = "helper.guild.example".parse().expect("an AID");
        guard.set_grant(&agent, grant(granted, "1.0.0"));
        Self { guard, person, device, clock, agent, folder, calls: AtomicUsize::new(0) }
    }

    fn with_all() -> Self {
        Self::new(&SCOPES.map(|(id, _)| id))
    }

    fn answer(&self, answer: PromptAnswer) {
        *self.person.answer.lock().expect("not poisoned") = Some(answer);
    }

    fn advance(&self, time: SignedDuration) {
        self.clock.set(self.clock.now() + time);
    }

    /// Returns a new call with the scope of the manifest.
    fn call(&self, tool: &str) -> ToolCall {
        let scope =
            TOOLS.iter().find(|(name, _)| *name == tool).map_or("notification:send", |(_, scope)| scope);
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        ToolCall {
            id: format!("call-{number}").parse().expect("an id"),
            tool: tool.to_owned(),
            arguments: json!({ "path": "/home/alice/secret.txt" }),
            scope: scope.to_owned(),
            timeout_ms: None,
        }
    }

    fn received<'a>(&'a self, call: &'a ToolCall) -> ReceivedCall<'a> {
        ReceivedCall { agent: &self.agent, conversation: "c-1", kind: ConversationKind::Direct, call }
    }

    async fn handle(&self, call: &ToolCall) -> ToolOutcome {
        self.guard.handle(self.received(call)).await.expect("an answer")
    }

    async fn call_tool(&self, tool: &str) -> ToolOutcome {
        self.handle(&self.call(tool)).await
    }

    fn prompts(&self) -> usize {
        self.person.asked.lock().expect("not poisoned").len()
    }

    fn runs(&self) -> usize {
        self.device.runs.load(Ordering::SeqCst)
    }

    fn statuses(&self) -> Vec<AuditStatus> {
        self.guard.audit_log().entries().iter().map(|entry| entry.status).collect()
    }
}

fn denied(reason: DenialReason) -> ToolOutcome {
    ToolOutcome::Denied(reason)
}

fn failed(code: ToolErrorCode) -> ToolOutcome {
    ToolOutcome::Failed(code)
}

// covers: M20a
#[tokio::test]
async fn granted_call_with_low_sensitivity_runs_silently() {
    let fixture = Fixture::with_all();
    let expected = json!({ "tool": "notify", "arguments": { "path": "/home/alice/secret.txt" } });
    assert_eq!(fixture.call_tool("notify").await, ToolOutcome::Done(expected));
    assert_eq!((fixture.prompts(), fixture.runs()), (0, 1));
}

// covers: M20b
#[tokio::test]
async fn tool_that_fails_or_hangs_is_a_platform_error() {
    let fixture = Fixture::with_all();
    assert_eq!(fixture.call_tool("fail").await, failed(ToolErrorCode::PlatformError));
    assert_eq!(fixture.call_tool("large").await, failed(ToolErrorCode::PlatformError), "no message holds it");
    // Each would take a minute if the other limit counted.
    for (tool, asked) in [("hang_briefly", None), ("hang_briefly", Some(60_000)), ("hang", Some(50))] {
        let call = ToolCall { timeout_ms: asked, ..fixture.call(tool) };
        let start = Instant::now();
        assert_eq!(fixture.handle(&call).await, failed(ToolErrorCode::PlatformError));
        let elapsed = start.elapsed();
        assert!(
            (Duration::from_millis(50)..Duration::from_secs(30)).contains(&elapsed),
            "{tool}: {elapsed:?}"
        );
    }
}

// covers: M20c
#[tokio::test]
async fn arguments_that_do_not_match_the_schema_run_nothing() {
    let fixture = Fixture::with_all();
    for arguments in
        [json!({}), json!({ "path": 7 }), json!({ "path": "a", "mode": "w" }), json!("a"), json!(null)]
    {
        let call = ToolCall { arguments, ..fixture.call("locate") };
        assert_eq!(fixture.handle(&call).await, failed(ToolErrorCode::InvalidArguments), "{call:?}");
    }
    assert_eq!((fixture.prompts(), fixture.runs()), (0, 0));
}

// covers: M20d
#[tokio::test]
async fn declared_tool_that_the_device_lacks_is_unavailable() {
    let fixture = Fixture::with_all();
    assert_eq!(fixture.call_tool("missing").await, failed(ToolErrorCode::Unavailable));
}

// covers: M20e
#[tokio::test]
async fn refused_prompt_denies_the_call() {
    let fixture = Fixture::with_all();
    fixture.answer(PromptAnswer::Refuse);
    for tool in ["locate", "read_file", "read_file"] {
        assert_eq!(fixture.call_tool(tool).await, denied(DenialReason::UserRefused));
    }
    assert_eq!((fixture.prompts(), fixture.runs()), (3, 0), "a refusal is no allowance");
}

// covers: M20f
#[tokio::test]
async fn scope_that_is_not_granted_denies_the_call() {
    let fixture = Fixture::new(&["notification:send"]);
    assert_eq!(fixture.call_tool("read_file").await, denied(DenialReason::ScopeNotGranted));
    // A granted scope does not lend itself to a tool with another one.
    let call = ToolCall { scope: "notification:send".to_owned(), ..fixture.call("read_file") };
    assert_eq!(fixture.handle(&call).await, denied(DenialReason::ScopeNotGranted));
    let stranger: Aid = "stranger.guild.example".parse().expect("an AID");
    let call = fixture.call("notify");
    let received = ReceivedCall { agent: &stranger, ..fixture.received(&call) };
    let outcome = fixture.guard.handle(received).await.expect("an answer");
    assert_eq!(outcome, denied(DenialReason::ScopeNotGranted));
    assert_eq!((fixture.prompts(), fixture.runs()), (0, 0));
}

// covers: M20g
#[tokio::test]
async fn tool_that_is_not_declared_denies_the_call() {
    let fixture = Fixture::with_all();
    assert_eq!(fixture.call_tool("delete_file").await, denied(DenialReason::ToolNotDeclared));
    assert_eq!(fixture.runs(), 0);
}

// covers: M20h
#[tokio::test]
async fn prompt_without_an_answer_denies_the_call_in_time() {
    assert_eq!(PROMPT_TIMEOUT, Duration::from_secs(30));
    let mut fixture = Fixture::with_all();
    fixture.guard = fixture.guard.with_prompt_timeout(Duration::from_millis(50));
    for tool in ["locate", "read_file"] {
        assert_eq!(fixture.call_tool(tool).await, denied(DenialReason::UserTimeout));
    }
    assert_eq!((fixture.prompts(), fixture.runs()), (2, 0));
}

// covers: M20i, M21
#[tokio::test]
async fn call_in_a_group_is_denied_whatever_the_manifest_says() {
    let fixture = Fixture::with_all();
    for tool in ["notify", "delete_file"] {
        let call = fixture.call(tool);
        let received = ReceivedCall { kind: ConversationKind::Group, ..fixture.received(&call) };
        let outcome = fixture.guard.handle(received).await.expect("an answer");
        assert_eq!(outcome, denied(DenialReason::NotSupportedInGroup));
    }
    assert_eq!(fixture.runs(), 0);
}

// covers: M22
#[tokio::test]
async fn high_sensitivity_asks_before_every_call() {
    let fixture = Fixture::with_all();
    fixture.answer(PromptAnswer::Allow);
    for _ in 0..2 {
        assert!(matches!(fixture.call_tool("locate").await, ToolOutcome::Done(_)));
    }
    let asked = fixture.person.asked.lock().expect("not poisoned").clone();
    let expected = ToolPrompt {
        agent: fixture.agent.clone(),
        conversation: "c-1".to_owned(),
        tool: "locate".to_owned(),
        description: Some("Words of locate".to_owned()),
        scope: "location:read".to_owned(),
        sensitivity: Sensitivity::High,
        arguments: json!({ "path": "/home/alice/secret.txt" }),
        expires_in: PROMPT_TIMEOUT,
    };
    assert_eq!(asked, [expected.clone(), expected]);
}

// covers: M22
#[tokio::test]
async fn medium_sensitivity_is_silent_for_24_hours_after_its_last_use() {
    let fixture = Fixture::with_all();
    fixture.answer(PromptAnswer::Allow);
    let prompts = async |after: SignedDuration| {
        fixture.advance(after);
        assert!(matches!(fixture.call_tool("read_file").await, ToolOutcome::Done(_)));
        fixture.prompts()
    };
    assert_eq!(prompts(SignedDuration::ZERO).await, 1);
    assert_eq!(prompts(SignedDuration::from_hours(23)).await, 1);
    assert_eq!(prompts(SignedDuration::from_hours(23)).await, 1, "the last use counts");
    assert_eq!(prompts(SignedDuration::from_hours(24)).await, 2);
    let call = fixture.call("read_file");
    let elsewhere = ReceivedCall { conversation: "c-2", ..fixture.received(&call) };
    fixture.guard.handle(elsewhere).await.expect("an answer");
    assert_eq!(fixture.prompts(), 3, "another conversation");
    fixture.guard.set_grant(&fixture.agent, grant(&["filesystem:read"], "1.0.1"));
    assert_eq!(prompts(SignedDuration::ZERO).await, 4, "another manifest");
}

#[tokio::test]
async fn revoked_grant_denies_calls_that_wait_or_run() {
    let fixture = Fixture::with_all();
    let (waiting, running) = (fixture.call("locate"), fixture.call("hang"));
    let revoke = async {
        tokio::join!(fixture.person.is_asked.notified(), fixture.device.is_running.notified());
        fixture.guard.revoke(&fixture.agent);
    };
    let start = Instant::now();
    let (waited, ran, ()) = tokio::join!(fixture.handle(&waiting), fixture.handle(&running), revoke);
    assert_eq!((waited, ran), (denied(DenialReason::ScopeNotGranted), denied(DenialReason::ScopeNotGranted)));
    assert!(start.elapsed() < PROMPT_TIMEOUT);
    assert_eq!(fixture.call_tool("notify").await, denied(DenialReason::ScopeNotGranted));
}

#[tokio::test]
async fn new_grant_denies_only_the_calls_that_it_does_not_cover() {
    let fixture = Fixture::with_all();
    let (waiting, running) = (fixture.call("locate"), fixture.call("hang"));
    let narrow = async {
        tokio::join!(fixture.person.is_asked.notified(), fixture.device.is_running.notified());
        fixture.guard.set_grant(&fixture.agent, grant(&["notification:send"], "1.1.0"));
    };
    let running = ToolCall { timeout_ms: Some(500), ..running };
    let (waited, ran, ()) = tokio::join!(fixture.handle(&waiting), fixture.handle(&running), narrow);
    assert_eq!(waited, denied(DenialReason::ScopeNotGranted));
    assert_eq!(ran, failed(ToolErrorCode::PlatformError), "it ran until its time was over");
}

// covers: M22
#[tokio::test]
async fn repeated_call_id_runs_once_also_after_a_restart() {
    let fixture = Fixture::with_all();
    let call = fixture.call("notify");
    assert!(matches!(fixture.handle(&call).await, ToolOutcome::Done(_)));
    let changed = ToolCall { arguments: json!({ "path": "/other" }), ..call.clone() };
    for repeated in [&call, &changed] {
        let outcome = fixture.guard.handle(fixture.received(repeated)).await;
        assert!(matches!(outcome, Err(GuardError::Replayed(id)) if id == call.id));
    }
    let audit = AuditLog::open(fixture.folder.path(), fixture.clock.clone()).expect("a log");
    let restarted =
        Guard::new(Arc::clone(&fixture.person), Arc::clone(&fixture.device), fixture.clock.clone(), audit);
    restarted.set_grant(&fixture.agent, grant(&["notification:send"], "1.0.0"));
    assert!(matches!(restarted.handle(fixture.received(&call)).await, Err(GuardError::Interrupted(_))));
    assert!(matches!(restarted.handle(fixture.received(&call)).await, Err(GuardError::Replayed(_))));
    assert_eq!(fixture.runs(), 1);
    // The ids of two agents have nothing to do with each other.
    let other: Aid = "other.guild.example".parse().expect("an AID");
    restarted.set_grant(&other, grant(&["notification:send"], "1.0.0"));
    let received = ReceivedCall { agent: &other, ..fixture.received(&call) };
    assert!(matches!(restarted.handle(received).await, Ok(ToolOutcome::Done(_))));
}

// covers: M22
#[tokio::test]
async fn audit_log_has_each_call_for_30_days_without_its_arguments() {
    let fixture = Fixture::with_all();
    fixture.answer(PromptAnswer::Refuse);
    let call = fixture.call("notify");
    fixture.handle(&call).await;
    fixture.call_tool("locate").await;
    fixture.call_tool("fail").await;
    fixture.call_tool(&"unknown".repeat(100)).await;
    use AuditStatus::{Denied, Error, Ok, Started};
    assert_eq!(fixture.statuses(), [Started, Ok, Denied, Started, Error, Denied]);
    let entry = ToolAuditEntry {
        call_id: call.id.to_string(),
        agent_id: fixture.agent.to_string(),
        tool_name: "notify".to_owned(),
        scope: "notification:send".to_owned(),
        arguments_digest: call.arguments_digest(),
        status: Ok,
        timestamp: fixture.clock.now(),
    };
    assert_eq!(fixture.guard.audit_log().entries()[1], entry);

    let path = fixture.folder.path().join("tool-calls.jsonl");
    let text = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(text.lines().count(), 6);
    assert!(!text.contains("secret.txt"), "{text}");
    assert!(text.lines().all(|line| line.len() < 500), "{text}");

    // A crash may tear the last line.
    std::fs::write(&path, format!("{text}{{\"call_id\":\"call-9")).expect("written");
    fixture.advance(SignedDuration::from_hours(30 * 24) - SignedDuration::from_secs(1));
    let reopened = AuditLog::open(fixture.folder.path(), fixture.clock.clone()).expect("a log");
    assert_eq!(reopened.entries(), fixture.guard.audit_log().entries());
    fixture.advance(SignedDuration::from_secs(1));
    fixture.call_tool("notify").await;
    let kept = fixture.guard.audit_log().entries();
    assert!(
        kept.iter().all(|entry| entry.timestamp > Timestamp::UNIX_EPOCH && entry.status != Denied),
        "{kept:?}"
    );
}

#[tokio::test]
async fn call_that_cannot_be_recorded_does_not_run() {
    let fixture = Fixture::with_all();
    // Only a full disk, or one that fails, refuses to write to an open file.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is full");
    fixture.guard.audit_log().replace_file(full);
    let call = fixture.call("notify");
    assert!(matches!(fixture.guard.handle(fixture.received(&call)).await, Err(GuardError::AuditLog(_))));
    assert_eq!(fixture.runs(), 0);
}
