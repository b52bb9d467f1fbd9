//! The values of a form, as a person types them: field by field, and sent only after a look at all of them.

use guildhall_domain::approvals::form::{AnswerContent, AnswerForm, FieldProblem};
use guildhall_domain::approvals::form_field::{Choice, FieldKind, FormField};
use guildhall_protocol::rest::approvals::question::OptionBody;
use serde_json::Value;

use super::form_text::{format_value, shown_text};

/// An answer that is being typed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormDraft {
    option: OptionBody,
    form: AnswerForm,
    content: AnswerContent,
    /// The field that is typed next; all are typed when it is past the last.
    next: usize,
}

/// What follows a typed line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DraftStep {
    /// Print this and prompt again.
    Ask(String),
    /// Send these values with this option.
    Send(OptionBody, AnswerContent),
}

impl FormDraft {
    pub(super) fn new(option: OptionBody, form: AnswerForm) -> Self {
        Self { option, form, content: AnswerContent::default(), next: 0 }
    }

    fn field(&self) -> Option<&FormField> {
        self.form.fields().get(self.next)
    }

    /// Returns what is shown before the prompt: the field with its choices, or all values.
    pub(super) fn text(&self) -> String {
        match self.field() {
            Some(field) => field_text(field),
            None => self.review(),
        }
    }

    /// Returns the text before the cursor.
    pub(super) fn prompt(&self) -> String {
        let Some(field) = self.field() else {
            return "Send this answer? y sends it, n starts again: ".to_owned();
        };
        let default = field.kind.default_value().map(|value| format!(" [{}]", format_value(&value)));
        let expected = match &field.kind {
            FieldKind::Choice { choices, .. } => format!("1 to {}", choices.len()),
            FieldKind::Choices { choices, .. } => format!("1 to {}, separated by commas", choices.len()),
            kind @ (FieldKind::Text { .. }
            | FieldKind::Number { .. }
            | FieldKind::Integer { .. }
            | FieldKind::Boolean { .. }) => kind.expected().to_owned(),
        };
        let optional = if field.is_required { "" } else { ", or nothing" };
        format!("{} ({expected}{optional}){}: ", shown_text(field.label()), default.unwrap_or_default())
    }

    /// Returns whether what is typed next is secret.
    pub(super) fn hides_input(&self) -> bool {
        self.field().is_some_and(|field| field.is_secret)
    }

    /// Takes a typed line.
    pub(super) fn take_line(&mut self, line: &str) -> DraftStep {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let Some(field) = self.field() else { return self.confirm(line) };
        match read_value(field, line) {
            Ok(value) => {
                let field = field.clone();
                if let Some(value) = value {
                    self.content.set(&field, value);
                }
                self.next += 1;
                DraftStep::Ask(self.text())
            }
            Err(problem) => DraftStep::Ask(problem.to_string()),
        }
    }

    fn confirm(&mut self, line: &str) -> DraftStep {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => DraftStep::Send(self.option.clone(), self.content.clone()),
            "n" | "no" => {
                (self.next, self.content) = (0, AnswerContent::default());
                DraftStep::Ask(self.text())
            }
            _ => DraftStep::Ask("this is neither y nor n".to_owned()),
        }
    }

    fn review(&self) -> String {
        let line = |field: &FormField| {
            let value = match self.content.get(&field.name) {
                None => "(nothing)".to_owned(),
                Some(_) if field.is_secret => "(hidden)".to_owned(),
                Some(value) => format_value(value),
            };
            format!("  {}: {value}", shown_text(field.label()))
        };
        let lines: Vec<String> = self.form.fields().iter().map(line).collect();
        format!("\nyour answer:\n{}", lines.join("\n"))
    }
}

/// Returns the field as it is shown before its prompt.
fn field_text(field: &FormField) -> String {
    let mut lines = vec![String::new()];
    lines.extend(field.description.as_deref().map(shown_text));
    lines.extend(
        (1..)
            .zip(field.kind.choices())
            .map(|(number, choice)| format!("{number:>3}  {}", shown_text(choice.label()))),
    );
    lines.join("\n")
}

/// Reads a typed value. An empty line is the default, or no value.
fn read_value(field: &FormField, line: &str) -> Result<Option<Value>, FieldProblem> {
    if line.trim().is_empty() {
        return match field.kind.default_value() {
            None if field.is_required => Err(FieldProblem::Missing),
            default => Ok(default),
        };
    }
    match &field.kind {
        FieldKind::Choice { choices, .. } => {
            let choice = choice_by_number(choices, line).ok_or(FieldProblem::NotAChoice)?;
            field.parse_text(&choice.value).map(Some)
        }
        FieldKind::Choices { choices, .. } => {
            let chosen = line.split(',').map(|number| choice_by_number(choices, number));
            let chosen = chosen.collect::<Option<Vec<_>>>().ok_or(FieldProblem::NotAChoice)?;
            let value = chosen.into_iter().map(|choice| Value::from(choice.value.as_str())).collect();
            field.check(value).map(Some)
        }
        FieldKind::Text { .. }
        | FieldKind::Number { .. }
        | FieldKind::Integer { .. }
        | FieldKind::Boolean { .. } => field.parse_text(line).map(Some),
    }
}

fn choice_by_number<'a>(choices: &'a [Choice], line: &str) -> Option<&'a Choice> {
    choices.get(line.trim().parse::<usize>().ok()?.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft() -> FormDraft {
        let schema = json!({ "type": "object", "required": ["colour", "name"], "properties": {
            "colour": { "type": "string", "title": "Colour\u{1b}", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "b" }] },
            "count": { "type": "integer", "minimum": 1, "default": 2 },
            "name": { "type": "string", "description": "Of the file", "minLength": 2 },
            "parts": { "type": "array", "items": { "type": "string", "enum": ["x", "y"] } },
            "secret": { "type": "string", "writeOnly": true },
        } });
        let option = OptionBody {
            id: "ok".to_owned(),
            label: String::new(),
            effect: "answer".to_owned(),
            changes_mode: false,
        };
        FormDraft::new(option, AnswerForm::parse(&schema).expect("a form"))
    }

    fn type_lines(draft: &mut FormDraft, lines: &[&str]) -> Vec<String> {
        let step = |line: &&str| match draft.take_line(line) {
            DraftStep::Ask(text) => text,
            DraftStep::Send(option, content) => format!("{}: {}", option.id, content.to_json()),
        };
        lines.iter().map(step).collect()
    }

    #[test]
    fn fields_are_typed_one_by_one_and_sent_after_a_review() {
        let mut draft = draft();
        assert_eq!(draft.text(), "\n  1  Red\n  2  b");
        assert_eq!(draft.prompt(), "Colour\\u{1b} (1 to 2): ");
        let said = type_lines(&mut draft, &["2\n", "\n", "x\n", "note.md\n", "2, 1\n"]);
        assert_eq!(said[2], "the text must have at least 2 characters");
        assert_eq!((said[3].as_str(), draft.hides_input()), ("\n  1  x\n  2  y", true), "{said:?}");
        let said = type_lines(&mut draft, &["hunter2 \n"]);
        assert_eq!(
            said[0],
            "\nyour answer:\n  Colour\\u{1b}: b\n  count: 2\n  name: note.md\n  parts: y, x\n  secret: (hidden)"
        );
        assert!(!draft.hides_input());
        let sent = type_lines(&mut draft, &["what\n", "y\n"]);
        let expected =
            r#"ok: {"colour":"b","count":2,"name":"note.md","parts":["y","x"],"secret":"hunter2 "}"#;
        assert_eq!(sent, ["this is neither y nor n", expected]);
    }

    #[test]
    fn typing_errors_ask_for_the_same_field_again_and_n_starts_again() {
        let mut draft = draft();
        let said = type_lines(&mut draft, &["\n", "3\n", "Red\n", "1\n", "0\n", "many\n"]);
        let choice = "the value is not one of the choices";
        assert_eq!(said[..3], ["a value is required", choice, choice]);
        assert_eq!(said[4..], ["the value must be at least 1", "the value must be a whole number"]);
        type_lines(&mut draft, &["5\n", "ab\n", "\n", "\n"]);
        assert_eq!(draft.prompt(), "Send this answer? y sends it, n starts again: ");
        assert_eq!(type_lines(&mut draft, &["n\n"]), ["\n  1  Red\n  2  b"]);
        assert_eq!(draft.content, AnswerContent::default());
    }
}
