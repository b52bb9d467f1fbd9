//! Computes the AG-UI events of a session from its journal.
//!
//! Feed the events of the session in order, and send the frames. Each turn is a run of AG-UI; approvals cut it into
//! several **segments**. A segment ends with an interrupt when an approval is requested, and the next one starts with the
//! first event after all listed approvals are closed, however that happened. A segment has the run id of the `client_run`
//! event that claims it before it starts, or else `{command}.{segment}`.
//!
//! A [`FramePosition`] names the event that caused a frame and the number of the frame among those of that event. To resume a
//! stream, feed the journal again to [`AguiFold::resume`]: it returns only the frames after the position. No state crosses
//! runs, so a thread may be fed from the start of the run of the position. A position belongs to the mode of its stream.
//! ADR 056 has the reasons.

mod approvals;
mod calls;
mod client_runs;
mod context;
mod frame_position;
mod front_end_tools;
mod ids;
mod interrupts;
mod items;
mod journal_event;
mod outcome;
mod segment_filter;
mod steps;
mod turn;
mod user_message;

use std::collections::BTreeSet;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::event;
use serde::Serialize;

use self::context::StreamContext;
pub use self::frame_position::FramePosition;
pub use self::ids::command_of;
pub use self::journal_event::JournalEvent;
use self::outcome::SegmentEnd;
use self::segment_filter::SegmentFilter;
use self::turn::Turn;
use crate::agui::event::{AguiEvent, AguiVersion};

/// What a stream shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamMode {
    /// Every turn of the session, and then what comes.
    Thread,
    /// The segment of one client's run. The stream ends with it.
    Run {
        /// The client's run id. It is the id of the run in this stream, even if the segment started under another one.
        run_id: String,
        /// The id in the `client_run` event of the segment. Another one if the client resumes a run under the id of that
        /// run, as CopilotKit does.
        client_run: String,
        /// The turn that the `client_run` event names.
        command: CommandId,
    },
}

/// An event to send.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frame {
    #[serde(skip)]
    pub position: FramePosition,
    #[serde(flatten)]
    pub event: AguiEvent,
    /// Milliseconds since 1970.
    pub timestamp: i64,
}

impl Frame {
    /// Returns the JSON of the event, without line breaks.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialising strings, numbers and parsed JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The fold of one stream.
#[derive(Debug)]
pub struct AguiFold {
    context: StreamContext,
    filter: SegmentFilter,
    after: Option<FramePosition>,
    /// Run ordinal and seq of the last event.
    last: Option<(i32, i64)>,
    /// Number of its next frame.
    next_index: u32,
    /// Turns that have not ended, in the order of their first events.
    turns: Vec<Turn>,
    /// Turns of the run that have ended. Their later events are not shown.
    ended: BTreeSet<CommandId>,
    /// Commands that steer or interrupt a turn.
    controls: BTreeSet<CommandId>,
    has_sent: bool,
}

impl AguiFold {
    #[must_use]
    pub fn new(thread_id: &str, version: AguiVersion, mode: StreamMode) -> Self {
        let run_id = match &mode {
            StreamMode::Thread => None,
            StreamMode::Run { run_id, .. } => Some(run_id.clone()),
        };
        Self {
            context: StreamContext { thread_id: thread_id.to_owned(), version, run_id },
            filter: SegmentFilter::new(mode),
            after: None,
            last: None,
            next_index: 0,
            turns: Vec::new(),
            ended: BTreeSet::new(),
            controls: BTreeSet::new(),
            has_sent: false,
        }
    }

    /// Returns a fold of the same stream that skips the frames up to a position.
    #[must_use]
    pub fn resume(self, after: FramePosition) -> Self {
        Self { after: Some(after), ..self }
    }

    /// Adds the next event. Returns the frames that follow from it. An event that was added before changes nothing.
    pub fn push(&mut self, event: JournalEvent) -> Vec<Frame> {
        let (ordinal, seq) = (event.ordinal, event.seq);
        if self.last.is_some_and(|last| (ordinal, seq) <= last) || self.is_finished() {
            return Vec::new();
        }
        let timestamp = event.recorded_at.as_millisecond();
        let mut frames = Vec::new();
        if self.last.is_some_and(|(last, _)| last < ordinal) {
            frames.extend(self.end_run(timestamp));
        }
        (self.last, self.next_index) = (Some((ordinal, seq)), 0);
        let mut events = Vec::new();
        // A late answer of a client has a name for what was shown without one.
        if !event.late || event.kind == event::CLIENT_RUN {
            self.route(event, &mut events);
            self.show(&mut events);
        }
        frames.extend(self.number(events, timestamp));
        self.has_sent |= !frames.is_empty();
        frames.retain(|frame| self.after.is_none_or(|after| frame.position > after));
        frames
    }

    /// Ends what is left of a run when the next one has started. The frames belong to its last event, so that those of
    /// the next run do not depend on it.
    fn end_run(&mut self, timestamp: i64) -> Vec<Frame> {
        let mut events = Vec::new();
        self.end_turns(&SegmentEnd::erased(), &mut events);
        self.ended.clear();
        self.controls.clear();
        self.number(events, timestamp)
    }

    /// Gives positions to the next events that follow from the last event of the journal.
    fn number(&mut self, events: Vec<AguiEvent>, timestamp: i64) -> Vec<Frame> {
        let (ordinal, seq) = self.last.unwrap_or_default();
        let frame = |event| {
            let position = FramePosition { ordinal, seq, index: self.next_index };
            self.next_index += 1;
            Frame { position, event, timestamp }
        };
        events.into_iter().map(frame).collect()
    }

    /// Returns whether the run of the stream has ended. A thread never ends.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.filter.is_finished()
    }

    /// Returns whether no run is open in the events so far, and none follows by itself: after the answer to its questions a
    /// turn goes on.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.turns.iter().any(|turn| turn.is_open || (turn.is_paused() && !turn.approvals.is_waiting()))
    }

    /// Returns whether a turn waits for an answer in the events so far.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.turns.iter().any(|turn| turn.is_paused() && turn.approvals.is_waiting())
    }

    /// Returns the last event for a stream that the server ends early; none if no run is open in it. It has no position:
    /// clients resume after the frame before it.
    #[must_use]
    pub fn close(&self) -> Option<AguiEvent> {
        let is_open = match self.filter {
            SegmentFilter::Thread => self.turns.iter().any(|turn| turn.is_open) || !self.has_sent,
            SegmentFilter::Run(_) => !self.is_finished(),
        };
        let message = "the server closed the stream; the run goes on: connect again";
        is_open.then(|| outcome::run_error("stream-closed", message, Vec::new()))
    }

    /// Gives an event to its turn.
    fn route(&mut self, event: JournalEvent, events: &mut Vec<AguiEvent>) {
        let is_end = event.kind == event::TERMINAL_STATUS;
        if event.payload.is_none() {
            return self.route_erased(&event, events);
        }
        let Some(command) = event.command else {
            if is_end {
                self.end_turns(&SegmentEnd::of(&event), events);
            }
            return;
        };
        if self.is_control(command, &event) {
            return self.show_steer(&event, events);
        }
        if self.ended.contains(&command) || !self.filter.includes(command) {
            return;
        }
        let turn = self.find_or_add(command, event.run);
        let turn = &mut self.turns[turn];
        if event.kind == event::CLIENT_RUN {
            let segment = turn.claim(&event);
            self.filter.claim(&event, segment, turn, &self.context, events);
        } else {
            turn.accept(event);
        }
    }

    /// An erased event has no command. An erased end ends the open turn, or else one between two segments, and an erased
    /// decision closes all approvals, so that nothing waits for an event that nobody can read.
    fn route_erased(&mut self, event: &JournalEvent, events: &mut Vec<AguiEvent>) {
        let is_of = |turn: &&Turn| event.command.is_none_or(|id| id == turn.command);
        let open = self.turns.iter().position(|turn| turn.is_open && is_of(&turn));
        let paused = || self.turns.iter().position(|turn| turn.is_paused() && is_of(&turn));
        if event.kind == event::TERMINAL_STATUS
            && let Some(index) = open.or_else(paused)
        {
            let turn = &mut self.turns[index];
            let mut shown = Vec::new();
            turn.end(&SegmentEnd::erased(), &self.context, &mut shown);
            self.filter.send(turn, shown, events);
        }
        if event.kind == event::APPROVAL_STATUS {
            self.turns.iter_mut().for_each(|turn| turn.approvals.close_all());
        }
    }

    /// Shows what can be shown. At most one run is open in a stream, so the events of other turns wait for its end.
    fn show(&mut self, events: &mut Vec<AguiEvent>) {
        while let Some(index) = self.next_turn() {
            let (turn, mut shown) = (&mut self.turns[index], Vec::new());
            if !turn.is_open {
                turn.start(&self.context, &mut shown);
            }
            turn.advance(&self.context, &mut shown);
            self.filter.send(turn, shown, events);
            if turn.is_open {
                break;
            }
            self.remove_ended();
        }
        self.remove_ended();
    }

    /// Returns the open turn, or the first one that can start.
    fn next_turn(&self) -> Option<usize> {
        let is_first = |index: usize| !self.turns[..index].iter().any(|turn| turn.is_turn && !turn.is_ended);
        let can_start = |index: &usize| self.turns[*index].can_start(is_first(*index));
        self.turns.iter().position(|turn| turn.is_open).or_else(|| (0..self.turns.len()).find(can_start))
    }

    /// Ends all turns: their run has ended.
    fn end_turns(&mut self, end: &SegmentEnd, events: &mut Vec<AguiEvent>) {
        self.turns.iter_mut().for_each(|turn| turn.approvals.close_all());
        self.show(events);
        while let Some(open) = self.turns.iter_mut().find(|turn| turn.is_open) {
            let mut shown = Vec::new();
            open.end(end, &self.context, &mut shown);
            self.filter.send(open, shown, events);
            self.show(events);
        }
        for turn in self.turns.iter_mut().filter(|turn| !turn.is_ended) {
            let mut shown = Vec::new();
            if turn.is_turn && turn.started == 0 {
                turn.start(&self.context, &mut shown);
            }
            turn.end(end, &self.context, &mut shown);
            self.filter.send(turn, shown, events);
        }
        self.remove_ended();
    }

    fn remove_ended(&mut self) {
        if !self.filter.keeps_ended() {
            self.ended.extend(self.turns.extract_if(.., |turn| turn.is_ended).map(|turn| turn.command));
        }
    }

    fn find_or_add(&mut self, command: CommandId, run: RunId) -> usize {
        self.turns.iter().position(|turn| turn.command == command).unwrap_or_else(|| {
            self.turns.push(Turn::new(command, run));
            self.turns.len() - 1
        })
    }

    /// Returns whether a command steers or interrupts another one. It is no run of its own.
    fn is_control(&mut self, command: CommandId, event: &JournalEvent) -> bool {
        let declares = [event::COMMAND_STATUS, event::USER_MESSAGE].contains(&event.kind.as_str());
        if declares && ["steer", "interrupt"].contains(&event.text("type")) {
            self.controls.insert(command);
        }
        self.controls.contains(&command)
    }

    /// Shows the text of a steer in the open run. It is no message of the run's input, so clients get it under our name.
    fn show_steer(&mut self, event: &JournalEvent, events: &mut Vec<AguiEvent>) {
        let open = self.turns.iter().find(|turn| turn.is_open);
        if let Some(turn) = open.filter(|_| event.kind == event::USER_MESSAGE) {
            self.filter.send(turn, vec![outcome::custom("guildhall.steer", event)], events);
        }
    }
}
