//! Follows a run, or one command of it, to its end.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::{TerminalStatus, event};
use guildhall_protocol::rest::runs::EventView;
use guildhall_sdk::{Client, RunEvent, RunFollower, RunStreamItem, next_step_for};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::outage::OutageReporter;
use super::watch_display::WatchDisplay;
use super::watch_outcome::{
    FetchedOutcome, OutcomeQuery, WatchOutcome, is_end_by_question, is_end_without_answer, parse_outcome,
};
use super::watch_questions::WatchQuestions;
use crate::error::{UnsuccessfulOutcome, WatchInterrupted};
use crate::output::{print_json, print_line, sanitize_line};

/// A server that starts runners itself does so within this time: it looks every second by default.
const NOTICE_DELAY: Duration = Duration::from_secs(3);

/// The run or command to follow.
pub(super) struct RunWatch<'a> {
    pub(super) client: &'a Client,
    pub(super) run: RunId,
    /// The command to follow, then the turn that continues it; `None` follows the run.
    pub(super) command: Option<CommandId>,
    pub(super) after_seq: i64,
    pub(super) json: bool,
    /// Whether the caller closes the run afterwards.
    pub(super) closes_run: bool,
}

/// What a followed run waits for: its events, and typed answers.
struct WatchSource<'a> {
    follower: RunFollower,
    /// `None` with `--json`: nobody is asked.
    questions: Option<WatchQuestions<'a>>,
    /// When to print that the run has no runner.
    notice_at: Option<Instant>,
}

impl RunWatch<'_> {
    /// Prints events until the end. Returns an error, which sets the exit code, unless it completed. Ctrl-C stops to
    /// follow; the run goes on.
    pub(super) async fn follow_to_end(mut self) -> Result<()> {
        let (mut display, mut printed_seq) = (WatchDisplay::new(self.json), self.after_seq);
        let outcome = tokio::select! {
            outcome = self.follow(&mut display, &mut printed_seq) => Some(outcome),
            // Without a handler, Ctrl-C ends the process as usual.
            Ok(()) = tokio::signal::ctrl_c() => None,
        };
        display.end_line()?;
        match outcome {
            Some(outcome) => self.print_outcome(&outcome?),
            None => Err(WatchInterrupted { run: self.run, after_seq: printed_seq }.into()),
        }
    }

    async fn follow(&mut self, display: &mut WatchDisplay, printed_seq: &mut i64) -> Result<WatchOutcome> {
        let mut source = WatchSource {
            follower: self.client.follow_run(self.run, self.after_seq),
            questions: (!self.json).then(|| WatchQuestions::new(self.client)),
            notice_at: None,
        };
        let (mut outage, mut fetched) = (OutageReporter::default(), None::<FetchedOutcome>);
        loop {
            let outcome = match self.next_item(&mut source, display).await? {
                RunStreamItem::Event(event) => {
                    outage.report_restored(display)?;
                    if self.follow_continuation(&event.view) {
                        fetched = None;
                    }
                    if let Some(questions) =
                        source.questions.as_mut().filter(|_| self.is_followed(&event.view))
                    {
                        questions.apply_event(&event.view, display)?;
                    }
                    self.print_event(&event, display)?;
                    *printed_seq = event.view.seq;
                    if self.may_be_continued(&event.view) {
                        // The turn that continues it may be in one of the next events.
                        fetched = self.outcome_query().fetch(display).await?;
                    }
                    self.outcome_in_event(&event.view, display).await?
                }
                // It may have ended before the first event that we follow.
                RunStreamItem::CaughtUp => {
                    outage.report_restored(display)?;
                    fetched = self.outcome_query().fetch(display).await?;
                    source.notice_at =
                        (fetched.is_none() && !self.json).then(|| Instant::now() + NOTICE_DELAY);
                    if let Some(questions) = source.questions.as_mut().filter(|_| fetched.is_none()) {
                        questions.go_live();
                    }
                    None
                }
                RunStreamItem::Restored => {
                    *printed_seq = 0;
                    source.questions.as_mut().map_or(Ok(()), |questions| questions.restart(display))?;
                    self.print_restored(display)?;
                    None
                }
                RunStreamItem::Disconnected(error) => {
                    outage.report_lost(&error, display)?;
                    None
                }
            };
            // It may also have ended after the replay: then its last events are still to come.
            let is_complete = |fetched: &mut FetchedOutcome| fetched.last_seq <= *printed_seq;
            let outcome = outcome.or_else(|| Some(fetched.take_if(is_complete)?.outcome));
            if let Some(outcome) = outcome {
                let text = outcome.text.filter(|_| !display.has_printed_end_of(self.command));
                return Ok(WatchOutcome { text, ..outcome });
            }
        }
    }

    fn print_restored(&self, display: &mut WatchDisplay) -> std::io::Result<()> {
        if self.json {
            return print_json(&json!({ "gap": { "recovered": false } }).to_string());
        }
        display.print_message(
            "the database of the server was restored from a backup: events start again from the beginning",
        )
    }

    fn print_event(&self, event: &RunEvent, display: &mut WatchDisplay) -> std::io::Result<()> {
        let view = &event.view;
        // Whoever watches a command has just written it.
        let is_own_text = self.command.is_some() && view.r#type == event::USER_MESSAGE;
        if !self.json && !self.is_followed(view) {
            return Ok(());
        }
        if !self.json && is_own_text {
            display.skip_event(view);
            return Ok(());
        }
        display.print_event(event)
    }

    /// Returns whether an event is of the followed command, or of the run.
    fn is_followed(&self, event: &EventView) -> bool {
        match (&event.command_id, self.command) {
            (Some(of), Some(command)) => *of == command.to_string(),
            (None, _) | (_, None) => true,
        }
    }

    /// Follows the turn that continues the followed one, which was blocked by a question. Returns whether the event is
    /// that of such a turn.
    fn follow_continuation(&mut self, event: &EventView) -> bool {
        let continued = event.payload.as_ref().and_then(|payload| payload["continues"].as_str());
        let is_ours = |command: CommandId| continued.is_some_and(|id| id == command.to_string());
        let is_next = event.r#type == event::COMMAND_STATUS && self.command.is_some_and(is_ours);
        if is_next {
            let next = event.command_id.as_deref().and_then(|id| id.parse().ok());
            self.command = next.or(self.command);
        }
        is_next
    }

    /// Returns whether an event ends the followed command, or one of its questions, so that another turn may continue it.
    fn may_be_continued(&self, event: &EventView) -> bool {
        let is_end = is_end_without_answer(event) || is_end_by_question(event);
        self.command.is_some() && self.is_of_command(event) && is_end
    }

    /// Returns whether an event is of the followed command, or of the run if no command is followed.
    fn is_of_command(&self, event: &EventView) -> bool {
        event.command_id == self.command.map(|command| command.to_string())
    }

    fn outcome_query(&self) -> OutcomeQuery<'_> {
        OutcomeQuery { client: self.client, run: self.run, command: self.command }
    }

    /// Returns the outcome if the event ends the followed run or command.
    async fn outcome_in_event(
        &self,
        event: &EventView,
        display: &mut WatchDisplay,
    ) -> Result<Option<WatchOutcome>> {
        if event.r#type != event::TERMINAL_STATUS || !self.is_of_command(event) {
            return Ok(None);
        }
        // An erased event does not contain the outcome.
        let Some(payload) = &event.payload else {
            return Ok(self.outcome_query().fetch(display).await?.map(|fetched| fetched.outcome));
        };
        if self.may_be_continued(event) {
            return Ok(None);
        }
        let kind = payload["failureKind"].as_str();
        Ok(parse_outcome(payload["terminalStatus"].as_str(), kind, None))
    }

    /// Waits for the next item. Meanwhile asks the questions of the agent, renews the status line, and prints once that
    /// the run has no runner, when it is time for that.
    async fn next_item(
        &self,
        source: &mut WatchSource<'_>,
        display: &mut WatchDisplay,
    ) -> Result<RunStreamItem> {
        let WatchSource { follower, questions, notice_at } = source;
        // One future for all rounds: a new one waits for its whole pause again, and would never poll.
        let mut next = pin!(follower.next());
        loop {
            if let Some(questions) = questions {
                questions.show_next(display).await?;
            }
            let retry_at = questions.as_ref().and_then(WatchQuestions::retry_at);
            let wake_at = [*notice_at, retry_at, display.refresh_at()].into_iter().flatten().min();
            tokio::select! {
                item = &mut next => return Ok(item?),
                line = next_line(questions.as_mut()) => {
                    if let Some(questions) = questions {
                        questions.answer(line?.as_deref(), display).await?;
                    }
                    continue;
                }
                () = wait_until(wake_at) => {}
            }
            if notice_at.take_if(|at| *at <= Instant::now()).is_some() {
                self.print_waiting_for_runner(display).await?;
            }
            display.refresh()?;
        }
    }

    /// Without a runner there are no events, perhaps for long: prints why, unless the server is starting a runner.
    async fn print_waiting_for_runner(&self, display: &mut WatchDisplay) -> std::io::Result<()> {
        let Ok(run) = self.client.get_run(self.run).await else { return Ok(()) };
        let Ok(jobs) = self.client.list_runner_jobs(self.run, None).await else { return Ok(()) };
        if run.lease.is_some() || jobs.iter().any(|job| job.terminal.is_none()) {
            return Ok(());
        }
        display.print_message(sanitize_line(&run.liveness.sentence))
    }

    fn print_outcome(&self, outcome: &WatchOutcome) -> Result<()> {
        if !self.json {
            if let Some(text) = &outcome.text {
                print_line(&sanitize_line(text))?;
            }
            if let Some(kind) = outcome.kind {
                eprintln!("  next: {}", next_step_for(kind));
            } else if self.command.is_some() && !self.closes_run {
                eprintln!(
                    "  next: the run stays open; `guildhall runs send {} '...'` sends the next turn",
                    self.run
                );
            }
        }
        match outcome.status {
            TerminalStatus::Completed => Ok(()),
            TerminalStatus::Failed | TerminalStatus::Blocked | TerminalStatus::Cancelled => {
                Err(UnsuccessfulOutcome(outcome.status).into())
            }
        }
    }
}

async fn next_line(questions: Option<&mut WatchQuestions<'_>>) -> std::io::Result<Option<String>> {
    match questions {
        Some(questions) => questions.next_line().await,
        None => pending().await,
    }
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
