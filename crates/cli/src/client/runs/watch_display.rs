//! Prints a followed run: JSON, text, or on a terminal text with a status line below it.

use std::fmt::Display;
use std::io::{self, IsTerminal, stderr, stdout};
use std::time::Duration;

use guildhall_domain::ids::CommandId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;
use guildhall_sdk::RunEvent;
use tokio::time::Instant;

use super::event_renderer::EventRenderer;
use super::watch_status::WatchStatus;
use crate::output::{print_chunk, print_json};

/// How often the status line is renewed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Width of a terminal that does not tell its own.
const DEFAULT_WIDTH: usize = 80;

/// Returns to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// What has been printed.
pub(super) struct WatchDisplay {
    renderer: EventRenderer,
    is_json: bool,
    /// `None` unless standard output is a terminal.
    status_line: Option<StatusLine>,
    /// The prompt of a question, in the place of the status line.
    prompt: Option<PromptLine>,
    /// The command whose end was printed last.
    ended_command: Option<String>,
}

struct PromptLine {
    text: String,
    is_shown: bool,
}

struct StatusLine {
    status: WatchStatus,
    started_at: Instant,
    is_shown: bool,
}

impl WatchDisplay {
    pub(super) fn new(is_json: bool) -> Self {
        // Messages on standard error are printed between the lines: both must be the same terminal.
        if is_json || !stdout().is_terminal() || !stderr().is_terminal() {
            return Self::with(EventRenderer::default(), is_json, None);
        }
        let status_line =
            StatusLine { status: WatchStatus::default(), started_at: Instant::now(), is_shown: false };
        Self::with(EventRenderer::with_folded_tools(), is_json, Some(status_line))
    }

    fn with(renderer: EventRenderer, is_json: bool, status_line: Option<StatusLine>) -> Self {
        Self { renderer, is_json, status_line, prompt: None, ended_command: None }
    }

    /// Returns whether the end of a command was printed.
    pub(super) fn has_printed_end_of(&self, command: Option<CommandId>) -> bool {
        self.ended_command.is_some() && self.ended_command == command.map(|command| command.to_string())
    }

    /// Prints an event as the server sent it, or as text.
    pub(super) fn print_event(&mut self, event: &RunEvent) -> io::Result<()> {
        if self.is_json {
            return print_json(event.text());
        }
        if let Some(line) = &mut self.status_line {
            line.status.update(&event.view);
        }
        // An erased event does not show the outcome.
        if event.view.r#type == event::TERMINAL_STATUS && event.view.payload.is_some() {
            self.ended_command.clone_from(&event.view.command_id);
        }
        let text = self.renderer.render(&event.view);
        self.print(&text)
    }

    /// Returns the renderer, which knows who reads the output.
    pub(super) fn renderer(&mut self) -> &mut EventRenderer {
        &mut self.renderer
    }

    /// Takes an event into account that is not printed.
    pub(super) fn skip_event(&mut self, event: &EventView) {
        if let Some(line) = &mut self.status_line {
            line.status.update(event);
        }
    }

    /// Moves to the start of a line and removes the status line and the prompt.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        let text = if self.is_json { "" } else { self.renderer.end_line() };
        self.clear_last_line()?;
        print_chunk(text)
    }

    /// Prints a message to standard error, on a line of its own.
    pub(super) fn print_message(&mut self, message: impl Display) -> io::Result<()> {
        self.end_line()?;
        eprintln!("{message}");
        self.draw_prompt();
        Ok(())
    }

    /// Shows a prompt on standard error, and again below what is printed meanwhile.
    pub(super) fn show_prompt(&mut self, text: String) -> io::Result<()> {
        self.end_line()?;
        self.prompt = Some(PromptLine { text, is_shown: false });
        self.draw_prompt();
        Ok(())
    }

    /// Removes the prompt: nobody has typed an answer.
    pub(super) fn close_prompt(&mut self) -> io::Result<()> {
        self.clear_last_line()?;
        self.prompt = None;
        Ok(())
    }

    /// Leaves the prompt where it is. The terminal has started a new line, if a whole line was typed.
    pub(super) fn leave_prompt(&mut self, is_line: bool) {
        self.prompt = None;
        if !is_line {
            eprintln!();
        }
    }

    /// Returns when to call [`WatchDisplay::refresh`], if there is a status line.
    pub(super) fn refresh_at(&self) -> Option<Instant> {
        self.status_line.as_ref().map(|_| Instant::now() + REFRESH_INTERVAL)
    }

    /// Draws the prompt or the status line, unless the cursor is in a text.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        if self.prompt.is_some() {
            self.draw_prompt();
            return Ok(());
        }
        let Some(line) = self.status_line.as_mut().filter(|_| self.renderer.is_at_line_start()) else {
            return Ok(());
        };
        line.is_shown = true;
        // The last column stays free: some terminals wrap when it is written.
        let text = line.status.format(line.started_at.elapsed(), terminal_width().saturating_sub(1));
        print_chunk(&format!("{CLEAR_LINE}{text}"))
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        if !text.is_empty() {
            self.clear_last_line()?;
            print_chunk(text)?;
        }
        self.refresh()
    }

    fn draw_prompt(&mut self) {
        let hidden = self.prompt.as_mut().filter(|prompt| !prompt.is_shown);
        if let Some(prompt) = hidden.filter(|_| self.renderer.is_at_line_start()) {
            prompt.is_shown = true;
            eprint!("{}", prompt.text);
        }
    }

    fn clear_last_line(&mut self) -> io::Result<()> {
        if self.prompt.as_mut().is_some_and(|prompt| std::mem::take(&mut prompt.is_shown)) {
            eprint!("{CLEAR_LINE}");
        }
        let is_shown = self.status_line.as_mut().is_some_and(|line| std::mem::take(&mut line.is_shown));
        if is_shown { print_chunk(CLEAR_LINE) } else { Ok(()) }
    }
}

fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(DEFAULT_WIDTH)
}
