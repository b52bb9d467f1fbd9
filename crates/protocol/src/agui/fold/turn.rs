//! One turn: its events, as segments.

use std::collections::VecDeque;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::event::{self, Usage};
use serde_json::json;

use super::approvals::TurnApprovals;
use super::calls::ToolCalls;
use super::client_runs::ClientRuns;
use super::context::StreamContext;
use super::ids::{IdKind, item_id};
use super::interrupts::interrupt;
use super::items::{TextItems, TextKind};
use super::journal_event::JournalEvent;
use super::outcome::{self, SegmentEnd};
use super::steps::{Step, Steps};
use super::user_message::JournalUserMessage;
use crate::agui::event::{AguiEvent, AguiVersion, Message, RunInput, RunOutcome};

/// A turn command. Its segments are the runs that clients see: an approval ends one, and the next one starts when the
/// approval is closed.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) command: CommandId,
    run: RunId,
    /// Whether it is known to be a turn. The event that says so may be erased.
    pub(super) is_turn: bool,
    /// Segments that were started.
    pub(super) started: u32,
    pub(super) is_open: bool,
    pub(super) is_ended: bool,
    /// Events that wait until a segment may be open.
    queue: VecDeque<JournalEvent>,
    has_queued_end: bool,
    client_runs: ClientRuns,
    user_messages: Vec<JournalUserMessage>,
    pub(super) approvals: TurnApprovals,
    messages: TextItems,
    reasoning: TextItems,
    calls: ToolCalls,
    /// Usage of the open segment.
    usage: Usage,
    steps: Steps,
}

impl Turn {
    pub(super) fn new(command: CommandId, run: RunId) -> Self {
        Self {
            command,
            run,
            is_turn: false,
            started: 0,
            is_open: false,
            is_ended: false,
            queue: VecDeque::new(),
            has_queued_end: false,
            client_runs: ClientRuns::new(command),
            user_messages: Vec::new(),
            approvals: TurnApprovals::default(),
            messages: TextItems::new(command, TextKind::Message),
            reasoning: TextItems::new(command, TextKind::Reasoning),
            calls: ToolCalls::new(command),
            usage: Usage::default(),
            steps: Steps::default(),
        }
    }

    /// Takes an event. What it shows is shown by [`Self::advance`].
    pub(super) fn accept(&mut self, event: JournalEvent) {
        if self.is_ended || self.has_queued_end {
            return;
        }
        match event.kind.as_str() {
            event::COMMAND_STATUS => match event.text("status") {
                "pending" => self.is_turn = true,
                "running" if self.is_turn => self.queue.push_back(event),
                _ => {}
            },
            event::USER_MESSAGE => {
                self.is_turn = true;
                self.user_messages.push(JournalUserMessage::of(&event));
            }
            event::APPROVAL_STATUS if event.text("status") != "pending" => self.approvals.close(&event),
            event::TERMINAL_STATUS if self.is_turn => {
                self.has_queued_end = true;
                self.queue.push_back(event);
            }
            event::TERMINAL_STATUS => self.is_ended = true,
            event::ASSISTANT_DELTA
            | event::ASSISTANT_MESSAGE
            | event::REASONING_DELTA
            | event::REASONING
            | event::TOOL_CALL
            | event::COMMAND_OUTPUT
            | event::ARTIFACT
            | event::USAGE
            | event::ERROR
            | event::APPROVAL_REQUESTED => {
                self.is_turn = true;
                self.queue.push_back(event);
            }
            _ => {}
        }
    }

    /// Gives a segment to a client's run. Returns the segment.
    pub(super) fn claim(&mut self, event: &JournalEvent) -> u32 {
        self.is_turn = true;
        let segment = self.approvals.resumed_segment(event);
        if segment >= self.started {
            self.client_runs.claim(segment, event);
        }
        segment
    }

    /// Returns whether a segment starts when no other one is open. A turn that is not the first one waits for its first
    /// event: it is in the queue of the run.
    pub(super) fn can_start(&self, is_first: bool) -> bool {
        if self.is_ended || self.is_open || !self.is_turn {
            return false;
        }
        if self.approvals.is_waiting() {
            return self.has_queued_end;
        }
        !self.queue.is_empty() || (is_first && self.client_runs.has_claim(self.started))
    }

    /// Returns whether it is between two segments.
    pub(super) const fn is_paused(&self) -> bool {
        self.started > 0 && !self.is_open && !self.is_ended
    }

    /// Starts the next segment.
    pub(super) fn start(&mut self, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        if self.ends_while_parked() {
            return;
        }
        self.start_segment(context, events);
        for value in self.approvals.take_decisions() {
            events.push(AguiEvent::Custom { name: "guildhall.approval".to_owned(), value });
        }
        let worker = self.client_runs.worker();
        if self.started == 1 {
            self.steps.route(worker, events);
        }
        if self.started == 1 && self.queue.is_empty() {
            self.steps.open(Step::Waiting, events);
        } else if worker.is_some() {
            self.steps.open(Step::Worker, events);
        }
    }

    /// Starts a segment of a turn that has ended without it. The caller ends it.
    pub(super) fn start_after_end(&mut self, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        self.start_segment(context, events);
        self.is_open = false;
    }

    fn start_segment(&mut self, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        let run_id = self.client_runs.run_id(self.started, context);
        events.push(AguiEvent::RunStarted {
            thread_id: context.thread_id.clone(),
            protocol_version: context.version.protocol_version(),
            parent_run_id: self.client_runs.parent(self.started),
            input: self.run_input(context, &run_id),
            run_id,
        });
        self.started += 1;
        self.is_open = true;
    }

    /// Ends a turn that was blocked by its questions and has nothing more to show: they are listed already.
    fn ends_while_parked(&mut self) -> bool {
        let is_blocked = |event: &JournalEvent| event.text("terminalStatus") == "blocked";
        let is_silent = self.approvals.is_waiting()
            && self.queue.len() == 1
            && self.queue.front().is_some_and(is_blocked)
            && !self.client_runs.has_claim(self.started);
        self.is_ended |= is_silent;
        is_silent
    }

    /// Shows the waiting events, up to the end of the segment.
    pub(super) fn advance(&mut self, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        while self.is_open {
            let Some(event) = self.queue.pop_front() else { return };
            self.steps.end_waiting(self.client_runs.worker(), events);
            self.apply(&event, context, events);
        }
    }

    fn apply(&mut self, event: &JournalEvent, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        match event.kind.as_str() {
            event::ASSISTANT_DELTA => self.messages.add(event.text("itemId"), event.text("text"), events),
            event::ASSISTANT_MESSAGE => {
                self.messages.complete(event.text("itemId"), event.text("text"), events);
            }
            event::REASONING_DELTA => self.reasoning.add(event.text("itemId"), event.text("text"), events),
            event::REASONING => self.reasoning.complete(event.text("itemId"), event.text("text"), events),
            event::TOOL_CALL => self.calls.update(event, events),
            event::COMMAND_OUTPUT => self.calls.add_output(event),
            event::ARTIFACT => events.push(outcome::custom("guildhall.artifact", event)),
            event::ERROR => events.push(outcome::custom("guildhall.error", event)),
            event::USAGE => self.usage = self.usage.plus(outcome::usage(event)),
            event::APPROVAL_REQUESTED => self.ask(event, context, events),
            event::TERMINAL_STATUS => self.end(&SegmentEnd::of(event), context, events),
            _ => {}
        }
    }

    /// Ends the segment with a question, unless it is answered already.
    fn ask(&mut self, event: &JournalEvent, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        let id = event.text("approvalId");
        if id.is_empty() || event.flag("answered") || self.approvals.is_closed(id) {
            return;
        }
        self.approvals.open(interrupt(event, id, &self.calls));
        self.interrupt(context, events);
    }

    fn interrupt(&mut self, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        let interrupts = self.approvals.list(self.started);
        self.close_open_items(events);
        events.push(AguiEvent::RunFinished {
            thread_id: context.thread_id.clone(),
            run_id: self.client_runs.run_id(self.started.saturating_sub(1), context),
            outcome: RunOutcome::Interrupt { interrupts },
            result: None,
            usage: outcome::token_usage(std::mem::take(&mut self.usage)),
        });
        self.is_open = false;
    }

    /// Ends the turn.
    pub(super) fn end(&mut self, end: &SegmentEnd, context: &StreamContext, events: &mut Vec<AguiEvent>) {
        self.is_ended = true;
        if !self.is_open {
            return;
        }
        if end.is_blocked() && self.approvals.is_waiting() {
            return self.interrupt(context, events);
        }
        self.calls.end_all(events);
        self.close_open_items(events);
        let usage = outcome::token_usage(std::mem::take(&mut self.usage));
        let (thread_id, run_id) =
            (context.thread_id.clone(), self.client_runs.run_id(self.started.saturating_sub(1), context));
        let finished = |outcome, result| AguiEvent::RunFinished {
            thread_id,
            run_id,
            outcome,
            result,
            usage: usage.clone(),
        };
        events.push(match end {
            SegmentEnd::Completed => {
                let (command, run) = (self.command.to_string(), self.run.to_string());
                finished(RunOutcome::Success, Some(json!({ "commandId": command, "runId": run })))
            }
            SegmentEnd::Cancelled { .. } if context.version == AguiVersion::V1 => {
                finished(RunOutcome::Cancelled, None)
            }
            SegmentEnd::Cancelled { message } => outcome::run_error("cancelled", message, usage),
            SegmentEnd::Blocked { code, message } | SegmentEnd::Failed { code, message } => {
                outcome::run_error(code, message, usage)
            }
        });
        self.is_open = false;
    }

    fn close_open_items(&mut self, events: &mut Vec<AguiEvent>) {
        self.messages.close(events);
        self.reasoning.close(events);
        self.steps.close(events);
    }

    /// Returns the messages that the turn was created with, for its first segment, and the tools of the client. A client's
    /// own id is used only if the client created the turn: ids of other protocols may repeat.
    fn run_input(&mut self, context: &StreamContext, run_id: &str) -> Option<RunInput> {
        let is_claimed = self.client_runs.has_claim(0);
        let user_messages = std::mem::take(&mut self.user_messages);
        let message = |(number, mut message): (u32, JournalUserMessage)| {
            let client_id = message.client_id.take().filter(|_| is_claimed && number == 1);
            let id = client_id.unwrap_or_else(|| item_id(self.command, IdKind::User, number, ""));
            Message::User { id, content: message.content(context.version) }
        };
        let messages = (1..).zip(user_messages).map(message).filter(|_| self.started == 0).collect();
        RunInput::new(&context.thread_id, run_id, messages, self.client_runs.tools(self.started))
    }
}
