//! Questions of real agents in a chat front end that speaks AG-UI: answered by the next run of the front end, or with a
//! command while the front end is open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::profiles::Profile;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::runner_acp::qwen_profile;
use crate::runner_codex::codex_profile;
use crate::support::agent::{AgentFixture, stop_runner};
use crate::support::runner::string_field;
use crate::support::user::stdout;

const CREDENTIAL: &str = "canary-credential-66dd";

/// A tool of the front end. No agent may know it.
const FRONT_END_TOOL: &str = "pick_a_colour";

const TIMEOUT: Duration = Duration::from_secs(60);

/// A chat front end, which has a conversation with a real agent.
struct Tab {
    fixture: AgentFixture,
    runtime: Runtime,
    client: reqwest::Client,
    key: String,
}

/// A stream of AG-UI events.
struct EventStream {
    response: reqwest::Response,
    buffer: String,
}

impl EventStream {
    /// Returns the next event; none at the end of the stream.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.buffer.split_once("\n\n") {
                let data = frame.lines().find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
                self.buffer = rest.to_owned();
                match data {
                    Some(data) => return Some(serde_json::from_str(&data).expect("JSON")),
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.expect("in time");
            self.buffer.push_str(std::str::from_utf8(&chunk.expect("a chunk")?).expect("UTF-8"));
        }
    }
}

impl Tab {
    fn open(make_profile: impl FnOnce(String) -> Profile) -> Self {
        let fixture = AgentFixture::start(CREDENTIAL, make_profile);
        let user = &fixture.tenant.user;
        let agent =
            ["agents", "create", "helper", "--default", "--profile", "mine", "--approval", "on-request"];
        user.json(&agent);
        let key = user.json(&["keys", "create", "app", "--role", "operator", "--tenant", "acme"]);
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let runtime = Runtime::new().expect("a runtime");
        Self { key: string_field(&key, "secret"), fixture, runtime, client }
    }

    fn stream(&self, request: reqwest::RequestBuilder) -> EventStream {
        let request = request.bearer_auth(&self.key).header("accept", "text/event-stream");
        let response = self.runtime.block_on(request.send()).expect("a response");
        assert_eq!(response.status(), 200);
        EventStream { response, buffer: String::new() }
    }

    /// Sends the input of a run. Returns its events.
    fn run(&self, run: &str, values: &Value) -> Vec<Value> {
        let tool = json!({ "name": FRONT_END_TOOL, "description": "Ask for a colour", "parameters": {} });
        let mut input = json!({
            "threadId": "main", "runId": run, "protocolVersion": "1.0", "messages": [], "tools": [tool],
        });
        for (name, value) in values.as_object().expect("an object") {
            input[name] = value.clone();
        }
        let request = self.client.post(format!("{}/api/v1/agent/runs", self.fixture.url)).json(&input);
        let mut stream = self.stream(request);
        let events = self.read(&mut stream, usize::MAX);
        assert_eq!(events[0]["input"]["tools"], input["tools"], "repeated to the front end");
        events
    }

    fn send(&self, run: &str, text: &str) -> Vec<Value> {
        let message = json!({ "id": format!("message-of-{run}"), "role": "user", "content": text });
        self.run(run, &json!({ "messages": [message] }))
    }

    /// Follows the conversation from its beginning, also while the agent waits.
    fn follow(&self) -> EventStream {
        let url = format!("{}/api/v1/agent/runs/main/events?waitForAnswers=true", self.fixture.url);
        self.stream(self.client.get(url))
    }

    /// Reads events until the end of the stream, at most `count`.
    fn read(&self, stream: &mut EventStream, count: usize) -> Vec<Value> {
        self.runtime.block_on(async {
            let mut events = Vec::new();
            while events.len() < count
                && let Some(event) = stream.next().await
            {
                events.push(event);
            }
            events
        })
    }

    /// Returns a file that the agent has written in its workspace.
    fn read_file(&self, name: &str) -> Option<String> {
        let workspaces = self.fixture.folder.path().join(".guildhall-runner/workspaces");
        std::fs::read_to_string(only_entry(&workspaces).join(name)).ok()
    }
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let first = entries.next().expect("an entry");
    assert_eq!(entries.next(), None, "one workspace");
    first
}

/// Returns the types of events, once for those that follow each other, without the steps of the server.
fn kinds(events: &[Value]) -> Vec<String> {
    let is_step = |event: &&Value| {
        event["type"].as_str().is_some_and(|kind| kind.starts_with("STEP_"))
            || event["name"] == "guildhall.route"
    };
    let shown = events.iter().filter(|event| !is_step(event));
    let mut kinds: Vec<String> = shown.map(|event| string_field(event, "type")).collect();
    kinds.dedup();
    kinds
}

/// Returns events between the first and the last one, without their times.
fn untimed_middle(events: &[Value]) -> Vec<Value> {
    let mut events = events[1..events.len() - 1].to_vec();
    events.iter_mut().for_each(|event| drop(event.as_object_mut().map(|event| event.remove("timestamp"))));
    events
}

fn said(events: &[Value]) -> String {
    let texts = events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    texts.map(|event| string_field(event, "delta")).collect()
}

/// Asserts that a run ends with a question about its only tool call. Returns the question.
fn assert_interrupted(events: &[Value], command: &str) -> Value {
    let expected = ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"];
    assert_eq!(kinds(events), expected, "{events:#?}");
    let outcome = &events.last().expect("an end")["outcome"];
    assert_eq!(outcome["interrupts"].as_array().map(Vec::len), Some(1), "{outcome}");
    let interrupt = &outcome["interrupts"][0];
    let call = events.iter().find(|event| event["type"] == "TOOL_CALL_START").expect("a call");
    assert_eq!((&interrupt["reason"], &interrupt["toolCallId"]), (&json!("tool_call"), &call["toolCallId"]));
    assert!(string_field(interrupt, "message").contains(command), "{interrupt}");
    interrupt.clone()
}

/// Asserts that events are the rest of a turn whose question was allowed.
fn assert_rest(events: &[Value], interrupt: &Value, prompt: &str) {
    let expected = [
        "RUN_STARTED",
        "CUSTOM",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        // The file that the tool has written.
        "CUSTOM",
        "RUN_FINISHED",
    ];
    assert_eq!(kinds(events), expected, "{events:#?}");
    let decision = &events[1]["value"];
    assert_eq!((&decision["approvalId"], &decision["effect"]), (&interrupt["id"], &json!("allow")));
    let results: Vec<&Value> = events.iter().filter(|event| event["type"] == "TOOL_CALL_RESULT").collect();
    assert_eq!(results.len(), 1, "{events:#?}");
    assert_eq!(results[0]["toolCallId"], interrupt["toolCallId"]);
    assert!(string_field(results[0], "content").contains("it ran"), "{}", results[0]);
    assert_eq!(said(events), format!("Echo: {prompt}"));
    assert_eq!(events.last().expect("an end")["outcome"], json!({ "type": "success" }));
}

fn assert_questions_are_answered_from_the_tab_and_the_command_line(tab: &Tab) {
    let user = &tab.fixture.tenant.user;
    let runner = tab.fixture.start_runner();

    let command = "echo it ran >> first; cat first";
    let prompt = format!("ask:{command}");
    let first = tab.send("run-1", &prompt);
    let interrupt = assert_interrupted(&first, command);
    assert_eq!(tab.read_file("first"), None, "the agent did not wait");
    let entry =
        json!({ "interruptId": interrupt["id"], "status": "resolved", "payload": { "approved": true } });
    let resumed = tab.run("run-2", &json!({ "resume": [entry] }));
    assert_rest(&resumed, &interrupt, &prompt);
    assert_eq!(resumed[0]["runId"], "run-2");
    assert_eq!(tab.run("run-2", &json!({ "resume": [entry] })), resumed, "a repeated request");

    let command = "echo it ran >> second; cat second";
    let prompt = format!("ask:{command}");
    let second = tab.send("run-3", &prompt);
    let interrupt = assert_interrupted(&second, command);
    let before = [&first[..], &resumed, &second].concat();
    let mut stream = tab.follow();
    assert_eq!(tab.read(&mut stream, before.len()), before, "the whole conversation");
    let id = string_field(&interrupt, "id");
    let answered = stdout(&user.run(&["approvals", "allow", &id]));
    assert!(answered.starts_with("allowed: "), "{answered}");
    let rest = tab.read(&mut stream, usize::MAX);
    assert_rest(&rest, &interrupt, &prompt);
    let late = json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } });
    let resumed = tab.run("run-4", &json!({ "resume": [late] }));
    assert_eq!(untimed_middle(&resumed), untimed_middle(&rest), "the tab may send the same answer");

    stop_runner(runner);
    for file in ["first", "second"] {
        assert_eq!(tab.read_file(file).as_deref(), Some("it ran\n"), "{file}: exactly once");
    }
    for request in tab.fixture.model.requests() {
        assert!(!request.body.to_string().contains(FRONT_END_TOOL), "the agent has a tool of the front end");
    }
}

// covers: I4
#[test]
fn question_of_codex_is_answered_from_the_tab_and_the_command_line() {
    assert_questions_are_answered_from_the_tab_and_the_command_line(&Tab::open(codex_profile));
}

// covers: I4
#[test]
fn question_of_qwen_is_answered_from_the_tab_and_the_command_line() {
    assert_questions_are_answered_from_the_tab_and_the_command_line(&Tab::open(qwen_profile));
}
