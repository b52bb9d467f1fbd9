//! AG-UI: runs of agents as streams of events. Each stream is a fold over the journal of a session, so that every replica
//! sends the same frames.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use axum::body::Bytes;
use axum::response::Response;
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AgentKey;
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::front::ClientTurn;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::ids::SessionId;
use guildhall_domain::journal::follow::ClientId;
use guildhall_domain::journal::{Gap, InvalidCursor, Seq, SessionCursor, SessionPosition};
use guildhall_domain::runs::event::EventBody;
use guildhall_protocol::agui::event::AguiVersion;
use guildhall_protocol::agui::fold::{AguiFold, Frame, FramePosition, JournalEvent, StreamMode, command_of};
use guildhall_protocol::agui::input::{AguiRunInput, InvalidInput};
use guildhall_protocol::rest::front::agent_runs::{AgentRunInputError, MAX_ATTACHMENTS};
use guildhall_protocol::stream::Notice;
use guildhall_service::ServiceError;
use guildhall_service::front::agent_runs::{TurnRequest, TurnThread};
use guildhall_service::front::interrupt_answers::{ResumeRequest, ResumedRun};
use guildhall_service::sessions::follow::{SessionEvent, SessionStream};
use serde_json::{Value, json};

use super::agent_names::AgentNames;
use super::image_signer::ImageSigner;
use super::interrupt_questions::InterruptQuestions;
use super::runtime_mode::pipeline_source;
use crate::App;
use crate::edge::error::ApiError;
use crate::edge::stream::{OwnThreads, StreamEvent, StreamSource, StreamTopic};

/// The events of a thread, or of one run of it.
#[derive(Debug)]
struct AguiStream {
    events: SessionStream,
    fold: AguiFold,
    questions: InterruptQuestions,
    images: ImageSigner,
    /// When it ends.
    end: StreamEnd,
    /// Frames of events that were read, until they are sent, with their ids.
    frames: VecDeque<(FrameId, Frame)>,
}

/// When a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// With its run.
    Run,
    /// When the history of the thread was sent and no run is open.
    Idle,
    /// The same, but not while a turn waits for an answer.
    IdleAndAnswered,
}

/// Where a stream of a thread starts, and when it ends.
pub(super) struct ThreadStart<'a> {
    pub(super) thread: &'a ExternalId,
    pub(super) session: SessionId,
    pub(super) version: AguiVersion,
    /// The last frame that the client has; none for the whole thread.
    pub(super) after: Option<FrameId>,
    pub(super) end: StreamEnd,
}

/// The id of a frame: the place of its event, and the number of the frame among those of the event. Text form:
/// `<incarnation>-<ordinal>-<seq>.<index>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameId {
    event: SessionCursor,
    index: u32,
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.event, self.index)
    }
}

impl FromStr for FrameId {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (event, index) = text.rsplit_once('.').ok_or(InvalidCursor)?;
        let id = Self { event: event.parse()?, index: index.parse().map_err(|_| InvalidCursor)? };
        if id.to_string() == text { Ok(id) } else { Err(InvalidCursor) }
    }
}

impl StreamSource for AguiStream {
    type ReadRight = OwnThreads;

    const HAS_NOTICES: bool = false;

    fn topic(&self) -> StreamTopic {
        StreamTopic { kind: "thread", tenant: Some(self.events.tenant), owner: self.events.session.as_uuid() }
    }

    async fn next(&mut self) -> Result<Option<StreamEvent>, ServiceError> {
        loop {
            if let Some((_, frame)) = self.frames.front_mut() {
                self.questions.describe(frame).await?;
                self.images.sign(frame);
            }
            if let Some((id, frame)) = self.frames.pop_front() {
                return Ok(Some(StreamEvent { name: None, cursor: id.to_string(), data: frame.to_json() }));
            }
            if self.is_finished() {
                return Ok(None);
            }
            let event = self.events.next().await?;
            let place = event.cursor;
            let frames = self.fold.push(journal_event(event)).into_iter();
            self.frames
                .extend(frames.map(|frame| (FrameId { event: place, index: frame.position.index }, frame)));
        }
    }

    fn gap(&self) -> Option<Gap> {
        None
    }

    fn replayed(&self) -> Option<(Seq, Option<i32>)> {
        let replayed = self.events.replayed().filter(|_| self.frames.is_empty());
        replayed.map(|last| (last.seq, Some(last.ordinal)))
    }

    /// A stream without a last event looks like success to the official client.
    fn last_frame(&self, _: Notice) -> Option<Bytes> {
        self.fold.close().map(|event| format!("data: {}\n\n", json!(event)).into())
    }
}

impl AguiStream {
    fn is_finished(&self) -> bool {
        let is_idle = || self.events.replayed().is_some() && self.fold.is_idle();
        match self.end {
            StreamEnd::Run => self.fold.is_finished(),
            StreamEnd::Idle => is_idle(),
            StreamEnd::IdleAndAnswered => is_idle() && !self.fold.is_waiting(),
        }
    }
}

fn journal_event(event: SessionEvent) -> JournalEvent {
    let body = event.entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
    let (command, late) = body.as_ref().map_or((None, false), |body| (body.command_id, body.late));
    JournalEvent {
        run: event.run,
        ordinal: event.cursor.position.ordinal,
        seq: event.entry.seq.get(),
        kind: event.entry.kind,
        command,
        payload: body.map(|body| body.payload),
        recorded_at: event.entry.recorded_at,
        late,
    }
}

/// Parses an input in the AG-UI profile.
pub(super) fn parse_input(bytes: &[u8]) -> Result<AguiRunInput, ApiError> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|_| ApiError::new(FailureKind::SchemaInvalid, "the body must be JSON"))?;
    AguiRunInput::parse(&value).map_err(|error| invalid(&error))
}

fn invalid(error: &InvalidInput) -> ApiError {
    ApiError::new(FailureKind::InvalidInput, error.to_string())
}

/// Starts a run, or finds it, and streams its events.
pub(super) async fn run(
    app: &App,
    caller: ThreadOwner<RunsWrite>,
    names: AgentNames<'_>,
    peer: ClientConnection,
    input: AguiRunInput,
) -> Result<Response, ApiError> {
    let reader = caller.as_reader().map_err(ServiceError::from)?;
    let run_id = input.run_id.to_string();
    let (session, turn, client_run) = if input.resume.is_empty() {
        let (session, turn) = find_or_start(app, &caller, names, &input).await?;
        (session, turn, run_id.clone())
    } else {
        let ResumedRun { session, turn, client_run } =
            resume(app, &caller, names.agent, peer, &input).await?;
        (session, turn, client_run.to_string())
    };
    let mode = StreamMode::Run { run_id, client_run, command: turn.command };
    let fold = AguiFold::new(input.thread_id.as_str(), input.version, mode);
    let events = app.sessions.sessions.follow_from(reader.in_own_thread(), session, turn.start).await?;
    let (questions, images) = (InterruptQuestions::new(app, &reader)?, ImageSigner::new(app, &reader));
    let stream = AguiStream { events, fold, questions, images, end: StreamEnd::Run, frames: VecDeque::new() };
    app.streams.open(&reader, ClientId::generate(), stream)
}

/// Answers the interrupts of the thread.
async fn resume(
    app: &App,
    caller: &ThreadOwner<RunsWrite>,
    agent: Option<&AgentKey>,
    peer: ClientConnection,
    input: &AguiRunInput,
) -> Result<ResumedRun, ApiError> {
    let mut answers = Vec::with_capacity(input.resume.len());
    for entry in &input.resume {
        let id = entry.interrupt_id.parse();
        let id = id.map_err(|_| refused("resume: interruptId is the id of an interrupt of the thread"))?;
        answers.push((id, entry.answer.clone()));
    }
    let request = ResumeRequest {
        thread: &input.thread_id,
        client_run: &input.run_id,
        parent_run: input.parent_run_id.as_ref(),
        tools: &json!(input.tools),
        answers: &answers,
        peer,
    };
    Ok(app.front.interrupt_answers.resume(caller, agent, request).await?)
}

/// Finds the run of the client, or starts it.
async fn find_or_start(
    app: &App,
    caller: &ThreadOwner<RunsWrite>,
    names: AgentNames<'_>,
    input: &AguiRunInput,
) -> Result<(SessionId, ClientTurn), ApiError> {
    let source = pipeline_source(input.runtime_mode, names.automation)?;
    let thread = app.front.agent_runs.find_thread(caller, names.agent, source, &input.thread_id).await?;
    if let Some(session) = thread.session
        && let Some(turn) = app.front.agent_runs.find_turn(session, &input.run_id).await?
    {
        return Ok((session, turn));
    }
    start(app, caller, thread, input).await
}

fn refused(message: &str) -> ApiError {
    ApiError::new(FailureKind::InvalidInput, message)
}

async fn start(
    app: &App,
    caller: &ThreadOwner<RunsWrite>,
    thread: TurnThread,
    input: &AguiRunInput,
) -> Result<(SessionId, ClientTurn), ApiError> {
    // What cannot be an id was never stored as one.
    let sent: Vec<ExternalId> = input.messages.iter().filter_map(|message| message.id.parse().ok()).collect();
    let known = match thread.session {
        Some(session) => app.front.agent_runs.known_messages(session, &sent).await?,
        None => BTreeSet::new(),
    };
    let is_known = |id: &str| known.contains(id) || command_of(id).is_some();
    let Some(message) = input.new_message(is_known).map_err(|error| invalid(&error))? else {
        return Err(refused("messages: there is no new message of the user"));
    };
    if message.images.len() > MAX_ATTACHMENTS {
        return Err(refused(&AgentRunInputError::TooManyAttachments.message()));
    }
    let mut payload = json!({
        "prompt": message.text, "clientMessageId": message.id.as_str(), "runtimeMode": input.runtime_mode,
        "input": { "state": input.state, "tools": input.tools, "context": input.context },
    });
    if let Some(parent) = &input.parent_run_id {
        payload["parentRunId"] = json!(parent.as_str());
    }
    if let Some(time) = &input.client_time {
        payload["clientTime"] = json!(time.client_now_iso);
    }
    let images = message.images.into_iter().map(|image| image.url).collect();
    let request = TurnRequest {
        thread: &input.thread_id,
        client_run: &input.run_id,
        message: &message.id,
        device_zone: input.client_time.as_ref().map(|time| &time.device_timezone),
        payload,
        images,
    };
    let accepted = app.front.agent_runs.start_turn(caller, thread, request).await?;
    Ok((accepted.session, accepted.turn))
}

/// Streams the events of a thread after a frame, or from its beginning.
pub(super) async fn follow(
    app: &App,
    caller: ThreadOwner<RunsRead>,
    client: ClientId,
    start: ThreadStart<'_>,
) -> Result<Response, ApiError> {
    let ThreadStart { thread, session, version, after, end } = start;
    let mut fold = AguiFold::new(thread.as_str(), version, StreamMode::Thread);
    let mut from = SessionPosition::default();
    if let Some(FrameId { event, index }) = after {
        if app.sessions.sessions.follow(caller.in_own_thread(), session, Some(event)).await?.gap().is_some() {
            let message = "Last-Event-ID is not in the database, which was restored: connect without it";
            return Err(ApiError::new(FailureKind::Conflict, message));
        }
        let SessionPosition { ordinal, seq } = event.position;
        fold = fold.resume(FramePosition { ordinal, seq: seq.get(), index });
        // A fold reads the run of its cursor from the beginning.
        from = SessionPosition { ordinal, seq: Seq::ZERO };
    }
    let events = app.sessions.sessions.follow_from(caller.in_own_thread(), session, from).await?;
    let (questions, images) = (InterruptQuestions::new(app, &caller)?, ImageSigner::new(app, &caller));
    let stream = AguiStream { events, fold, questions, images, end, frames: VecDeque::new() };
    app.streams.open(&caller, client, stream)
}
