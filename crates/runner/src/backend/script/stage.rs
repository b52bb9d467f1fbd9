//! Where a turn of a script is played: its reports go out, and what the runner wants comes in.

use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use guildhall_domain::FailureKind;
use guildhall_domain::runs::event::Usage;
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::backend::output::Output;
use crate::backend::{BackendEvent, BackendFailure, Control, Setting, Sink};
use crate::child::{Bounds, Child, Heard, Line, Spec};

/// Between two words: quick enough to wait for, slow enough to watch.
const PAUSE: Duration = Duration::from_millis(25);

/// A tool that takes longer is killed.
const TOOL_WITHIN: Duration = Duration::from_secs(60);

pub(super) struct Stage<'a> {
    sink: &'a Sink,
    control: &'a mut mpsc::Receiver<Control>,
    ends_at: Instant,
    time: Duration,
    said: usize,
    /// Words that were put into the turn.
    pub(super) heard: Vec<String>,
    /// Tools that have ended, and perhaps left something running. That ends with the backend.
    pub(super) tools: Vec<Child>,
}

/// What made a turn stop before its end.
pub(super) enum Stop {
    Interrupted,
    Failed(BackendFailure),
}

impl<'a> Stage<'a> {
    pub(super) fn new(sink: &'a Sink, control: &'a mut mpsc::Receiver<Control>, time: Duration) -> Self {
        let ends_at = Instant::now() + time;
        Self { sink, control, ends_at, time, said: 0, heard: Vec::new(), tools: Vec::new() }
    }

    pub(super) async fn report(&self, event: BackendEvent) {
        self.sink.report(event).await;
    }

    /// Says something on the way, word by word.
    pub(super) async fn say(&mut self, text: &str) -> Result<(), Stop> {
        self.said += 1;
        let item = format!("m{}", self.said);
        self.speak(&item, text.split_inclusive(' '), PAUSE).await?;
        self.report(BackendEvent::Text { item, text: text.into(), is_final: false }).await;
        Ok(())
    }

    /// Says the answer of the turn.
    pub(super) async fn answer(&mut self, text: &str) -> Result<(), Stop> {
        self.answer_at(text, PAUSE).await
    }

    /// Says the answer of the turn at a pace.
    pub(super) async fn answer_at(&mut self, text: &str, pace: Duration) -> Result<(), Stop> {
        self.speak("answer", text.split_inclusive(' '), pace).await?;
        self.report(BackendEvent::Text { item: "answer".into(), text: text.into(), is_final: true }).await;
        let usage = Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() };
        self.report(BackendEvent::Usage(usage)).await;
        Ok(())
    }

    async fn speak(
        &mut self,
        item: &str,
        words: impl Iterator<Item = &str>,
        pace: Duration,
    ) -> Result<(), Stop> {
        for word in words {
            self.report(BackendEvent::TextDelta { item: item.into(), text: word.into() }).await;
            self.heed()?;
            self.pause(pace).await?;
        }
        Ok(())
    }

    /// Runs a shell command in the workspace. It ends with all that it started when the turn is interrupted.
    pub(super) async fn tool(&mut self, setting: &Setting, call: &str, command: &str) -> Result<i64, Stop> {
        let (call, tool, command) = (call.to_owned(), "shell".to_owned(), Some(command.to_owned()));
        let began =
            BackendEvent::ToolBegan { call: call.clone(), tool: tool.clone(), command: command.clone() };
        self.report(began).await;
        let code = self.run(setting, &call, command.as_deref().unwrap_or_default()).await?.unwrap_or(-1);
        let status = if code == 0 { "completed" } else { "failed" }.to_owned();
        self.report(BackendEvent::ToolEnded { call, tool, status, exit_code: Some(code), command }).await;
        self.heed()?;
        Ok(code)
    }

    /// Returns the code with which a command ended; none when it did not, or could not begin.
    async fn run(&mut self, setting: &Setting, call: &str, command: &str) -> Result<Option<i64>, Stop> {
        let Ok(mut child) = start(&setting.workspace, command, setting.bounds(None)) else { return Ok(None) };
        let mut output = Output::default();
        let sink = self.sink.clone();
        let reading = timeout(TOOL_WITHIN, read(&mut child, &mut output, &sink, call));
        let ended = tokio::select! {
            ended = reading => ended,
            stop = self.stopped() => return Err(stop),
        };
        if let Some(printed) = output.finish(call, None) {
            self.report(printed).await;
        }
        let code = child.exit_code().map(i64::from);
        // One that takes too long ends here.
        if ended.is_ok() {
            self.tools.push(child);
        }
        Ok(code)
    }

    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        tokio::select! {
            () = sleep(time) => Ok(()),
            stop = self.stopped() => Err(stop),
        }
    }

    /// Waits for the end of the turn's time, or for somebody who ends it.
    async fn stopped(&mut self) -> Stop {
        loop {
            match timeout_at(self.ends_at, self.control.recv()).await {
                Err(_) => {
                    let words = format!(
                        "the turn took longer than {} s and was interrupted",
                        self.time.as_secs_f32()
                    );
                    return Stop::Failed(BackendFailure::new(FailureKind::BackendFailed, words));
                }
                Ok(Some(Control::Interrupt)) => return Stop::Interrupted,
                Ok(Some(Control::Steer { words, taken })) => {
                    let detail = json!({ "words": words });
                    self.report(BackendEvent::Status { phase: "steered".into(), detail }).await;
                    self.heard.push(words);
                    let _asker_gone = taken.send(Ok(()));
                }
                Ok(None) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Looks whether somebody wants something, without waiting.
    fn heed(&mut self) -> Result<(), Stop> {
        self.stopped().now_or_never().map_or(Ok(()), Err)
    }
}

fn start(folder: &Path, command: &str, bounds: Bounds) -> std::io::Result<Child> {
    let path = SecretString::from("/usr/local/bin:/usr/bin:/bin");
    let mut child = Child::start(&Spec {
        program: Path::new("/bin/sh"),
        // As on a terminal: what goes wrong is printed too.
        arguments: &["-c", &format!("exec 2>&1\n{command}")],
        folder,
        environment: vec![("PATH".to_owned(), path)],
        bounds,
    })?;
    child.close_input();
    Ok(child)
}

/// Reports what a command prints while it runs, within a bound. Nothing beyond the bound is kept.
async fn read(child: &mut Child, output: &mut Output, sink: &Sink, call: &str) {
    let mut rest = Vec::new();
    while let Heard::Line(Line::Whole(piece)) = child.hear_piece().await {
        if let Some(text) = output.push(decode(&mut rest, &piece)) {
            sink.report(BackendEvent::ToolOutput { call: call.to_owned(), text }).await;
        }
    }
}

/// Returns the text of a piece; a letter that it cuts waits for the next.
fn decode(rest: &mut Vec<u8>, piece: &[u8]) -> String {
    rest.extend_from_slice(piece);
    let whole = match std::str::from_utf8(rest) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => rest.len(),
    };
    let bytes: Vec<u8> = rest.drain(..whole).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_comes_in_two_pieces_is_one() {
        let (mut rest, text) = (Vec::new(), "aé\u{1F600}z".as_bytes());
        for size in 1..text.len() {
            let read: String = text.chunks(size).map(|piece| decode(&mut rest, piece)).collect();
            assert_eq!(read.as_bytes(), text, "{size}");
        }
        assert_eq!(decode(&mut rest, b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
    }
}
