//! One backend with its model, its workspace and everything that it reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use guildhall_runner::backend::{
    Backend, BackendEvent, BackendFailure, Begin, Control, Setting, Sink, Thread, TurnEnd,
};
use guildhall_runner::child::OutOfReach;
use guildhall_testkit::FakeModel;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::{Bench, Model};

/// The secret under which a backend finds its provider's credential, and its value.
pub(crate) const CREDENTIAL: &str = "FAKE_API_KEY";
pub(crate) const CREDENTIAL_VALUE: &str = "canary-credential-5f0e";

/// What stands in a file that is out of reach.
pub(crate) const OUT_OF_REACH: &str = "nobody-may-read-this";

/// No backend takes as long to begin, on a busy machine either.
const BEGIN_WITHIN: Duration = Duration::from_secs(45);

/// No behaviour takes as long. A test that waits for longer waits for nothing.
const WITHIN: Duration = Duration::from_secs(45);

pub(crate) struct Desk<'a> {
    bench: &'a Bench,
    pub(crate) model: FakeModel,
    pub(crate) setting: Setting,
    pub(crate) backend: Option<Box<dyn Backend>>,
    presence: Model,
    sink: Sink,
    events: mpsc::Receiver<BackendEvent>,
    folder: TempDir,
}

/// A turn that was worked through: how it ended, and what was told of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) end: TurnEnd,
    pub(crate) events: Vec<BackendEvent>,
}

impl<'a> Desk<'a> {
    /// Lays out a workspace and a model. No process runs yet.
    pub(crate) async fn set(bench: &'a Bench) -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-suite-").tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        let (workspace, state) = (root.join("workspace"), root.join("state"));
        fs::create_dir(&workspace).expect("a workspace");
        fs::create_dir(root.join("secrets")).expect("what is out of reach");
        fs::write(root.join("secrets/key"), OUT_OF_REACH).expect("written");
        let setting = Setting {
            workspace,
            state,
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::Never,
            // What cannot be kept is refused, so the widest that the backend keeps.
            network: if bench.capabilities.unplugs { Network::Disabled } else { Network::Enabled },
            secrets: vec![(CREDENTIAL.to_owned(), SecretString::from(CREDENTIAL_VALUE))],
            turn_timeout: Duration::from_secs(15),
            // Nobody listens there: that it is closed is tried where somebody does.
            out_of_reach: OutOfReach { paths: vec![root.join("secrets")], ports: vec![9] },
            tool_calls_at_most: 20,
        };
        let (sink, events) = Sink::new();
        let (model, presence) = (FakeModel::start().await, Model::Answers);
        Self { bench, model, setting, backend: None, presence, sink, events, folder }
    }

    /// Starts a new process.
    pub(crate) async fn begin(&mut self, begin: Begin) -> Result<Thread, BackendFailure> {
        self.backend = None;
        let backend = self.backend.insert(self.bench.backend(&self.model, self.setting.clone()));
        let begun = tokio::time::timeout(BEGIN_WITHIN, backend.begin(begin, &self.sink)).await;
        begun.expect("a backend begins in time")
    }

    pub(crate) async fn ready(bench: &'a Bench) -> Self {
        let mut desk = Self::set(bench).await;
        desk.begin(Begin::New).await.expect("a new thread");
        desk
    }

    /// Works through a turn that nobody disturbs.
    pub(crate) async fn turn(&mut self, words: &str) -> Report {
        self.turn_while(words, async |_control, _seen: &mut Seen<'_>| {}).await
    }

    /// Works through a turn that somebody wants something of before it begins.
    pub(crate) async fn turn_after(&mut self, wish: Control, words: &str) -> Report {
        self.turn_while(words, async |control, _| control.send(wish).await.expect("there is room")).await
    }

    /// Works through a turn while somebody watches it and may want something of it.
    pub(crate) async fn turn_while<F>(&mut self, words: &str, watch: F) -> Report
    where
        F: AsyncFnOnce(&mpsc::Sender<Control>, &mut Seen<'_>),
    {
        let (wishes, mut control) = mpsc::channel(8);
        let words = &(self.bench.words)(words, self.presence);
        let backend = self.backend.as_mut().expect("it has begun");
        let mut seen = Seen { events: &mut self.events, all: Vec::new() };
        let watching = async {
            watch(&wishes, &mut seen).await;
            seen.until(|_| false).await;
        };
        let working = tokio::time::timeout(WITHIN, backend.turn(words, &self.sink, &mut control));
        let end = tokio::select! {
            // Who wants something at once comes before the first step of the turn.
            biased;
            () = watching => panic!("the sink is open for as long as the desk"),
            end = working => end.expect("a turn ends in time"),
        };
        let mut events = seen.all;
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        Report { end, events }
    }

    /// Begins a turn and lets go of everything in the middle of it, as a runner does that is lost.
    pub(crate) async fn abandon(&mut self, words: &str, is_it: impl Fn(&BackendEvent) -> bool) {
        let (_wishes, mut control) = mpsc::channel(8);
        let words = &(self.bench.words)(words, self.presence);
        let mut backend = self.backend.take().expect("it has begun");
        let mut seen = Seen { events: &mut self.events, all: Vec::new() };
        tokio::select! {
            () = seen.until(is_it) => {}
            end = backend.turn(words, &self.sink, &mut control) => panic!("it ended first: {end:?}"),
        }
    }

    /// Ends the model: nobody answers in its place.
    pub(crate) async fn lose_model(&mut self) {
        self.presence = Model::IsAway;
        self.model.close().await;
    }

    /// Returns all that the model was told.
    pub(crate) fn told(&self) -> Vec<String> {
        (self.bench.told)(&self.model, &self.setting.state)
    }

    pub(crate) fn process(&self) -> u32 {
        self.backend.as_ref().and_then(|backend| backend.process()).expect("a process")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.setting.workspace.join(name)
    }

    /// Drops the backend and looks for anything that it left running.
    pub(crate) fn leave(mut self) {
        let process = self.backend.as_ref().and_then(|backend| backend.process());
        drop(self.backend.take());
        let left = left_running(self.folder.path(), process);
        assert!(left.is_empty(), "left running: {left:?}");
    }
}

/// What a turn has reported so far.
pub(crate) struct Seen<'a> {
    events: &'a mut mpsc::Receiver<BackendEvent>,
    all: Vec<BackendEvent>,
}

impl Seen<'_> {
    /// Waits until something was reported.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&BackendEvent) -> bool) {
        while let Some(event) = self.events.recv().await {
            let found = is_it(&event);
            self.all.push(event);
            if found {
                return;
            }
        }
    }
}

impl Report {
    /// Returns all that the agent said, in the pieces in which it came.
    pub(crate) fn streamed(&self) -> String {
        let piece = |event: &BackendEvent| {
            if let BackendEvent::TextDelta { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(piece).collect()
    }

    /// Returns what the agent said, by item.
    pub(crate) fn said(&self) -> Vec<String> {
        let text = |event: &BackendEvent| {
            if let BackendEvent::Text { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(text).collect()
    }

    /// Returns what tools printed: as a whole where that was told, else in its pieces; and whether it was cut.
    pub(crate) fn printed(&self) -> (String, bool) {
        let whole = self.events.iter().find_map(|event| {
            if let BackendEvent::ToolPrinted { text, truncated, .. } = event {
                Some((text.clone(), *truncated))
            } else {
                None
            }
        });
        whole.unwrap_or_else(|| (self.pieces(), false))
    }

    pub(crate) fn pieces(&self) -> String {
        let piece = |event: &BackendEvent| {
            if let BackendEvent::ToolOutput { text, .. } = event { Some(text.clone()) } else { None }
        };
        self.events.iter().filter_map(piece).collect()
    }

    /// Returns status and exit code of each tool call that ended.
    pub(crate) fn tools(&self) -> Vec<(String, Option<i64>)> {
        let tool = |event: &BackendEvent| {
            if let BackendEvent::ToolEnded { status, exit_code, .. } = event {
                Some((status.clone(), *exit_code))
            } else {
                None
            }
        };
        self.events.iter().filter_map(tool).collect()
    }

    pub(crate) fn count(&self, is_it: impl Fn(&BackendEvent) -> bool) -> usize {
        self.events.iter().filter(|event| is_it(event)).count()
    }

    /// Returns the failure of a turn that failed.
    pub(crate) fn failure(&self) -> &BackendFailure {
        match &self.end {
            TurnEnd::Failed(failure) => failure,
            TurnEnd::Completed | TurnEnd::Interrupted => panic!("it did not fail: {self:?}"),
        }
    }
}

/// Lists what still runs in a folder or in the group of a process. A zombie does nothing any more.
fn left_running(folder: &Path, group: Option<u32>) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter_map(|proc| describe_if_left(&proc, folder, group)).collect()
}

fn describe_if_left(proc: &Path, folder: &Path, group: Option<u32>) -> Option<String> {
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let in_group = group.is_some() && fields.nth(1)?.parse() == Ok(group.unwrap_or_default());
    let inside = fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    (!is_dead && (in_group || inside)).then_some(stat)
}
