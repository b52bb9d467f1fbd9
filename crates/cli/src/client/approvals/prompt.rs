//! A question at the prompt of a terminal.

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::form::{AnswerContent, AnswerForm};
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::rule::RuleScopeKind;
use guildhall_protocol::rest::approvals::question::OptionBody;
use guildhall_protocol::rest::approvals::{ApprovalView, CastVote};
use guildhall_sdk::{Client, ClientError};

use super::choices::{Choices, TypedChoice};
use super::form_draft::{DraftStep, FormDraft};
use super::question_text::{QuestionDetail, format_question};
use crate::output::{Colour, sanitize_line};

/// A question that is shown, and waits for a typed answer.
pub(crate) struct AnswerPrompt {
    approval: ApprovalView,
    choices: Choices,
    colour: Colour,
    /// The values that are typed, for an option that answers.
    draft: Option<FormDraft>,
}

/// What follows a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PromptStep {
    /// Print this and prompt again.
    AskAgain(String),
    /// The server has the answer.
    Answered,
    /// The question is not asked here any more, for this reason.
    Closed(String),
}

impl AnswerPrompt {
    pub(crate) fn new(approval: ApprovalView, colour: Colour) -> Self {
        Self { choices: Choices::of(&approval.question.options), approval, colour, draft: None }
    }

    pub(crate) fn approval_id(&self) -> &str {
        &self.approval.approval_id
    }

    /// Returns the whole question, with the options if they are chosen by number.
    pub(crate) fn question(&self, detail: QuestionDetail) -> String {
        let options = self.choices.list().map_or(String::new(), |options| format!("\n{options}"));
        format!("\n{}\n{options}", format_question(&self.approval, detail, self.colour))
    }

    /// Returns the text before the cursor.
    pub(crate) fn text(&self) -> String {
        self.draft.as_ref().map_or_else(|| self.choices.prompt(), FormDraft::prompt)
    }

    /// Returns whether what is typed next is secret.
    pub(crate) fn hides_input(&self) -> bool {
        self.draft.as_ref().is_some_and(FormDraft::hides_input)
    }

    /// Handles a typed line, or the end of input.
    pub(crate) async fn handle_line(&mut self, client: &Client, line: Option<&str>) -> Result<PromptStep> {
        let Some(line) = line else {
            return Ok(PromptStep::Closed(format!("not answered; {}", answer_commands(&self.approval))));
        };
        if let Some(draft) = &mut self.draft {
            return match draft.take_line(line) {
                DraftStep::Ask(text) => Ok(PromptStep::AskAgain(text)),
                DraftStep::Send(option, content) => self.answer(client, &option, None, Some(content)).await,
            };
        }
        match self.choices.parse(line) {
            TypedChoice::Option(option) => match self.start_draft(&option) {
                Some(text) => Ok(PromptStep::AskAgain(text)),
                None => self.answer(client, &option, None, None).await,
            },
            TypedChoice::Remembered(option) => {
                self.answer(client, &option, Some(RuleScopeKind::Session), None).await
            }
            TypedChoice::Details => Ok(PromptStep::AskAgain(self.question(QuestionDetail::All))),
            TypedChoice::Unknown => Ok(PromptStep::AskAgain("this is not one of the answers".to_owned())),
        }
    }

    /// Starts to ask for the values of an option that answers. Returns what is shown first.
    fn start_draft(&mut self, option: &OptionBody) -> Option<String> {
        let schema = self.approval.question.answer_schema.as_ref();
        let form =
            AnswerForm::parse(schema.filter(|_| option.effect == OptionEffect::Answer.as_str())?).ok()?;
        let draft = self.draft.insert(FormDraft::new(option.clone(), form));
        Some(draft.text())
    }

    async fn answer(
        &self,
        client: &Client,
        option: &OptionBody,
        remember: Option<RuleScopeKind>,
        content: Option<AnswerContent>,
    ) -> Result<PromptStep> {
        let id = self.approval.approval_id.parse()?;
        let vote = CastVote {
            option_id: option.id.clone(),
            shown_digest: self.approval.shown_digest.clone(),
            remember: remember.map(|scope| scope.to_string()),
            content,
        };
        match client.vote(id, &vote).await {
            Ok(approval) if approval.status == "pending" => {
                Ok(PromptStep::Closed("your answer is counted; the question waits for others".to_owned()))
            }
            Ok(_decided) => Ok(PromptStep::Answered),
            Err(error) => after_refusal(error),
        }
    }
}

/// Returns what follows a vote that failed: a later one may succeed, the question is over, or the command fails.
fn after_refusal(error: ClientError) -> Result<PromptStep> {
    if error.is_transient() {
        return Ok(PromptStep::AskAgain(format!("{error}; the answer was not sent")));
    }
    match error.kind() {
        // It cannot be remembered.
        Some(FailureKind::SchemaInvalid) => Ok(PromptStep::AskAgain(sanitize_line(&error.to_string()))),
        Some(FailureKind::Conflict | FailureKind::Forbidden | FailureKind::NotFound) => {
            Ok(PromptStep::Closed(sanitize_line(&error.to_string())))
        }
        _ => Err(error.into()),
    }
}

/// Returns the commands that answer a question.
pub(crate) fn answer_commands(approval: &ApprovalView) -> String {
    let id = sanitize_line(&approval.approval_id);
    match Choices::of(&approval.question.options) {
        Choices::AllowOrDeny { .. } => format!(
            "`guildhall approvals allow {id}` allows it once, `guildhall approvals deny {id}` denies it"
        ),
        Choices::Numbered(_) if approval.question.answer_schema.is_some() => {
            format!("`guildhall approvals answer {id}` answers it, `guildhall approvals deny {id}` denies it")
        }
        Choices::Numbered(_) => format!(
            "`guildhall approvals show {id}` lists its options, `guildhall approvals allow {id} --option OPTION` chooses one"
        ),
    }
}

#[cfg(test)]
mod tests {
    use guildhall_protocol::problem::Problem;
    use serde_json::json;

    use super::super::question_text::tests::approval;
    use super::*;

    const PLAIN: [(&str, &str, &str); 2] = [("accept", "Allow once", "allow"), ("decline", "Deny", "deny")];

    fn prompt(options: &[(&str, &str, &str)]) -> AnswerPrompt {
        let action = json!({ "kind": "command", "tool": "shell", "arguments": { "command": "touch a" } });
        AnswerPrompt::new(approval(action, options), Colour::No)
    }

    async fn handle(line: Option<&str>) -> PromptStep {
        let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = Client::new("http://127.0.0.1:9").expect("a client");
        prompt(&PLAIN).handle_line(&client, line).await.expect("a step")
    }

    #[tokio::test]
    async fn details_and_typing_errors_send_nothing_and_ask_again() {
        let PromptStep::AskAgain(details) = handle(Some("d\n")).await else { panic!("no details") };
        assert!(details.contains("digest          5aa49e43"), "{details}");
        assert_eq!(
            handle(Some("\n")).await,
            PromptStep::AskAgain("this is not one of the answers".to_owned())
        );
    }

    #[tokio::test]
    async fn end_of_input_leaves_the_question_open() {
        let id = "apr_01920000000070008000000000000001";
        let expected = format!(
            "not answered; `guildhall approvals allow {id}` allows it once, `guildhall approvals deny {id}` denies it"
        );
        assert_eq!(handle(None).await, PromptStep::Closed(expected));
    }

    #[test]
    fn question_has_a_list_of_options_only_if_they_are_chosen_by_number() {
        let plain = prompt(&PLAIN).question(QuestionDetail::Question);
        assert!(plain.ends_with("\n\ntouch a\n"), "{plain}");
        let several = [PLAIN[0], ("all", "Allow all", "allow"), PLAIN[1]];
        let several = prompt(&several).question(QuestionDetail::Question);
        assert!(
            several.ends_with("touch a\n\n  1  Allow once (allow)\n  2  Allow all (allow)\n  3  Deny (deny)"),
            "{several}"
        );
    }

    #[test]
    fn lost_race_closes_the_question_and_says_who_won() {
        let problem = |kind: &str, retry: &str| {
            let problem: Problem = serde_json::from_value(json!({
                "type": "about:blank", "title": "t", "status": 409, "detail": "already answered with `decline` by prn_1",
                "failureKind": kind, "message": "m", "retry": retry, "traceId": "t",
            }))
            .expect("a problem");
            after_refusal(ClientError::Failed(Box::new(problem)))
        };
        let won = "already answered with `decline` by prn_1".to_owned();
        assert_eq!(problem("conflict", "never").expect("a step"), PromptStep::Closed(won.clone()));
        assert_eq!(
            problem("not-ready", "later").expect("a step"),
            PromptStep::AskAgain(format!("{won}; the answer was not sent"))
        );
        assert!(problem("unauthenticated", "never").is_err());
    }
}
