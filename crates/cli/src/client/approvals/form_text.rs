//! The fields of a form, and values for them on the command line.

use std::io::{Read, stdin};

use anyhow::{Context, Result};
use guildhall_domain::approvals::form::{AnswerContent, AnswerForm, InvalidContent};
use guildhall_domain::approvals::form_field::{FieldKind, FormField};
use guildhall_domain::approvals::question::show_hidden_characters;
use serde_json::Value;

use crate::error::UsageError;
use crate::output::sanitize_line;

/// Returns a text of an agent on one line, with hidden characters made visible.
pub(super) fn shown_text(text: &str) -> String {
    sanitize_line(&show_hidden_characters(text))
}

/// Returns a value as people read it.
pub(super) fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => shown_text(text),
        Value::Array(values) => values.iter().map(format_value).collect::<Vec<_>>().join(", "),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Formats the fields of a form: name, what it accepts, and the words of who asks.
pub(super) fn format_form(form: &AnswerForm) -> String {
    let lines: Vec<String> = form.fields().iter().map(format_field).collect();
    format!("fields of the answer:\n{}", lines.join("\n"))
}

fn format_field(field: &FormField) -> String {
    let mut notes = vec![if field.is_required { "required" } else { "optional" }.to_owned()];
    notes.extend(field.is_secret.then(|| "secret".to_owned()));
    notes.push(match &field.kind {
        FieldKind::Choice { choices, .. } => format!("one of {}", choice_values(choices)),
        FieldKind::Choices { choices, .. } => format!("some of {}", choice_values(choices)),
        kind @ (FieldKind::Text { .. }
        | FieldKind::Number { .. }
        | FieldKind::Integer { .. }
        | FieldKind::Boolean { .. }) => kind.expected().to_owned(),
    });
    notes.extend(field.kind.default_value().map(|value| format!("default {}", format_value(&value))));
    if let FieldKind::Text { suggestions, .. } = &field.kind
        && !suggestions.is_empty()
    {
        let suggestions: Vec<String> = suggestions.iter().map(|text| shown_text(text)).collect();
        notes.push(format!("such as {}", suggestions.join(", ")));
    }
    let words = [field.title.as_deref(), field.description.as_deref()];
    let words: Vec<String> = words.into_iter().flatten().map(shown_text).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(" - ")) };
    format!("  {} ({}){words}", shown_text(&field.name), notes.join(", "))
}

fn choice_values(choices: &[guildhall_domain::approvals::form_field::Choice]) -> String {
    let values: Vec<String> = choices
        .iter()
        .map(|choice| match &choice.title {
            Some(title) => format!("{} ({})", shown_text(&choice.value), shown_text(title)),
            None => shown_text(&choice.value),
        })
        .collect();
    values.join(", ")
}

/// Reads the values of `--field NAME=VALUE`.
pub(super) fn read_fields(form: &AnswerForm, fields: &[String]) -> Result<AnswerContent> {
    let mut content = AnswerContent::default();
    for given in fields {
        let (name, value) = given
            .split_once('=')
            .ok_or_else(|| anyhow::anyhow!("--field needs NAME=VALUE, such as --field colour=red"))?;
        let field = form.field(name).ok_or_else(|| {
            anyhow::anyhow!("the form has no field {name:?}; `guildhall approvals show` lists them")
        })?;
        let value = field.parse_text(value).map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
        content.set(field, value);
    }
    check(form, content)
}

/// Reads the values of `--content JSON`; `-` reads them from standard input.
pub(super) fn read_content(form: &AnswerForm, json: &str) -> Result<AnswerContent> {
    let mut text = json.to_owned();
    if json == "-" {
        text.clear();
        let limit = AnswerContent::MAX_BYTES as u64 + 1;
        stdin().take(limit).read_to_string(&mut text).context("cannot read the values")?;
    }
    // The error of the parser would repeat a part of the values.
    let content = serde_json::from_str(&text).map_err(|_| UsageError("--content needs a JSON object"))?;
    check(form, content)
}

fn check(form: &AnswerForm, content: AnswerContent) -> Result<AnswerContent> {
    match form.check(&content) {
        Ok(()) => Ok(content),
        Err(InvalidContent::Field { name, problem }) => {
            Err(anyhow::anyhow!("{}: {problem}", shown_text(&name)))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> AnswerForm {
        let schema = json!({ "type": "object", "required": ["colour"], "properties": {
            "colour": { "type": "string", "title": "Colour\u{202e}", "enum": ["red", "blue"], "default": "red" },
            "count": { "type": "integer", "description": "How many?" },
            "text": { "type": "string", "examples": ["a", "b"] },
            "token": { "type": "string", "writeOnly": true, "format": "email" },
        } });
        AnswerForm::parse(&schema).expect("a form")
    }

    #[test]
    fn form_is_listed_with_what_each_field_accepts() {
        insta::assert_snapshot!(format_form(&form()), @r"
        fields of the answer:
          colour (required, one of red, blue, default red): Colour\u{202e}
          count (optional, a whole number): How many?
          text (optional, a text, such as a, b)
          token (optional, secret, an email address)
        ");
    }

    #[test]
    fn values_of_the_command_line_are_checked_by_field() {
        let read = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            read_fields(&form(), &fields).map(|content| content.to_json()).map_err(|error| error.to_string())
        };
        assert_eq!(read(&["colour=blue", "count=3"]), Ok(r#"{"colour":"blue","count":3}"#.to_owned()));
        assert_eq!(read(&["text=a=b", "colour=red"]), Ok(r#"{"colour":"red","text":"a=b"}"#.to_owned()));
        for (fields, error) in [
            (vec!["colour"], "--field needs NAME=VALUE, such as --field colour=red"),
            (vec!["size=1"], "the form has no field \"size\"; `guildhall approvals show` lists them"),
            (vec!["colour=green"], "colour: the value is not one of the choices"),
            (vec!["count=3"], "colour: a value is required"),
        ] {
            assert_eq!(read(&fields), Err(error.to_owned()));
        }
        assert!(read_content(&form(), r#"{ "colour": "red" }"#).is_ok());
        let secret = read_content(&form(), r#"{ "token": "hunter2"#).expect_err("not JSON").to_string();
        assert_eq!(secret, "--content needs a JSON object");
        let wrong =
            read_content(&form(), r#"{ "colour": "red", "token": "hunter2" }"#).expect_err("no address");
        assert_eq!(wrong.to_string(), "token: the value is not an email address");
    }
}
