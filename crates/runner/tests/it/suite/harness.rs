//! One backend with its model, its workspace and its events.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::front::attachment::ImageType;
use guildhall_domain::ids::AttachmentId;
use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use guildhall_runner::backend::{
    Backend, BackendConfig, BackendEvent, BackendFailure, EventSink, PendingQuestion, Prompt, PromptImage,
    ThreadId, ThreadStart, TurnControl, TurnOutcome,
};
use guildhall_runner::model_proxy::ModelCaps;
use guildhall_runner::sandbox::{
    AgentUser, Containment, Sandbox as AgentSandbox, SandboxLimits, ToolVariables, find_bwrap, find_tools,
    give_to_agent,
};
use guildhall_testkit::FakeModel;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::fixture::{BackendFixture, ModelState};

/// Name and value of the secret with the provider's credential.
pub(crate) const CREDENTIAL: &str = "FAKE_API_KEY";
pub(crate) const CREDENTIAL_VALUE: &str = "canary-credential-5f0e";

/// The content of a denied file.
pub(crate) const DENIED_CONTENT: &str = "nobody-may-read-this";

/// An image of four pixels.
const RED_PNG: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x02\x00\x00\x00\x02\x08\x02\x00\x00\x00\xfd\xd4\x9as\x00\x00\x00\x10IDATx\xdac\xf8\xcf\xc0\x00D\x0c\x10\x0a\x00\x1f\xee\x03\xfdc^\xbb[\x00\x00\x00\x00IEND\xaeB`\x82";

/// The same, as agents send it to models.
pub(crate) const RED_PNG_BASE64: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAwQCgAf7gP9Y167WwAAAABJRU5ErkJggg==";

/// Returns an image of a message.
pub(crate) fn red_image() -> PromptImage {
    PromptImage { id: AttachmentId::generate(), image_type: ImageType::Png, content: RED_PNG.to_vec() }
}

/// Longer than any backend takes to start, even on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// Longer than any turn of the suite.
const TURN_TIMEOUT: Duration = Duration::from_secs(180);

pub(crate) struct Harness<'a> {
    pub(super) fixture: &'a BackendFixture,
    pub(crate) model: FakeModel,
    pub(crate) config: BackendConfig,
    pub(crate) backend: Option<Box<dyn Backend>>,
    model_state: ModelState,
    /// The images of the next turn.
    images: Vec<PromptImage>,
    sink: EventSink,
    events: mpsc::Receiver<BackendEvent>,
    dir: TempDir,
}

/// Returns the sandbox of a real runner.
pub(crate) fn containment(root: &Path) -> Containment {
    Containment::Sandboxed(Arc::new(AgentSandbox {
        bwrap: find_bwrap().expect("bubblewrap is installed"),
        helper: env!("CARGO_BIN_EXE_guildhall-runner").into(),
        tools: find_tools(&ToolVariables::of_this_process(), &[]),
        limits: SandboxLimits::default(),
        protected: vec![root.join("secrets")],
    }))
}

/// A finished turn: its outcome and its events.
#[derive(Debug)]
pub(crate) struct TurnReport {
    pub(crate) outcome: TurnOutcome,
    pub(crate) events: Vec<BackendEvent>,
}

impl<'a> Harness<'a> {
    /// Creates a workspace and a model, without a process.
    pub(crate) async fn new(fixture: &'a BackendFixture) -> Self {
        let dir = tempfile::Builder::new().prefix("guildhall-suite-").tempdir().expect("temporary directory");
        let root = fs::canonicalize(dir.path()).expect("canonical path");
        let (workspace, state) = (root.join("workspace"), root.join("state"));
        fs::create_dir(&workspace).expect("create the workspace");
        fs::create_dir(root.join("secrets")).expect("create the denied directory");
        fs::write(root.join("secrets/key"), DENIED_CONTENT).expect("write file");
        give_to_agent(&workspace, AgentUser::default()).expect("change the owner");
        let user = AgentUser::for_workspace(&workspace).expect("a user");
        let config = BackendConfig {
            workspace,
            state,
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::Never,
            network: Network::Disabled,
            secrets: vec![(CREDENTIAL.to_owned(), SecretString::from(CREDENTIAL_VALUE))],
            turn_timeout: Duration::from_secs(120),
            containment: containment(&root),
            user,
            allowed_hosts: Vec::new(),
            model_caps: ModelCaps::default(),
            instructions: None,
            cache: None,
            max_tool_calls: 20,
        };
        let (sink, events) = EventSink::new();
        let (model, model_state) = (FakeModel::start().await, ModelState::Online);
        Self { fixture, model, config, backend: None, model_state, images: Vec::new(), sink, events, dir }
    }

    /// Creates a harness and starts a new thread.
    pub(crate) async fn started(fixture: &'a BackendFixture) -> Self {
        let mut harness = Self::new(fixture).await;
        harness.start(ThreadStart::New).await.expect("start a thread");
        harness
    }

    /// Creates a harness with an agent that is a shell script, `agent` in the workspace.
    pub(crate) async fn with_agent_script(fixture: &'a BackendFixture, script: &str) -> Self {
        let harness = Self::new(fixture).await;
        let agent = harness.path("agent");
        fs::write(&agent, script).expect("write the script");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("set permissions");
        harness
    }

    /// Lets the backend ask. Returns its questions.
    pub(crate) fn listen_to_questions(&mut self) -> mpsc::Receiver<PendingQuestion> {
        let (questions, asked) = mpsc::channel(8);
        self.sink = self.sink.clone().with_questions(questions);
        asked
    }

    /// Starts a new process.
    pub(crate) async fn start(&mut self, thread: ThreadStart) -> Result<ThreadId, BackendFailure> {
        self.backend = None;
        let backend = self.backend.insert(self.fixture.backend(&self.model, self.config.clone()));
        let started = tokio::time::timeout(START_TIMEOUT, backend.start(thread, &self.sink)).await;
        started.expect("the backend starts in time")
    }

    /// Runs a turn without controls.
    pub(crate) async fn turn(&mut self, prompt: &str) -> TurnReport {
        self.turn_while(prompt, async |_control, _events: &mut EventLog<'_>| {}).await
    }

    /// Runs a turn with images.
    pub(crate) async fn turn_with_images(&mut self, text: &str, images: Vec<PromptImage>) -> TurnReport {
        self.images = images;
        let report = self.turn(text).await;
        self.images.clear();
        report
    }

    /// Runs a turn with a control that is sent before it starts.
    pub(crate) async fn turn_after(&mut self, control: TurnControl, prompt: &str) -> TurnReport {
        self.turn_while(prompt, async |controls, _| controls.send(control).await.expect("send control")).await
    }

    /// Runs a turn together with a closure that reads its events and can send controls.
    pub(crate) async fn turn_while<F>(&mut self, prompt: &str, watch: F) -> TurnReport
    where
        F: AsyncFnOnce(&mpsc::Sender<TurnControl>, &mut EventLog<'_>),
    {
        let (controls, mut control) = mpsc::channel(8);
        let text = (self.fixture.prompt)(prompt, self.model_state);
        let prompt = &Prompt { text, images: self.images.clone() };
        let backend = self.backend.as_mut().expect("the backend is started");
        let mut log = EventLog { receiver: &mut self.events, events: Vec::new() };
        let watching = async {
            watch(&controls, &mut log).await;
            log.wait_for(|_| false).await;
        };
        let turn = tokio::time::timeout(TURN_TIMEOUT, backend.run_turn(prompt, &self.sink, &mut control));
        let outcome = tokio::select! {
            // The closure runs first, so a control that it sends at once precedes the turn.
            biased;
            () = watching => panic!("the harness holds the sink open"),
            outcome = turn => outcome.expect("the turn ends in time"),
        };
        let mut events = log.events;
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        TurnReport { outcome, events }
    }

    /// Starts a turn and drops the backend at the first matching event, as when a runner is lost.
    pub(crate) async fn abandon_turn(&mut self, prompt: &str, matches: impl Fn(&BackendEvent) -> bool) {
        let (_controls, mut control) = mpsc::channel(8);
        let prompt = &Prompt::from((self.fixture.prompt)(prompt, self.model_state).as_str());
        let mut backend = self.backend.take().expect("the backend is started");
        let mut log = EventLog { receiver: &mut self.events, events: Vec::new() };
        tokio::select! {
            () = log.wait_for(matches) => {}
            outcome = backend.run_turn(prompt, &self.sink, &mut control) => panic!("it ended first: {outcome:?}"),
        }
    }

    /// Stops the model.
    pub(crate) async fn stop_model(&mut self) {
        self.model_state = ModelState::Offline;
        self.model.close().await;
    }

    /// Returns the images in the last request that the model received, in the form in which agents send them.
    pub(crate) fn received_images(&self) -> Vec<String> {
        let body = self.model.requests().last().expect("a request").body.to_string();
        let (prefix, mut images) = ("data:image/png;base64,", Vec::new());
        for part in body.split(prefix).skip(1) {
            images.push(part.split('"').next().unwrap_or_default().to_owned());
        }
        images
    }

    /// Returns what the model received, by request.
    pub(crate) fn received(&self) -> Vec<String> {
        (self.fixture.received)(&self.model, &self.config.state)
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.backend.as_ref().and_then(|backend| backend.process_id())
    }

    /// Returns a path in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.config.workspace.join(name)
    }

    /// Asserts that a request of an agent script was rejected with an error and reported. The script sends it with the
    /// params `{"all":true}` and writes our response to `answer` in the workspace.
    pub(crate) fn assert_request_rejected(&self, report: &TurnReport, method: &str) {
        let what = method.to_owned();
        let declined = BackendEvent::ApprovalDeclined { what, detail: json!({ "all": true }) };
        assert!(report.events.contains(&declined), "{report:?}");
        let response = fs::read_to_string(self.path("answer")).expect("a response was sent");
        let response: Value = serde_json::from_str(&response).expect("JSON");
        assert!(response["error"]["code"].is_i64() && response.get("result").is_none(), "{response}");
    }

    /// Returns whether a process with this name runs in the workspace.
    pub(crate) fn has_process_in_workspace(&self, name: &str) -> bool {
        left_running(&self.config.workspace, None).iter().any(|stat| stat.contains(&format!("({name})")))
    }

    /// Drops the backend and asserts that it left no process running.
    pub(crate) fn finish(mut self) {
        let process = self.process_id();
        drop(self.backend.take());
        let left = left_running(self.dir.path(), process);
        assert!(left.is_empty(), "left running: {left:?}");
    }
}

/// The events of a running turn so far.
pub(crate) struct EventLog<'a> {
    receiver: &'a mut mpsc::Receiver<BackendEvent>,
    events: Vec<BackendEvent>,
}

impl EventLog<'_> {
    /// Waits for a matching event.
    pub(crate) async fn wait_for(&mut self, matches: impl Fn(&BackendEvent) -> bool) {
        while let Some(event) = self.receiver.recv().await {
            let is_match = matches(&event);
            self.events.push(event);
            if is_match {
                return;
            }
        }
    }
}

impl TurnReport {
    /// Returns the streamed text of the agent.
    pub(crate) fn streamed_text(&self) -> String {
        let delta = |event: &BackendEvent| {
            if let BackendEvent::TextDelta { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(delta).collect()
    }

    /// Returns the complete messages of the agent.
    pub(crate) fn messages(&self) -> Vec<String> {
        let text = |event: &BackendEvent| {
            if let BackendEvent::Text { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(text).collect()
    }

    /// Returns whether a tool call was started.
    pub(crate) fn has_started(&self, call: &str) -> bool {
        let is_start = |event: &BackendEvent| matches!(event, BackendEvent::ToolStarted { call: started, .. } if started == call);
        self.events.iter().any(is_start)
    }

    /// Returns the arguments of the first tool call.
    pub(crate) fn tool_arguments(&self) -> Value {
        let arguments = self.events.iter().find_map(|event| {
            if let BackendEvent::ToolStarted { arguments, .. } = event { arguments.clone() } else { None }
        });
        arguments.unwrap_or_default()
    }

    /// Returns the output of tools, and whether it was truncated: the complete output if reported, else the chunks.
    pub(crate) fn tool_output(&self) -> (String, bool) {
        let complete = self.events.iter().find_map(|event| {
            if let BackendEvent::ToolFullOutput { text, truncated, .. } = event {
                Some((text.clone(), *truncated))
            } else {
                None
            }
        });
        complete.unwrap_or_else(|| (self.output_chunks(), false))
    }

    fn output_chunks(&self) -> String {
        let chunk = |event: &BackendEvent| {
            if let BackendEvent::ToolOutput { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(chunk).collect()
    }

    /// Returns status and exit code of each finished tool call.
    pub(crate) fn finished_tools(&self) -> Vec<(String, Option<i64>)> {
        let tool = |event: &BackendEvent| {
            if let BackendEvent::ToolFinished { status, exit_code, .. } = event {
                Some((status.clone(), *exit_code))
            } else {
                None
            }
        };
        self.events.iter().filter_map(tool).collect()
    }

    pub(crate) fn count(&self, matches: impl Fn(&BackendEvent) -> bool) -> usize {
        self.events.iter().filter(|event| matches(event)).count()
    }

    /// Returns the number of declined approvals.
    pub(crate) fn declined(&self) -> usize {
        self.count(|event| matches!(event, BackendEvent::ApprovalDeclined { .. }))
    }

    /// Returns the failure of the turn.
    pub(crate) fn failure(&self) -> &BackendFailure {
        match &self.outcome {
            TurnOutcome::Failed(failure) => failure,
            TurnOutcome::Completed | TurnOutcome::Interrupted | TurnOutcome::Blocked(_) => {
                panic!("it did not fail: {self:?}")
            }
        }
    }
}

/// Lists processes, except zombies, that run in a directory or in a process group.
fn left_running(dir: &Path, group: Option<u32>) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter_map(|proc| stat_if_running(&proc, dir, group)).collect()
}

fn stat_if_running(proc: &Path, dir: &Path, group: Option<u32>) -> Option<String> {
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let in_group = group.is_some() && fields.nth(1)?.parse() == Ok(group.unwrap_or_default());
    let in_dir = fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
    (!is_dead && (in_group || in_dir)).then_some(stat)
}
