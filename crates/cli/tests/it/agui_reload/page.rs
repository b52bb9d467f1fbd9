//! A page of an application: it shows one conversation, and is reloaded in mid-stream.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_testkit::Rounds;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::ReloadFixture;
use super::expected_messages::PagePrompt;
use super::frame_stream::{Frame, FrameStream};
use super::message_list::{MessageList, PageMessage};

/// A stream is dropped after at most this many new frames. A run has about 10 to 30.
const MAX_FRAMES: usize = 14;

/// A run must end in this time.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// How a page opens a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Starts the run, or gets it again from its beginning.
    Run,
    /// The conversation after the last frame that the page has.
    Continue,
    /// The whole conversation.
    Thread,
    /// The whole conversation, by the route of CopilotKit.
    CopilotKit,
}

impl Opening {
    const RELOADS: [Self; 6] =
        [Self::Continue, Self::Continue, Self::Continue, Self::Run, Self::Thread, Self::CopilotKit];

    const fn name(self) -> &'static str {
        match self {
            Self::Run => "the run with the same run id",
            Self::Continue => "the conversation after `Last-Event-ID`",
            Self::Thread => "the whole conversation",
            Self::CopilotKit => "the whole conversation, by CopilotKit's `connect`",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PageStats {
    pub(super) threads: u32,
    pub(super) runs: u32,
    pub(super) reloads: BTreeMap<&'static str, u32>,
    pub(super) cut_by_kills: u32,
    pub(super) refused: u32,
}

impl PageStats {
    pub(super) fn add(&mut self, other: &Self) {
        self.threads += other.threads;
        self.runs += other.runs;
        self.cut_by_kills += other.cut_by_kills;
        self.refused += other.refused;
        for (name, times) in &other.reloads {
            *self.reloads.entry(name).or_default() += times;
        }
    }
}

pub(super) struct Page {
    pub(super) thread: String,
    pub(super) stats: PageStats,
    /// The frames that the page has read since it was loaded.
    shown: Vec<Frame>,
    /// The frames of the conversation that any load of the page has read.
    known: Vec<Frame>,
    /// Number of frames before the current run.
    run_start: usize,
    prompts: Vec<PagePrompt>,
    replica: usize,
}

impl Page {
    pub(super) fn new(thread: String, replica: usize) -> Self {
        let stats = PageStats { threads: 1, ..PageStats::default() };
        Self { thread, stats, shown: vec![], known: vec![], run_start: 0, prompts: vec![], replica }
    }

    pub(super) fn frames(&self) -> &[Frame] {
        &self.shown
    }

    /// Sends a message and reads the run to its end, with reloads.
    pub(super) async fn run(&mut self, fixture: &ReloadFixture, rounds: &mut Rounds) {
        self.prompts.push(PagePrompt::random(rounds));
        self.run_start = self.shown.len();
        self.stats.runs += 1;
        let (mut opening, started) = (Opening::Run, Instant::now());
        loop {
            assert!(
                started.elapsed() < RUN_TIMEOUT,
                "{} has not ended: {:?}",
                self.thread,
                self.shown.last()
            );
            let end = self.read(fixture, rounds, opening).await;
            self.replica += 1;
            opening = self.choose_reload(rounds);
            match end {
                ReadEnd::Finished => return,
                ReadEnd::Refused => {
                    self.stats.refused += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                ReadEnd::Cut => self.stats.cut_by_kills += 1,
                ReadEnd::Dropped => *self.stats.reloads.entry(opening.name()).or_default() += 1,
            }
        }
    }

    /// Reads a stream until the run ends, the replica is killed, or the page is reloaded.
    async fn read(&mut self, fixture: &ReloadFixture, rounds: &mut Rounds, opening: Opening) -> ReadEnd {
        let request = self.request(fixture, self.replica, opening);
        let Ok(mut stream) = FrameStream::open(request).await else { return ReadEnd::Refused };
        match opening {
            Opening::Run => self.shown.truncate(self.run_start),
            Opening::Continue => {}
            Opening::Thread | Opening::CopilotKit => self.shown.clear(),
        }
        let drop_at =
            self.shown.len() + 1 + rounds.random_index(self.known.len() - self.shown.len() + MAX_FRAMES);
        loop {
            let is_run_shown = self.shown.len() > self.run_start;
            match stream.next().await {
                Err(_) => return ReadEnd::Cut,
                Ok(Some(frame)) => self.show(frame),
                Ok(None) => {
                    let last = self.shown.last().filter(|frame| is_run_shown && frame.is_end());
                    assert!(last.is_some(), "{}: {opening:?} ended in the run", self.thread);
                    return ReadEnd::Finished;
                }
            }
            let is_open = self.shown.last().is_some_and(|frame| !frame.is_end());
            if self.shown.len() >= drop_at && is_open && fixture.wants_reload() {
                fixture.reloads.fetch_add(1, Ordering::SeqCst);
                return ReadEnd::Dropped;
            }
        }
    }

    /// Adds a frame. A frame that any load of the page had at this place must be the same.
    fn show(&mut self, frame: Frame) {
        match self.known.get(self.shown.len()) {
            Some(known) => assert_eq!(&frame, known, "{} at frame {}", self.thread, self.shown.len()),
            None => self.known.push(frame.clone()),
        }
        self.shown.push(frame);
    }

    /// Returns how the page comes back. A page that has not seen its run sends it again: it may not exist.
    fn choose_reload(&self, rounds: &mut Rounds) -> Opening {
        if self.known.len() == self.run_start {
            return Opening::Run;
        }
        let chosen = Opening::RELOADS[rounds.random_index(Opening::RELOADS.len())];
        let is_possible = match chosen {
            Opening::Run => self.shown.len() >= self.run_start,
            Opening::Continue => !self.shown.is_empty(),
            Opening::Thread | Opening::CopilotKit => true,
        };
        if is_possible { chosen } else { Opening::Thread }
    }

    pub(super) fn request(
        &self,
        fixture: &ReloadFixture,
        replica: usize,
        opening: Opening,
    ) -> RequestBuilder {
        let (method, path) = match opening {
            Opening::Run => (Method::POST, "/api/v1/agent/runs".to_owned()),
            Opening::CopilotKit => (Method::POST, "/api/v1/copilotkit/agent/helper/connect".to_owned()),
            Opening::Continue | Opening::Thread => {
                (Method::GET, format!("/api/v1/agent/runs/{}/events", self.thread))
            }
        };
        let request = fixture.client.request(method, fixture.cluster.url(replica, &path));
        let request = request.bearer_auth(&fixture.bearer).header("accept", "text/event-stream");
        match (opening, self.shown.last()) {
            (Opening::Run, _) => request.json(&self.input(self.messages_with_prompt())),
            (Opening::CopilotKit, _) => request.json(&self.input(vec![])),
            (Opening::Continue, Some(last)) => request.header("last-event-id", &last.id),
            (Opening::Continue | Opening::Thread, _) => request,
        }
    }

    fn input(&self, messages: Vec<Value>) -> Value {
        json!({
            "threadId": self.thread, "runId": format!("run-{}", self.prompts.len()), "protocolVersion": "1.0",
            "state": {}, "messages": messages, "tools": [], "context": [], "forwardedProps": {},
        })
    }

    /// Returns what the official client sends: all messages of the conversation, and the new one.
    fn messages_with_prompt(&self) -> Vec<Value> {
        let before = self.shown.get(..self.run_start).unwrap_or_default();
        let mut messages: Vec<Value> = MessageList::of(before).0.iter().map(PageMessage::to_json).collect();
        if let Some(prompt) = self.prompts.last() {
            let id = format!("message-{}", self.prompts.len());
            messages.push(json!({ "id": id, "role": "user", "content": prompt.text() }));
        }
        messages
    }

    /// Asserts that the message list has every message of the conversation once.
    pub(super) fn assert_messages(&self) {
        let list = MessageList::of(&self.shown);
        let expected: Vec<_> = self.prompts.iter().flat_map(PagePrompt::expected_messages).collect();
        assert_eq!(list.without_ids(), expected, "{}", self.thread);
        assert_eq!(list.repeated_ids(), Vec::<String>::new(), "{}", self.thread);
    }
}

/// Why a page stopped reading.
enum ReadEnd {
    /// The run has ended.
    Finished,
    /// The replica is down.
    Refused,
    /// The replica was killed.
    Cut,
    /// The page is reloaded.
    Dropped,
}
