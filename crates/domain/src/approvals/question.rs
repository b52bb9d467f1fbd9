//! What an agent asks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::digest::{ActionDigest, ShownDigest};
use super::form::{AnswerForm, InvalidForm};
use super::link::link_host;
use crate::named_enum::named_enum;

named_enum! {
    /// What a question is about.
    QuestionKind, "question kind";
    Command = "command",
    FileChange = "file_change",
    Permissions = "permissions",
    McpTool = "mcp_tool",
    ToolCall = "tool_call",
    Plan = "plan",
    /// A question to the user, without an action.
    Question = "question",
    ElicitationForm = "elicitation_form",
    ElicitationUrl = "elicitation_url",
}

impl QuestionKind {
    /// Returns whether a tool acts if the answer allows it. The others only ask the user something.
    #[must_use]
    pub const fn uses_tool(self) -> bool {
        match self {
            Self::Command | Self::FileChange | Self::Permissions | Self::McpTool | Self::ToolCall => true,
            Self::Plan | Self::Question | Self::ElicitationForm | Self::ElicitationUrl => false,
        }
    }
}

named_enum! {
    /// What an option of an answer does.
    OptionEffect, "option effect";
    Allow = "allow",
    Deny = "deny",
    /// Gives the agent an answer, and allows nothing.
    Answer = "answer",
}

/// An option of an answer. It lasts once: the agent asks again the next time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerOption {
    /// Chosen by the agent.
    pub id: String,
    pub label: String,
    pub effect: OptionEffect,
    /// Whether it also changes the mode of the agent's session, such as from planning to editing.
    pub changes_mode: bool,
}

/// What would be executed: everything that changes its effect, and nothing else. Descriptions, titles, time limits and
/// ids are not part of it, because agents reword them when they ask again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    pub kind: QuestionKind,
    /// The name of the tool, with its server.
    pub tool: String,
    /// The arguments, whole. None if the agent does not give them: then no two actions are the same.
    pub arguments: Option<Value>,
    pub working_dir: Option<String>,
    /// The environment that the agent runs it in, where it has several.
    pub environment: Option<String>,
    /// What acceptance lifts, such as `sandbox`.
    pub lifts: BTreeSet<String>,
    pub changes: Vec<FileChange>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileChange {
    pub path: String,
    /// The diff, or the new text.
    pub text: String,
}

impl Action {
    /// Returns the digest; none if it is not known what would be executed.
    #[must_use]
    pub fn digest(&self) -> Option<ActionDigest> {
        if self.arguments.is_none() && self.changes.is_empty() {
            return None;
        }
        Some(ActionDigest::of(&json!(self)))
    }

    /// Returns the link that a person is asked to open, and its host; none if it is not a web address.
    #[must_use]
    pub fn link(&self) -> Option<(&str, &str)> {
        let arguments = self.arguments.as_ref().filter(|_| self.kind == QuestionKind::ElicitationUrl)?;
        let (link, host) = (arguments["url"].as_str()?, arguments["host"].as_str()?);
        (link_host(link).as_deref() == Some(host)).then_some((link, host))
    }
}

/// A question with everything that a voter sees.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    pub action: Action,
    pub options: Vec<AnswerOption>,
    /// The words of the agent, shown as such.
    pub reason: Option<String>,
    /// For questions with an option that answers: the JSON schema of the values.
    pub answer_schema: Option<Value>,
}

/// Why a question cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuestion {
    #[error("a question needs an option that denies")]
    NoDenial,
    #[error("two options have the same id")]
    RepeatedOption,
    #[error("a question has at most {} options", Question::MAX_OPTIONS)]
    TooManyOptions,
    #[error("a link must be a web address (http or https) with its host")]
    NotAWebLink,
    #[error("an option that answers needs a form, and a form needs such an option")]
    FormWithoutAnswer,
    #[error(transparent)]
    Form(#[from] InvalidForm),
}

impl Question {
    pub const MAX_OPTIONS: usize = 32;

    /// Checks the options, a link and a form. Every question can be denied, because expiry and an impossible quorum deny it.
    pub fn check(&self) -> Result<(), InvalidQuestion> {
        if self.options.len() > Self::MAX_OPTIONS {
            return Err(InvalidQuestion::TooManyOptions);
        }
        let ids: BTreeSet<&str> = self.options.iter().map(|option| option.id.as_str()).collect();
        if ids.len() != self.options.len() {
            return Err(InvalidQuestion::RepeatedOption);
        }
        if self.action.kind == QuestionKind::ElicitationUrl && self.action.link().is_none() {
            return Err(InvalidQuestion::NotAWebLink);
        }
        let answers = self.options.iter().any(|option| option.effect == OptionEffect::Answer);
        if self.form()?.is_some() != answers {
            return Err(InvalidQuestion::FormWithoutAnswer);
        }
        self.denial().map(drop).ok_or(InvalidQuestion::NoDenial)
    }

    /// Returns the form that an option which answers needs.
    pub fn form(&self) -> Result<Option<AnswerForm>, InvalidForm> {
        self.answer_schema.as_ref().map(AnswerForm::parse).transpose()
    }

    /// Returns the first option that denies.
    #[must_use]
    pub fn denial(&self) -> Option<&AnswerOption> {
        self.options.iter().find(|option| option.effect == OptionEffect::Deny)
    }

    /// Finds an option by the id that the agent gave it. Labels and positions are not unique.
    #[must_use]
    pub fn option(&self, id: &str) -> Option<&AnswerOption> {
        self.options.iter().find(|option| option.id == id)
    }

    /// Returns the option that may be chosen without a person who reads the options: the only one that allows, if it
    /// does nothing else. A plan and a question to the user need a person.
    #[must_use]
    pub fn plain_allowance(&self) -> Option<&AnswerOption> {
        let acts = match self.action.kind {
            QuestionKind::Command
            | QuestionKind::FileChange
            | QuestionKind::Permissions
            | QuestionKind::McpTool
            | QuestionKind::ToolCall => true,
            QuestionKind::Plan
            | QuestionKind::Question
            | QuestionKind::ElicitationForm
            | QuestionKind::ElicitationUrl => false,
        };
        let mut allowing = self.options.iter().filter(|option| option.effect == OptionEffect::Allow);
        match (allowing.next(), allowing.next()) {
            (Some(only), None) if acts && !only.changes_mode => Some(only),
            _ => None,
        }
    }

    #[must_use]
    pub fn shown_digest(&self) -> ShownDigest {
        ShownDigest::of(&json!(self))
    }
}

/// Returns the arguments of a tool as people read them: the command, if it is the only argument, or else JSON.
#[must_use]
pub fn arguments_text(arguments: &Value) -> String {
    let only = arguments.as_object().filter(|arguments| arguments.len() == 1);
    match only.and_then(|arguments| arguments.get("command")?.as_str()) {
        Some(command) => command.to_owned(),
        None => format!("{arguments:#}"),
    }
}

/// Returns whether the text of a file change is a diff. A new text may have lines that start like those of a diff.
#[must_use]
pub fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@"))
}

/// Makes the characters of a text visible that a reader does not see, or that change what they see: controls,
/// directions, and characters without a width. Lines and tabs stay.
#[must_use]
pub fn show_hidden_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_hidden(character: char) -> bool {
    let is_line_or_tab = matches!(character, '\n' | '\t');
    let has_no_width = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0000}'..='\u{e0fff}');
    !is_line_or_tab && (character.is_control() || has_no_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, effect: OptionEffect, changes_mode: bool) -> AnswerOption {
        AnswerOption { id: id.to_owned(), label: id.to_owned(), effect, changes_mode }
    }

    fn question(options: Vec<AnswerOption>) -> Question {
        let action = Action {
            kind: QuestionKind::Command,
            tool: "shell".to_owned(),
            arguments: Some(json!({ "command": "touch a" })),
            working_dir: Some("/work".to_owned()),
            environment: None,
            lifts: BTreeSet::new(),
            changes: Vec::new(),
        };
        Question { action, options, reason: None, answer_schema: None }
    }

    fn plain() -> Question {
        question(vec![option("yes", OptionEffect::Allow, false), option("no", OptionEffect::Deny, false)])
    }

    #[test]
    fn reworded_question_has_the_same_action() {
        let (first, mut second) = (plain(), plain());
        second.reason = Some("please".to_owned());
        assert_eq!(first.action.digest(), second.action.digest());
        assert_ne!(first.shown_digest(), second.shown_digest());
    }

    #[test]
    fn everything_that_executes_is_part_of_the_action() {
        let original = plain().action;
        let changed = |change: fn(&mut Action)| {
            let mut action = original.clone();
            change(&mut action);
            action.digest()
        };
        let digests = [
            original.digest(),
            changed(|action| action.kind = QuestionKind::ToolCall),
            changed(|action| action.tool = "shell2".to_owned()),
            changed(|action| action.arguments = Some(json!({ "command": "touch b" }))),
            changed(|action| action.working_dir = Some("/".to_owned())),
            changed(|action| action.environment = Some("host".to_owned())),
            changed(|action| action.lifts = ["sandbox".to_owned()].into()),
            changed(|action| {
                action.changes = vec![FileChange { path: "a".to_owned(), text: "+1".to_owned() }];
            }),
        ];
        let distinct: BTreeSet<_> = digests.iter().flatten().collect();
        assert_eq!(distinct.len(), digests.len());
    }

    #[test]
    fn action_without_arguments_has_no_digest() {
        let mut action = plain().action;
        action.arguments = None;
        assert_eq!(action.digest(), None);
    }

    #[test]
    fn question_needs_unique_options_and_a_denial() {
        assert_eq!(plain().check(), Ok(()));
        let without_denial = question(vec![option("yes", OptionEffect::Allow, false)]);
        assert_eq!(without_denial.check(), Err(InvalidQuestion::NoDenial));
        let repeated =
            question(vec![option("x", OptionEffect::Allow, false), option("x", OptionEffect::Deny, false)]);
        assert_eq!(repeated.check(), Err(InvalidQuestion::RepeatedOption));
        let many = (0..33).map(|number| option(&number.to_string(), OptionEffect::Deny, false)).collect();
        assert_eq!(question(many).check(), Err(InvalidQuestion::TooManyOptions));
    }

    #[test]
    fn only_one_plain_option_allows_without_a_person() {
        let ids = |question: &Question| question.plain_allowance().map(|option| option.id.clone());
        assert_eq!(ids(&plain()), Some("yes".to_owned()));
        let mut two = plain();
        two.options.push(option("yes-to-all", OptionEffect::Allow, false));
        assert_eq!(ids(&two), None, "somebody must choose");
        let mode =
            question(vec![option("yes", OptionEffect::Allow, true), option("no", OptionEffect::Deny, false)]);
        assert_eq!(ids(&mode), None, "it changes the mode");
        for kind in [QuestionKind::Plan, QuestionKind::Question] {
            let mut asked = plain();
            asked.action.kind = kind;
            assert_eq!(ids(&asked), None, "{kind}");
        }
    }

    #[test]
    fn option_that_answers_needs_a_form_and_the_other_way_round() {
        let schema = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
        let (answer, deny) =
            (option("ok", OptionEffect::Answer, false), option("no", OptionEffect::Deny, false));
        let asked = |options: &[&AnswerOption], schema: Option<&Value>| {
            let question = question(options.iter().map(|option| (*option).clone()).collect());
            Question { answer_schema: schema.cloned(), ..question }.check()
        };
        assert_eq!(asked(&[&answer, &deny], Some(&schema)), Ok(()));
        assert_eq!(asked(&[&answer, &deny], None), Err(InvalidQuestion::FormWithoutAnswer));
        assert_eq!(asked(&[&deny], Some(&schema)), Err(InvalidQuestion::FormWithoutAnswer));
        let other = json!({ "type": "object", "properties": { "x": { "type": "object" } } });
        let refused = InvalidQuestion::Form(InvalidForm::Field("x".to_owned()));
        assert_eq!(asked(&[&answer, &deny], Some(&other)), Err(refused));
    }

    #[test]
    fn question_about_a_link_needs_a_web_address_with_its_own_host() {
        let check = |arguments: Value| {
            let mut asked = plain();
            (asked.action.kind, asked.action.arguments) = (QuestionKind::ElicitationUrl, Some(arguments));
            asked.check()
        };
        assert_eq!(check(json!({ "host": "example.org", "url": "https://example.org/x" })), Ok(()));
        for invalid in [
            json!({ "host": "example.org", "url": "https://evil.example/example.org" }),
            json!({ "host": "", "url": "javascript:alert(1)" }),
            json!({ "url": "https://example.org" }),
            json!(null),
        ] {
            assert_eq!(check(invalid.clone()), Err(InvalidQuestion::NotAWebLink), "{invalid}");
        }
    }

    #[test]
    fn arguments_are_shown_as_a_command_or_whole() {
        assert_eq!(arguments_text(&json!({ "command": "touch a\n" })), "touch a\n");
        for whole in [json!({ "command": "a", "timeout": 1 }), json!({ "command": ["a", "b"] }), json!("a")] {
            assert_eq!(serde_json::from_str::<Value>(&arguments_text(&whole)).expect("JSON"), whole);
        }
        assert!(is_diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"));
        assert!(!is_diff("+ a list\n- of things"));
    }

    #[test]
    fn hidden_characters_are_shown_and_the_rest_is_unchanged() {
        assert_eq!(show_hidden_characters("rm\u{202e} -rf\u{200b} /\r"), "rm\\u{202e} -rf\\u{200b} /\\u{d}");
        assert_eq!(show_hidden_characters("a\u{e0041}\u{1b}[2J"), "a\\u{e0041}\\u{1b}[2J");
        let plain = "echo 'Grüße, 世界'\n\t# ok";
        assert_eq!(show_hidden_characters(plain), plain);
        let long = format!("{}; rm -rf ~", "echo x; ".repeat(512));
        assert_eq!(show_hidden_characters(&long), long, "nothing is cut");
    }
}
