//! Asks the person at the terminal.

use std::io::{Write, stderr};

use guildhall_sdk::guard::{PromptAnswer, Prompts, ToolPrompt};
use tokio::sync::Mutex;

use super::texts::{Language, parse_answer};
use crate::client::input_lines::InputLines;

/// Questions on the terminal, one after the other. The time of a question that waits for another one runs.
pub(super) struct TerminalPrompts {
    lines: Mutex<InputLines>,
    language: Language,
}

/// Says that a question is over when it is dropped before an answer.
struct OpenQuestion {
    language: Language,
    is_answered: bool,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if !self.is_answered {
            eprintln!("\n{}", self.language.question_expired());
        }
    }
}

impl TerminalPrompts {
    pub(super) fn new(language: Language) -> Self {
        Self { lines: Mutex::new(InputLines::start()), language }
    }

    /// Asks a question until it is answered. What was typed before it was shown is no answer. Without input, nobody answers.
    pub(super) async fn confirm(&self, question: &str) -> bool {
        let mut lines = self.lines.lock().await;
        lines.discard();
        let mut open = OpenQuestion { language: self.language, is_answered: false };
        loop {
            show(question);
            let answer = match lines.next().await {
                Ok(Some(line)) => parse_answer(&line),
                Ok(None) | Err(_) => std::future::pending().await,
            };
            if let Some(answer) = answer {
                open.is_answered = true;
                return answer;
            }
        }
    }
}

impl Prompts for TerminalPrompts {
    async fn ask(&self, prompt: ToolPrompt) -> PromptAnswer {
        let is_allowed = self.confirm(&self.language.call_question(&prompt)).await;
        if is_allowed { PromptAnswer::Allow } else { PromptAnswer::Refuse }
    }
}

fn show(question: &str) {
    let mut out = stderr().lock();
    // A terminal that is gone shows nothing, and answers nothing.
    let _shown = out.write_all(question.as_bytes()).and_then(|()| out.flush());
}
