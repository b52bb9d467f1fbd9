//! Questions of a backend to people, and their answers.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::{FutureExt, select_all};
use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::question::{Action, AnswerOption, OptionEffect, Question, QuestionKind};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A question that waits for an answer. Without one, the reply is dropped, and the backend declines.
#[derive(Debug)]
pub struct PendingQuestion {
    /// The backend's own id of the request.
    pub request: String,
    /// The tool call that waits for the answer, by the id in its events.
    pub call: Option<String>,
    pub question: Question,
    pub reply: oneshot::Sender<AnswerDelivery>,
}

/// An answer that was taken for the process that asked, and for no other.
#[derive(Debug)]
pub struct AnswerDelivery {
    /// The id of the chosen option.
    pub option: String,
    /// The values, for an option that answers.
    pub content: Option<AnswerContent>,
    /// Told when the process has got the answer.
    pub delivered: oneshot::Sender<()>,
}

impl AnswerDelivery {
    /// Returns the option, the values, and whom to tell; nothing without an answer.
    pub(super) fn parts(
        answer: Option<Self>,
    ) -> (Option<String>, Option<AnswerContent>, Option<oneshot::Sender<()>>) {
        match answer {
            Some(Self { option, content, delivered }) => (Some(option), content, Some(delivered)),
            None => (None, None, None),
        }
    }
}

/// Returns an option that changes no mode.
pub(super) fn answer_option(id: &str, label: &str, effect: OptionEffect) -> AnswerOption {
    AnswerOption { id: id.to_owned(), label: label.to_owned(), effect, changes_mode: false }
}

/// Returns an action of a tool without anything else.
pub(super) fn empty_action(kind: QuestionKind, tool: &str) -> Action {
    Action {
        kind,
        tool: tool.to_owned(),
        arguments: None,
        working_dir: None,
        environment: None,
        lifts: BTreeSet::new(),
        changes: Vec::new(),
    }
}

/// The questions of a turn that wait for an answer, each with what the backend needs for its reply.
#[derive(Debug)]
pub(super) struct OpenQuestions<T> {
    waiting: Vec<(T, oneshot::Receiver<AnswerDelivery>)>,
    waiting_since: Option<Instant>,
    waited: Duration,
}

impl<T> OpenQuestions<T> {
    pub(super) const fn new() -> Self {
        Self { waiting: Vec::new(), waiting_since: None, waited: Duration::ZERO }
    }

    pub(super) fn add(&mut self, context: T, answer: oneshot::Receiver<AnswerDelivery>) {
        self.waiting.push((context, answer));
        self.waiting_since.get_or_insert_with(Instant::now);
    }

    /// Waits for the next answer; none if the question gets no answer. Never returns without a question. Cancel safe.
    pub(super) async fn next(&mut self) -> (T, Option<AnswerDelivery>) {
        if self.waiting.is_empty() {
            return std::future::pending().await;
        }
        let answers = self.waiting.iter_mut().map(|(_, answer)| answer.boxed());
        let (answer, index, _) = select_all(answers).await;
        let (context, _) = self.waiting.swap_remove(index);
        self.stop_clock();
        (context, answer.ok())
    }

    /// Returns what the questions were added with. Their answers are not waited for any more.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let all = self.waiting.drain(..).map(|(context, _)| context).collect();
        self.stop_clock();
        all
    }

    fn stop_clock(&mut self) {
        if self.waiting.is_empty() {
            self.waited += self.waiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns how long the backend has waited for people. That time does not count for the limits of a turn.
    pub(super) fn waited(&self) -> Duration {
        self.waited + self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_arrive_by_question_and_only_waiting_time_is_counted() {
        let mut questions = OpenQuestions::new();
        let (first, second) = (oneshot::channel(), oneshot::channel::<AnswerDelivery>());
        questions.add("first", first.1);
        questions.add("second", second.1);
        drop(second.0);
        assert!(matches!(questions.next().await, ("second", None)));
        let (delivered, _confirmed) = oneshot::channel();
        first
            .0
            .send(AnswerDelivery { option: "yes".to_owned(), content: None, delivered })
            .expect("the turn waits");
        let (context, answer) = questions.next().await;
        assert_eq!((context, answer.map(|answer| answer.option)), ("first", Some("yes".to_owned())));
        let waited = questions.waited();
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(questions.is_empty() && waited > Duration::ZERO);
        assert_eq!(questions.waited(), waited, "the clock has stopped");
    }
}
