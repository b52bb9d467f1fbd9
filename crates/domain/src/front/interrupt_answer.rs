//! Answers of applications to the questions of agents.

use crate::approvals::form::AnswerContent;
use crate::approvals::question::{AnswerOption, OptionEffect, Question};

/// An answer of an application to an interrupt. Standard clients send `approved` alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterruptAnswer {
    pub approved: Option<bool>,
    /// One of the question's options.
    pub option: Option<String>,
    /// The values of the question's form.
    pub content: Option<AnswerContent>,
    /// The digest of what was shown, in hex. None: what the interrupt showed.
    pub shown_digest: Option<String>,
}

/// Why an answer chooses no option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInterruptAnswer {
    #[error("the question has no option `{0}`")]
    UnknownOption(String),
    #[error("`approved` and the option `{0}` say the opposite")]
    Contradiction(String),
    #[error("several options allow it: choose one of {0} with `optionId`")]
    Ambiguous(String),
    #[error("no option of the question allows anything: answer with `content`, or with `approved: false`")]
    NothingToAllow,
    #[error("the question takes no values: answer with `approved` or `optionId`")]
    NoForm,
    #[error("the answer needs `approved`, `optionId` or `content`")]
    Empty,
}

impl InterruptAnswer {
    /// The answer of a person who closed the question without one: it allows nothing.
    #[must_use]
    pub fn denial() -> Self {
        Self { approved: Some(false), ..Self::default() }
    }

    /// Returns the option that the answer chooses.
    pub fn choose<'a>(&self, question: &'a Question) -> Result<&'a AnswerOption, InvalidInterruptAnswer> {
        if let Some(id) = &self.option {
            let option = question.option(id);
            let option = option.ok_or_else(|| InvalidInterruptAnswer::UnknownOption(id.clone()))?;
            let is_denial = option.effect == OptionEffect::Deny;
            return match self.approved {
                Some(approved) if approved == is_denial => {
                    Err(InvalidInterruptAnswer::Contradiction(id.clone()))
                }
                Some(_) | None => Ok(option),
            };
        }
        let denial = || question.denial().ok_or(InvalidInterruptAnswer::Empty);
        match (self.approved, &self.content) {
            (Some(false), None) => denial(),
            (Some(false), Some(_)) => Err(InvalidInterruptAnswer::Contradiction("content".to_owned())),
            (Some(true) | None, Some(_)) => {
                the_only(question, OptionEffect::Answer)?.ok_or(InvalidInterruptAnswer::NoForm)
            }
            (Some(true), None) => {
                the_only(question, OptionEffect::Allow)?.ok_or(InvalidInterruptAnswer::NothingToAllow)
            }
            (None, None) => Err(InvalidInterruptAnswer::Empty),
        }
    }
}

/// Returns the option with an effect, if it is the only one.
fn the_only(
    question: &Question,
    effect: OptionEffect,
) -> Result<Option<&AnswerOption>, InvalidInterruptAnswer> {
    let found: Vec<&AnswerOption> =
        question.options.iter().filter(|option| option.effect == effect).collect();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        several => {
            let ids: Vec<String> = several.iter().map(|option| format!("`{}`", option.id)).collect();
            Err(InvalidInterruptAnswer::Ambiguous(ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::approvals::question::{Action, QuestionKind};

    fn question(options: &[(&str, OptionEffect)]) -> Question {
        let option = |(id, effect): &(&str, OptionEffect)| AnswerOption {
            id: (*id).to_owned(),
            label: (*id).to_owned(),
            effect: *effect,
            changes_mode: false,
        };
        Question {
            action: Action {
                kind: QuestionKind::Command,
                tool: "shell".to_owned(),
                arguments: Some(json!({ "command": "rm -r build" })),
                working_dir: None,
                environment: None,
                lifts: BTreeSet::new(),
                changes: Vec::new(),
            },
            options: options.iter().map(option).collect(),
            reason: None,
            answer_schema: None,
        }
    }

    fn choose(answer: &InterruptAnswer, question: &Question) -> Result<String, InvalidInterruptAnswer> {
        answer.choose(question).map(|option| option.id.clone())
    }

    #[test]
    fn approved_chooses_the_only_option_that_allows() {
        let question = question(&[("yes", OptionEffect::Allow), ("no", OptionEffect::Deny)]);
        let approved = |approved| InterruptAnswer { approved: Some(approved), ..InterruptAnswer::default() };
        assert_eq!(choose(&approved(true), &question), Ok("yes".to_owned()));
        assert_eq!(choose(&approved(false), &question), Ok("no".to_owned()));
        assert_eq!(choose(&InterruptAnswer::denial(), &question), Ok("no".to_owned()));
        assert_eq!(choose(&InterruptAnswer::default(), &question), Err(InvalidInterruptAnswer::Empty));
    }

    #[test]
    fn several_options_that_allow_need_a_choice() {
        let question = question(&[
            ("plan", OptionEffect::Allow),
            ("edit", OptionEffect::Allow),
            ("no", OptionEffect::Deny),
        ]);
        let mut answer = InterruptAnswer { approved: Some(true), ..InterruptAnswer::default() };
        let ambiguous = InvalidInterruptAnswer::Ambiguous("`plan`, `edit`".to_owned());
        assert_eq!(choose(&answer, &question), Err(ambiguous));
        answer.option = Some("edit".to_owned());
        assert_eq!(choose(&answer, &question), Ok("edit".to_owned()));
        answer.option = Some("other".to_owned());
        assert_eq!(
            choose(&answer, &question),
            Err(InvalidInterruptAnswer::UnknownOption("other".to_owned()))
        );
    }

    #[test]
    fn contradictory_answers_choose_nothing() {
        let question = question(&[("yes", OptionEffect::Allow), ("no", OptionEffect::Deny)]);
        for (approved, option) in [(true, "no"), (false, "yes")] {
            let answer = InterruptAnswer {
                approved: Some(approved),
                option: Some(option.to_owned()),
                ..InterruptAnswer::default()
            };
            let contradiction = InvalidInterruptAnswer::Contradiction(option.to_owned());
            assert_eq!(choose(&answer, &question), Err(contradiction));
        }
        let content = InterruptAnswer {
            approved: Some(false),
            content: Some(AnswerContent::default()),
            ..InterruptAnswer::default()
        };
        let contradiction = InvalidInterruptAnswer::Contradiction("content".to_owned());
        assert_eq!(choose(&content, &question), Err(contradiction));
    }

    #[test]
    fn values_choose_the_option_that_answers() {
        let values =
            InterruptAnswer { content: Some(AnswerContent::default()), ..InterruptAnswer::default() };
        let form = question(&[("send", OptionEffect::Answer), ("no", OptionEffect::Deny)]);
        assert_eq!(choose(&values, &form), Ok("send".to_owned()));
        let approved = InterruptAnswer { approved: Some(true), ..InterruptAnswer::default() };
        assert_eq!(choose(&approved, &form), Err(InvalidInterruptAnswer::NothingToAllow));
        let command = question(&[("yes", OptionEffect::Allow), ("no", OptionEffect::Deny)]);
        assert_eq!(choose(&values, &command), Err(InvalidInterruptAnswer::NoForm));
    }
}
