//! Which segments a stream shows.

use guildhall_domain::ids::CommandId;
use serde_json::Value;

use super::StreamMode;
use super::context::StreamContext;
use super::front_end_tools::front_end_tools;
use super::journal_event::JournalEvent;
use super::outcome::run_error;
use super::turn::Turn;
use crate::agui::event::{AguiEvent, RunInput};

/// The segments of a stream.
#[derive(Debug)]
pub(super) enum SegmentFilter {
    Thread,
    Run(RunSegment),
}

/// The segment of a client's run.
#[derive(Debug)]
pub(super) struct RunSegment {
    client_run: String,
    command: CommandId,
    /// None until the `client_run` event. It may come long after the segment: someone else has answered the question.
    segment: Option<u32>,
    /// Events of the segments so far, until the client's one is known.
    held: Vec<(u32, AguiEvent)>,
    is_finished: bool,
}

impl SegmentFilter {
    pub(super) fn new(mode: StreamMode) -> Self {
        match mode {
            StreamMode::Thread => Self::Thread,
            StreamMode::Run { client_run, command, .. } => {
                let (segment, held) = (None, Vec::new());
                Self::Run(RunSegment { client_run, command, segment, held, is_finished: false })
            }
        }
    }

    pub(super) const fn is_finished(&self) -> bool {
        match self {
            Self::Thread => false,
            Self::Run(run) => run.is_finished,
        }
    }

    pub(super) fn includes(&self, command: CommandId) -> bool {
        match self {
            Self::Thread => true,
            Self::Run(run) => run.command == command,
        }
    }

    /// Returns whether turns are needed after their end.
    pub(super) const fn keeps_ended(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// Sends the events of a turn's last segment, if the stream shows it.
    pub(super) fn send(&mut self, turn: &Turn, shown: Vec<AguiEvent>, events: &mut Vec<AguiEvent>) {
        let Self::Run(run) = self else { return events.extend(shown) };
        let segment = turn.started.saturating_sub(1);
        match run.segment {
            None => run.held.extend(shown.into_iter().map(|event| (segment, event))),
            Some(own) if own == segment => run.send(shown, events),
            Some(_) => {}
        }
    }

    /// Reads a `client_run` event. Sends what was held for it.
    pub(super) fn claim(
        &mut self,
        event: &JournalEvent,
        segment: u32,
        turn: &mut Turn,
        context: &StreamContext,
        events: &mut Vec<AguiEvent>,
    ) {
        let Self::Run(run) = self else { return };
        if run.segment.is_some() || event.text("clientRunId") != run.client_run {
            return;
        }
        run.segment = Some(segment);
        let held = std::mem::take(&mut run.held).into_iter();
        let mut own: Vec<AguiEvent> =
            held.filter(|(held, _)| *held == segment).map(|(_, event)| event).collect();
        // The segment has started without the client.
        if turn.started > segment {
            own.iter_mut().for_each(|own| add_tools(own, &front_end_tools(event)));
        }
        run.send(own, events);
        if turn.is_ended && segment >= turn.started {
            let mut shown = Vec::new();
            turn.start_after_end(context, &mut shown);
            shown.push(run_error("conflict", "the turn ended before this resume", Vec::new()));
            run.send(shown, events);
        }
    }
}

/// Adds the tools of the client to the start of its run.
fn add_tools(event: &mut AguiEvent, tools: &[Value]) {
    if let AguiEvent::RunStarted { thread_id, run_id, input, .. } = event {
        let messages = input.take().map(|input| input.messages).unwrap_or_default();
        *input = RunInput::new(thread_id, run_id, messages, tools.to_vec());
    }
}

impl RunSegment {
    fn send(&mut self, shown: Vec<AguiEvent>, events: &mut Vec<AguiEvent>) {
        self.is_finished |= shown.iter().any(AguiEvent::is_end);
        events.extend(shown);
    }
}
