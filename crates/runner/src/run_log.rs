//! The runner's log. Its lines go to standard error, and while a run is served also to the events of that run.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Lines that wait to become events. Further ones are only on standard error.
const CAPACITY: usize = 64;

/// Lines of one run. Further ones are only on standard error.
const MAX_LINES: usize = 500;

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 2000;

/// The run that this process serves. It serves one at a time.
static CURRENT_RUN: Mutex<Option<mpsc::Sender<LogLine>>> = Mutex::new(None);

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub level: &'static str,
    pub message: String,
}

/// Starts the log. `RUST_LOG` selects its lines; by default those of level `info` and above.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(false);
    // Fails only if another log is started already.
    let _already_started =
        tracing_subscriber::registry().with(lines.with_filter(filter)).with(RunLogLayer).try_init();
}

/// Receives the lines until it is dropped.
#[derive(Debug)]
pub struct RunLog {
    lines: mpsc::Receiver<LogLine>,
    received: usize,
}

impl RunLog {
    /// Starts to receive lines. A receiver that was opened before gets no more.
    #[must_use]
    pub fn open() -> Self {
        let (sender, lines) = mpsc::channel(CAPACITY);
        *CURRENT_RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Self { lines, received: 0 }
    }

    /// Returns the next line, or none after the last line of the run.
    pub async fn next(&mut self) -> Option<LogLine> {
        if self.received >= MAX_LINES {
            return None;
        }
        self.received += 1;
        self.lines.recv().await
    }
}

/// Sends lines to the run that is served.
struct RunLogLayer;

impl<S: Subscriber> Layer<S> for RunLogLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        // A line about an event that cannot be sent must not become an event.
        let is_of_pump = metadata.target().starts_with("guildhall_runner::pump");
        let is_own = metadata.target().starts_with("guildhall_") && !is_of_pump;
        if !is_own || *metadata.level() > Level::INFO {
            return;
        }
        if let Some(sender) = &*CURRENT_RUN.lock().unwrap_or_else(PoisonError::into_inner) {
            let mut line = EventText::default();
            event.record(&mut line);
            let level = match *metadata.level() {
                Level::ERROR => "error",
                Level::WARN => "warn",
                _ => "info",
            };
            let _full_or_closed = sender.try_send(LogLine { level, message: line.finish() });
        }
    }
}

/// The message and the fields of an event, as text.
#[derive(Debug, Default)]
struct EventText {
    message: String,
    fields: String,
}

impl EventText {
    fn finish(self) -> String {
        let mut text = self.message + &self.fields;
        text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
        text
    }
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _writing_to_a_string_succeeds = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug, info, warn};

    use super::*;

    // One test, because the receiver is of the whole process.
    #[tokio::test]
    async fn run_gets_the_lines_of_the_runner_and_nothing_else() {
        let subscriber = tracing_subscriber::registry().with(RunLogLayer);
        let mut log = RunLog::open();
        tracing::subscriber::with_default(subscriber, || {
            info!(file = "a.txt", "read {}", 1);
            debug!("not for users");
            warn!(target: "guildhall_runner::pump::event_pump", "cannot send");
            warn!(target: "hyper", "of a library");
            warn!("{}", "é".repeat(MAX_LINE_BYTES));
            for number in 0..CAPACITY * 2 {
                info!("{number}");
            }
        });
        let line = |level, message: &str| Some(LogLine { level, message: message.to_owned() });
        assert_eq!(log.next().await, line("info", "read 1 file=\"a.txt\""));
        assert_eq!(log.next().await, line("warn", &"é".repeat(MAX_LINE_BYTES / 2)));
        for number in 0..CAPACITY - 2 {
            assert_eq!(
                log.next().await,
                line("info", &number.to_string()),
                "a full buffer keeps the first lines"
            );
        }
        let _next = RunLog::open();
        assert_eq!(log.next().await, None, "the next run has its own");
    }
}
