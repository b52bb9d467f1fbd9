//! Asks the person at the terminal.

use std::io::{Write, stderr};
use std::time::Duration;

use guildhall_sdk::guard::{PromptAnswer, Prompts, ToolPrompt};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::texts::{Language, parse_answer};
use crate::client::approvals::terminal_input::discard_typed_input;
use crate::client::input_lines::InputLines;

/// After a question that was not answered, the next one is shown this much later: an answer to the first one may be on its way.
const PAUSE: Duration = Duration::from_secs(3);

/// Questions on the terminal, one after the other. The time of a question that waits for another one runs.
pub(super) struct TerminalPrompts {
    terminal: Mutex<Terminal>,
    language: Language,
    pause: Duration,
}

struct Terminal {
    lines: InputLines,
    /// No question is shown before.
    quiet_until: Instant,
}

/// A question on the terminal. Says that it is over when it is dropped before an answer.
struct OpenQuestion<'a> {
    quiet_until: &'a mut Instant,
    pause: Duration,
    language: Language,
    is_over: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            *self.quiet_until = Instant::now() + self.pause;
            eprintln!("\n{}", self.language.question_expired());
        }
    }
}

impl TerminalPrompts {
    pub(super) fn new(language: Language) -> Self {
        Self::with_lines(InputLines::start(), language, PAUSE)
    }

    fn with_lines(lines: InputLines, language: Language, pause: Duration) -> Self {
        let terminal = Mutex::new(Terminal { lines, quiet_until: Instant::now() });
        Self { terminal, language, pause }
    }

    /// Asks a question until it is answered; none at the end of input. What was typed before it was shown is no answer.
    pub(super) async fn confirm(&self, question: &str) -> Option<bool> {
        let mut terminal = self.terminal.lock().await;
        let Terminal { lines, quiet_until } = &mut *terminal;
        sleep_until(*quiet_until).await;
        // Also a line that is not complete.
        discard_typed_input();
        lines.discard();
        let mut open =
            OpenQuestion { quiet_until, pause: self.pause, language: self.language, is_over: false };
        loop {
            show(question);
            let answer = match lines.next().await {
                Ok(Some(line)) => parse_answer(&line).map(Some),
                Ok(None) | Err(_) => Some(None),
            };
            if let Some(answer) = answer {
                open.is_over = true;
                return answer;
            }
        }
    }
}

impl Prompts for TerminalPrompts {
    async fn ask(&self, prompt: ToolPrompt) -> PromptAnswer {
        match self.confirm(&self.language.call_question(&prompt)).await {
            Some(true) => PromptAnswer::Allow,
            Some(false) => PromptAnswer::Refuse,
            // Without input, nobody answers.
            None => std::future::pending().await,
        }
    }
}

fn show(question: &str) {
    let mut out = stderr().lock();
    // A terminal that is gone shows nothing, and answers nothing.
    let _shown = out.write_all(question.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn answer_to_an_expired_question_does_not_answer_the_next_one() {
        let (typed, lines) = InputLines::channel();
        let pause = Duration::from_millis(500);
        let prompts = TerminalPrompts::with_lines(lines, Language::En, pause);
        let first = async {
            assert!(timeout(Duration::from_millis(50), prompts.confirm("first? ")).await.is_err(), "expired");
            // The person has not seen that it has expired.
            tokio::time::sleep(Duration::from_millis(50)).await;
            typed.send(Ok("y".to_owned())).await.expect("read");
            tokio::time::sleep(pause + Duration::from_millis(500)).await;
            typed.send(Ok("n".to_owned())).await.expect("read");
        };
        let ((), second) = tokio::join!(first, prompts.confirm("second? "));
        assert_eq!(second, Some(false), "it was answered by the line for the first one");
        typed.send(Ok("y".to_owned())).await.expect("read");
        assert!(timeout(pause * 4, prompts.confirm("third? ")).await.is_err(), "typed before it was shown");
    }
}
