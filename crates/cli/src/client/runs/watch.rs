//! Following a run, or one command of it, to its end.

use std::time::Duration;

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::{TerminalStatus, event};
use guildhall_protocol::rest::runs::EventView;
use guildhall_sdk::{Client, ClientError, RunEvent, RunFollowed, next_step_after};
use serde_json::json;

use super::screen::{Screen, ending};
use crate::failure::NotCompleted;
use crate::output::{clean, line, piece};

/// Between two questions to a server that is away.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What to follow.
pub(super) struct Watch<'a> {
    pub(super) client: &'a Client,
    pub(super) run: RunId,
    /// One command; the whole run without it.
    pub(super) command: Option<CommandId>,
    pub(super) after_seq: i64,
    pub(super) json: bool,
}

/// How it ended.
struct End {
    status: TerminalStatus,
    kind: Option<FailureKind>,
    /// Said where no event did.
    words: Option<String>,
}

impl Watch<'_> {
    /// Shows what happens until it is over. Fails with what becomes the exit code, unless it completed.
    pub(super) async fn to_the_end(&self) -> Result<()> {
        let mut follower = self.client.follow_run(self.run, self.after_seq);
        let (mut screen, mut away) = (Screen::default(), Away::default());
        loop {
            let end = match follower.next().await? {
                RunFollowed::Event(event) => {
                    away.is_over();
                    self.show(&event, &mut screen)?;
                    self.end_in(&event.view).await?
                }
                // Its end may stand before the place where the following began.
                RunFollowed::CaughtUp => {
                    away.is_over();
                    let end = self.end_on_record().await?;
                    if end.is_none() && !self.json {
                        self.say_that_nobody_has_it().await;
                    }
                    end
                }
                RunFollowed::Restored if self.json => {
                    line(&json!({ "gap": { "recovered": false } }).to_string())?;
                    None
                }
                RunFollowed::Restored => {
                    piece(screen.close())?;
                    eprintln!("the server's database was restored: the run is told from its beginning");
                    None
                }
                RunFollowed::Away(error) => {
                    piece(if self.json { "" } else { screen.close() })?;
                    away.begins(&error);
                    None
                }
            };
            if let Some(end) = end {
                return self.say_end(end, &mut screen);
            }
        }
    }

    fn show(&self, event: &RunEvent, screen: &mut Screen) -> std::io::Result<()> {
        if self.json {
            return line(event.text());
        }
        let of_another = self.command.is_some()
            && event.view.command_id.is_some()
            && event.view.command_id != self.command.map(|command| command.to_string());
        if of_another { Ok(()) } else { piece(&screen.show(&event.view)) }
    }

    /// Reads whether an event is the end of what is followed.
    async fn end_in(&self, event: &EventView) -> Result<Option<End>> {
        let is_ours = event.command_id == self.command.map(|command| command.to_string());
        if event.r#type != event::TERMINAL_STATUS || !is_ours {
            return Ok(None);
        }
        // An erased one does not say how.
        let Some(payload) = &event.payload else { return self.end_on_record().await };
        let kind = payload["failureKind"].as_str();
        Ok(end(payload["terminalStatus"].as_str(), kind, None))
    }

    async fn end_on_record(&self) -> Result<Option<End>> {
        let mut away = Away::default();
        loop {
            match self.record().await {
                Ok(end) => {
                    away.is_over();
                    return Ok(end);
                }
                Err(error) if error.is_passing() => away.begins(&error),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    async fn record(&self) -> Result<Option<End>, ClientError> {
        let (status, kind, message) = match self.command {
            Some(command) => {
                let command = self.client.show_command(self.run, command).await?;
                (command.terminal_status, command.failure_kind, command.message)
            }
            None => {
                let run = self.client.show_run(self.run).await?;
                (run.terminal_status, run.failure_kind, run.message)
            }
        };
        let scope = if self.command.is_some() { "command" } else { "run" };
        let words = ending(&json!({
            "scope": scope, "terminalStatus": status, "failureKind": kind, "message": message,
        }));
        Ok(end(status.as_deref(), kind.as_deref(), Some(words)))
    }

    /// A run that no runner holds shows nothing, perhaps for long: whoever watches should know why.
    async fn say_that_nobody_has_it(&self) {
        if let Ok(run) = self.client.show_run(self.run).await
            && run.lease.is_none()
        {
            eprintln!("{}", clean(&run.liveness.sentence));
        }
    }

    fn say_end(&self, end: End, screen: &mut Screen) -> Result<()> {
        if !self.json {
            piece(screen.close())?;
            if let Some(words) = &end.words {
                line(&clean(words))?;
            }
            if let Some(kind) = end.kind {
                eprintln!("  next: {}", next_step_after(kind));
            } else if self.command.is_some() {
                eprintln!("  next: guildhall runs send {} '...' goes on; the run stays open", self.run);
            }
        }
        match end.status {
            TerminalStatus::Completed => Ok(()),
            TerminalStatus::Failed | TerminalStatus::Blocked | TerminalStatus::Cancelled => {
                Err(NotCompleted(end.status).into())
            }
        }
    }
}

fn end(status: Option<&str>, kind: Option<&str>, words: Option<String>) -> Option<End> {
    // A status that is newer than this client has ended it all the same.
    let status = TerminalStatus::from_name(status?).unwrap_or(TerminalStatus::Failed);
    Some(End { status, kind: kind.and_then(FailureKind::from_name), words })
}

/// Says once that the server is away, and once that it is back.
#[derive(Default)]
struct Away(bool);

impl Away {
    fn begins(&mut self, error: &ClientError) {
        if !std::mem::replace(&mut self.0, true) {
            eprintln!("{error}; waiting for it");
        }
    }

    fn is_over(&mut self) {
        if std::mem::take(&mut self.0) {
            eprintln!("the server answers again");
        }
    }
}
