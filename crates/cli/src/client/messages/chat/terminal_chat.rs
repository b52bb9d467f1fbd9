//! A chat on a terminal.

use std::io::stdout;
use std::time::Duration;

use anyhow::{Result, bail};
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use guildhall_sdk::messages::DeliveryMark;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until, timeout};

use super::super::command_error;
use super::super::payload::is_sealed;
use super::chat_line::{ChatLine, DeliveryState};
use super::conversation::{ChatEvent, Conversation, Outbox, SendOutcome};
use super::history::ChatEntry;
use super::keyboard::Keyboard;
use super::line_editor::{Edit, Key, LineEditor};
use super::local_time::LocalTime;
use super::screen::{Screen, TerminalSize};
use super::{ChatArgs, ChatParts};
use crate::client::aid_socket::OpenDevice;
use crate::output::{Colour, print_chunk, sanitize_line, sanitize_text};

/// How long somebody is shown as typing after the last notice: a little longer than the pause between two.
const TYPING_SHOWN: Duration = Duration::from_secs(7);

/// How long the command waits for messages that are being sent when the person leaves.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The size of a terminal that does not tell its own.
const DEFAULT_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

const NOT_SEALED: &str = "not sealed";

pub(super) struct TerminalChat {
    device: OpenDevice,
    conversation: Conversation,
    outbox: Outbox,
    peer: Aid,
    /// Whether messages are sealed, as the person asked for.
    is_plain: bool,
    is_hosted: bool,
    tells_typing: bool,
    screen: Screen,
    editor: LineEditor,
    time: LocalTime,
    clock: Clock,
    earlier: Vec<ChatEntry>,
    /// Own messages that no device of the peer has confirmed: their numbers and seqs.
    unconfirmed: Vec<(u64, i64)>,
    typing_until: Option<Instant>,
    is_disconnected: bool,
}

impl TerminalChat {
    pub(super) fn new(args: &ChatArgs, parts: ChatParts) -> Self {
        let ChatParts { device, conversation, outbox, earlier, is_hosted } = parts;
        Self {
            device,
            conversation,
            outbox,
            peer: args.peer.clone(),
            is_plain: args.plain,
            is_hosted,
            tells_typing: !args.no_typing,
            screen: Screen::new(terminal_size(), Colour::of(&stdout())),
            editor: LineEditor::default(),
            time: LocalTime::find(),
            clock: Clock::system(),
            earlier,
            unconfirmed: Vec::new(),
            typing_until: None,
            is_disconnected: false,
        }
    }

    /// Runs until the person leaves.
    pub(super) async fn run(mut self, keyboard: Keyboard) -> Result<()> {
        self.print_start()?;
        let result = self.talk(keyboard).await;
        print_chunk(&self.screen.clear_prompt())?;
        result?;
        self.finish_sending().await
    }

    fn print_start(&mut self) -> Result<()> {
        for entry in std::mem::take(&mut self.earlier) {
            self.print_entry(&entry, DeliveryState::Stored)?;
        }
        let how = match (self.is_plain, self.is_hosted) {
            (true, _) => "not sealed: servers can read it",
            (false, true) => "sealed for an agent of this server, which can read it",
            (false, false) => "sealed from end to end",
        };
        self.notice(format!("chat with {}, {how}; Ctrl-D leaves", self.peer))
    }

    /// Handles what happens. The keyboard is given back when it ends.
    async fn talk(&mut self, mut keyboard: Keyboard) -> Result<()> {
        let mut inbox = self.device.messenger.follow().with_auto_ack();
        let mut marks = self.device.messenger.delivery_marks();
        let (mut terminate, mut resize) =
            (signal(SignalKind::terminate())?, signal(SignalKind::window_change())?);
        loop {
            tokio::select! {
                keys = keyboard.read() => {
                    for key in keys? {
                        if !self.press(key)? {
                            return Ok(());
                        }
                    }
                }
                item = inbox.next() => {
                    let event = self.conversation.receive(item.map_err(command_error)?)?;
                    self.show(event)?;
                }
                mark = marks.next() => self.confirm(&mark?)?,
                outcome = self.outbox.next() => self.finish_send(outcome)?,
                () = wait_until(self.typing_until) => {
                    self.typing_until = None;
                    self.draw()?;
                }
                _ = resize.recv() => {
                    self.screen.resize(terminal_size());
                    self.draw()?;
                }
                _ = terminate.recv() => return Ok(()),
            }
        }
    }

    /// Handles a key. Returns whether the chat goes on.
    fn press(&mut self, key: Key) -> Result<bool> {
        match self.editor.apply(key) {
            Edit::Changed => {
                if self.tells_typing && !self.editor.is_empty() {
                    self.outbox.tell_typing();
                }
                self.draw()?;
            }
            Edit::Line(line) if line.trim().is_empty() => self.draw()?,
            Edit::Line(line) => {
                let number = self.outbox.push(line.clone());
                let line = self.message_line(DeliveryState::Sending, true, self.clock.now(), None, &line);
                print_chunk(&self.screen.print(&line, Some(number), &self.editor))?;
            }
            Edit::Leave => return Ok(false),
        }
        Ok(true)
    }

    fn show(&mut self, event: ChatEvent) -> Result<()> {
        if !matches!(event, ChatEvent::Disconnected(_)) {
            self.is_disconnected = false;
        }
        match event {
            ChatEvent::Message(entry) => {
                self.typing_until = None;
                self.print_entry(&entry, DeliveryState::Stored)
            }
            ChatEvent::Typing => {
                self.typing_until = Some(Instant::now() + TYPING_SHOWN);
                self.draw()
            }
            ChatEvent::Recalled => self.notice(format!("{} has recalled a message", self.peer.name())),
            ChatEvent::Unreadable(reason) => {
                self.notice(format!("a message of {} cannot be read: {reason}", self.peer.name()))
            }
            ChatEvent::OtherSender(aid) => {
                self.notice(format!("{aid} has written; `guildhall inbox` shows it"))
            }
            ChatEvent::Disconnected(_) => {
                self.is_disconnected = true;
                self.draw()
            }
            ChatEvent::CaughtUp | ChatEvent::Nothing => self.draw(),
        }
    }

    fn finish_send(&mut self, outcome: SendOutcome) -> Result<()> {
        let SendOutcome { number, text, result } = outcome;
        let state = match result {
            Ok(sent) => {
                self.unconfirmed.push((number, sent.seq));
                let is_unexpected = !self.is_plain && !is_sealed(sent.seal);
                self.conversation.add_sent(&sent, text)?;
                if is_unexpected {
                    self.notice("this message was not sealed: servers can read it".to_owned())?;
                }
                DeliveryState::Stored
            }
            Err(error) => {
                self.notice(format!("not sent: {:#}", command_error(error)))?;
                DeliveryState::Failed
            }
        };
        print_chunk(&self.screen.mark(number, state, &self.editor))?;
        Ok(())
    }

    /// Marks the messages that a device of the peer has.
    fn confirm(&mut self, mark: &DeliveryMark) -> Result<()> {
        if mark.by != self.peer {
            return Ok(());
        }
        let is_confirmed = |(_, seq): &(u64, i64)| *seq <= mark.seq;
        let confirmed: Vec<u64> =
            self.unconfirmed.iter().filter(|it| is_confirmed(it)).map(|(number, _)| *number).collect();
        self.unconfirmed.retain(|it| !is_confirmed(it));
        for number in confirmed {
            print_chunk(&self.screen.mark(number, DeliveryState::Delivered, &self.editor))?;
        }
        Ok(())
    }

    /// Waits for messages that are being sent.
    async fn finish_sending(mut self) -> Result<()> {
        let finish = async {
            let mut failed = 0;
            while !self.outbox.is_empty() {
                let SendOutcome { text, result, .. } = self.outbox.next().await;
                match result {
                    Ok(sent) => self.conversation.add_sent(&sent, text)?,
                    Err(_) => failed += 1,
                }
            }
            anyhow::Ok(failed)
        };
        if let Ok(finished) = timeout(LEAVE_TIMEOUT, finish).await
            && finished? == 0
        {
            return Ok(());
        }
        let peer = &self.peer;
        bail!("the last messages may not have been sent\n  next: `guildhall chat {peer}` shows what was")
    }

    fn print_entry(&mut self, entry: &ChatEntry, state_of_own: DeliveryState) -> Result<()> {
        let ChatEntry::Message { is_own, at, is_sealed, text, .. } = entry else { return Ok(()) };
        let state = if *is_own { state_of_own } else { DeliveryState::Received };
        let note = (!is_sealed).then_some(NOT_SEALED);
        let line = self.message_line(state, *is_own, *at, note, text);
        print_chunk(&self.screen.print(&line, None, &self.editor))?;
        self.draw()
    }

    fn message_line(
        &self,
        state: DeliveryState,
        is_own: bool,
        at: jiff::Timestamp,
        note: Option<&'static str>,
        text: &str,
    ) -> ChatLine {
        let name = if is_own { "you".to_owned() } else { self.peer.name().to_string() };
        ChatLine::Message {
            state,
            time: self.time.format(at, self.clock.now()),
            name,
            note,
            // A tab would take an unknown number of columns.
            text: sanitize_text(text).replace('\t', "    "),
        }
    }

    fn notice(&mut self, text: String) -> Result<()> {
        let line = ChatLine::Notice(sanitize_line(&text));
        print_chunk(&self.screen.print(&line, None, &self.editor))?;
        Ok(())
    }

    fn draw(&mut self) -> Result<()> {
        self.screen.set_status(match (self.is_disconnected, self.typing_until) {
            (true, _) => Some("no connection".to_owned()),
            (false, Some(_)) => Some(format!("{} is typing", self.peer.name())),
            (false, None) => None,
        });
        print_chunk(&self.screen.draw_prompt(&self.editor))?;
        Ok(())
    }
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn terminal_size() -> TerminalSize {
    let size = rustix::termios::tcgetwinsize(stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(DEFAULT_SIZE, |size| TerminalSize { columns: size.ws_col.into(), rows: size.ws_row.into() })
}
