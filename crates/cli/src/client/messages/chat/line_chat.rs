//! A chat without a terminal: lines of standard input are messages.

use std::time::Duration;

use anyhow::{Result, bail};
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::command_error;
use super::conversation::{ChatEvent, Conversation, Outbox, SendOutcome};
use super::history::ChatEntry;
use super::local_time::LocalTime;
use super::{ChatArgs, ChatParts};
use crate::client::aid_socket::OpenDevice;
use crate::client::input_lines::InputLines;
use crate::output::{print_json, print_line, sanitize_line};

pub(super) struct LineChat {
    device: OpenDevice,
    conversation: Conversation,
    outbox: Outbox,
    peer: Aid,
    json: bool,
    time: LocalTime,
    clock: Clock,
    earlier: Vec<ChatEntry>,
    /// How long an answer is waited for.
    wait: Option<Duration>,
    /// The other has written since the last message was sent.
    is_answered: bool,
    /// Messages that were not sent.
    failed: usize,
}

impl LineChat {
    pub(super) fn new(args: &ChatArgs, parts: ChatParts) -> Self {
        let ChatParts { device, conversation, outbox, earlier, is_hosted: _ } = parts;
        Self {
            device,
            conversation,
            outbox,
            peer: args.peer.clone(),
            json: args.socket.json,
            time: LocalTime::find(),
            clock: Clock::system(),
            earlier,
            wait: args.wait,
            is_answered: false,
            failed: 0,
        }
    }

    /// Runs until standard input has ended, everything is sent, what had come before is printed, and the answer is there, if one is
    /// waited for.
    pub(super) async fn run(mut self) -> Result<()> {
        for entry in std::mem::take(&mut self.earlier) {
            self.print(&entry)?;
        }
        let mut inbox = self.device.messenger.follow().with_auto_ack();
        let mut input = Some(InputLines::start());
        let (mut has_caught_up, mut deadline) = (false, None);
        loop {
            if input.is_none() && self.outbox.is_empty() && has_caught_up {
                let Some(wait) = self.wait.filter(|_| !self.is_answered && self.failed == 0) else { break };
                deadline = deadline.or_else(|| Some(Instant::now() + wait));
            }
            tokio::select! {
                () = wait_until(deadline) => {
                    bail!("{} has not answered\n  next: `guildhall inbox` shows the answer when it is there", self.peer);
                }
                line = next_line(input.as_mut()) => match line? {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => drop(self.outbox.push(line)),
                    None => input = None,
                },
                item = inbox.next() => {
                    let event = self.conversation.receive(item.map_err(command_error)?)?;
                    has_caught_up |= matches!(event, ChatEvent::CaughtUp);
                    self.show(event)?;
                }
                outcome = self.outbox.next() => self.finish_send(outcome)?,
            }
        }
        match self.failed {
            0 => Ok(()),
            1 => bail!("a message was not sent"),
            several => bail!("{several} messages were not sent"),
        }
    }

    fn finish_send(&mut self, outcome: SendOutcome) -> Result<()> {
        match outcome.result {
            Ok(sent) => {
                self.is_answered = false;
                self.conversation.add_sent(&sent, outcome.text)
            }
            Err(error) => {
                self.failed += 1;
                eprintln!("not sent: {}", sanitize_line(&format!("{:#}", command_error(error))));
                Ok(())
            }
        }
    }

    fn show(&mut self, event: ChatEvent) -> Result<()> {
        match event {
            ChatEvent::Message(entry) => {
                self.is_answered |= matches!(entry, ChatEntry::Message { is_own: false, .. });
                self.print(&entry)?;
            }
            ChatEvent::Unreadable(reason) => {
                eprintln!("a message of {} cannot be read: {}", self.peer, sanitize_line(&reason));
            }
            ChatEvent::OtherSender(aid) => eprintln!("{aid} has written; `guildhall inbox` shows it"),
            ChatEvent::Disconnected(error) => eprintln!("{}; retrying", sanitize_line(&error.to_string())),
            ChatEvent::Typing | ChatEvent::Recalled | ChatEvent::CaughtUp | ChatEvent::Nothing => {}
        }
        Ok(())
    }

    fn print(&self, entry: &ChatEntry) -> std::io::Result<()> {
        let ChatEntry::Message { id, is_own, at, is_sealed, text } = entry else { return Ok(()) };
        let from = if *is_own { &self.device.aid } else { &self.peer };
        if self.json {
            let value: Value = json!({
                "messageId": id, "from": from.to_string(), "storedAt": at, "sealed": is_sealed, "text": text,
            });
            return print_json(&value.to_string());
        }
        let note = if *is_sealed { "" } else { " (not sealed)" };
        let time = self.time.format(*at, self.clock.now());
        print_line(&sanitize_line(&format!("{time} {from}{note}: {}", text.replace('\n', " ⏎ "))))
    }
}

/// Waits until a time; for ever without one.
async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for a line; none at the end of input.
async fn next_line(input: Option<&mut InputLines>) -> std::io::Result<Option<String>> {
    match input {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}
