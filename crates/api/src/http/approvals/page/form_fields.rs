//! The fields of a form on the page: labelled inputs, and the values that a browser sends.

use guildhall_domain::approvals::form::{AnswerContent, AnswerForm, InvalidContent};
use guildhall_domain::approvals::form_field::{Choice, FieldKind, FormField, NumberRange, TextFormat};
use serde_json::Value;

use super::PageView;
use crate::edge::browser_caller::FormFields;
use crate::edge::html::Html;

/// Marks a form that has values.
pub(super) const VALUES: &str = "values";

/// The name of an input: the number of the field, because agents choose the names of fields freely.
fn input_name(index: usize) -> String {
    format!("field-{index}")
}

fn choice_name(index: usize, choice: usize) -> String {
    format!("field-{index}-{choice}")
}

/// Adds an input for each field, with the values that were sent before or the defaults.
pub(super) fn add_fields(html: &mut Html, view: &PageView<'_>, form: &AnswerForm) {
    html.markup("<input type=\"hidden\" name=\"values\" value=\"1\">\n");
    for (index, field) in form.fields().iter().enumerate() {
        let input = FieldInput { view, field, name: input_name(index), index };
        input.add(html);
    }
}

struct FieldInput<'a> {
    view: &'a PageView<'a>,
    field: &'a FormField,
    name: String,
    index: usize,
}

impl FieldInput<'_> {
    fn add(&self, html: &mut Html) {
        match &self.field.kind {
            FieldKind::Boolean { default } => {
                let sent = self.view.draft.map(|draft| draft.get(&self.name).is_some());
                html.markup("<label class=\"choice\">");
                self.add_checkbox(html, &self.name, "true", sent.unwrap_or(default.unwrap_or(false)));
                self.add_label(html, "<span>", "</span></label>\n");
            }
            FieldKind::Choices { choices, default, .. } => self.add_choices(html, choices, default),
            FieldKind::Choice { choices, default } => {
                self.add_label_for(html);
                self.add_select(html, choices, default.as_deref());
            }
            FieldKind::Text { suggestions, format, .. } => {
                self.add_label_for(html);
                self.add_input(html, if self.field.is_secret { "password" } else { text_type(*format) });
                html.markup(">\n");
                self.add_suggestions(html, suggestions);
            }
            FieldKind::Number { range, .. } => {
                self.add_label_for(html);
                self.add_input(html, if self.field.is_secret { "password" } else { "number" });
                add_range(html, *range, "any");
            }
            FieldKind::Integer { range, .. } => {
                self.add_label_for(html);
                self.add_input(html, if self.field.is_secret { "password" } else { "number" });
                add_range(html, *range, "1");
            }
        }
        if let Some(description) = &self.field.description {
            html.element(["<p class=\"soft hint\">", "</p>\n"], description);
        }
    }

    /// Adds the name of the field, and whether a value is required.
    fn add_label(&self, html: &mut Html, start: &'static str, end: &'static str) {
        html.markup(start).element(["<bdi>", "</bdi>"], self.field.label());
        // An unchecked box is an answer too.
        if self.field.is_required && !matches!(self.field.kind, FieldKind::Boolean { .. }) {
            html.text(self.view.language.pick(" (required)", "（必填）"));
        }
        html.markup(end);
    }

    fn add_label_for(&self, html: &mut Html) {
        html.markup("<label for=\"").value(&self.name).markup("\">");
        self.add_label(html, "", "</label>\n");
    }

    /// Adds an input without its end.
    fn add_input(&self, html: &mut Html, kind: &'static str) {
        html.markup("<input autocomplete=\"off\" type=\"").markup(kind).markup("\" id=\"").value(&self.name);
        html.markup("\" name=\"").value(&self.name).markup("\"");
        let sent = self.view.draft.and_then(|draft| draft.get(&self.name)).map(str::to_owned);
        let default = self.field.kind.default_value().map(|value| plain_text(&value));
        // A secret is not shown again, also not to who has typed it.
        if let Some(value) = sent.or(default).filter(|_| !self.field.is_secret) {
            html.markup(" value=\"").value(&value).markup("\"");
        }
        if let FieldKind::Text { suggestions, .. } = &self.field.kind
            && !suggestions.is_empty()
        {
            html.markup(" list=\"list-").value(&self.name).markup("\"");
        }
        if self.field.is_required {
            html.markup(" required");
        }
    }

    fn add_suggestions(&self, html: &mut Html, suggestions: &[String]) {
        if suggestions.is_empty() {
            return;
        }
        html.markup("<datalist id=\"list-").value(&self.name).markup("\">");
        for suggestion in suggestions {
            html.markup("<option value=\"").value(suggestion).markup("\">");
        }
        html.markup("</datalist>\n");
    }

    /// Adds a list to choose from. The values are numbers: agents choose the values freely.
    fn add_select(&self, html: &mut Html, choices: &[Choice], default: Option<&str>) {
        let sent = self.view.draft.and_then(|draft| draft.get(&self.name));
        let selected = match sent {
            Some(sent) => sent.parse::<usize>().ok(),
            None => choices.iter().position(|choice| Some(choice.value.as_str()) == default),
        };
        html.markup("<select id=\"").value(&self.name).markup("\" name=\"").value(&self.name).markup("\"");
        html.markup(if self.field.is_required { " required>\n" } else { ">\n" });
        html.markup("<option value=\"\"></option>\n");
        for (number, choice) in choices.iter().enumerate() {
            html.markup("<option value=\"").value(&number.to_string()).markup("\"");
            html.markup(if selected == Some(number) { " selected>" } else { ">" });
            html.text(choice.label()).markup("</option>\n");
        }
        html.markup("</select>\n");
    }

    fn add_choices(&self, html: &mut Html, choices: &[Choice], default: &[String]) {
        html.markup("<fieldset>");
        self.add_label(html, "<legend>", "</legend>\n");
        for (number, choice) in choices.iter().enumerate() {
            let name = choice_name(self.index, number);
            let sent = self.view.draft.map(|draft| draft.get(&name).is_some());
            html.markup("<label class=\"choice\">");
            self.add_checkbox(html, &name, "true", sent.unwrap_or_else(|| default.contains(&choice.value)));
            html.element(["<span>", "</span></label>\n"], choice.label());
        }
        html.markup("</fieldset>\n");
    }

    fn add_checkbox(&self, html: &mut Html, name: &str, value: &'static str, is_checked: bool) {
        html.markup("<input type=\"checkbox\" name=\"").value(name).markup("\" value=\"").markup(value);
        html.markup(if is_checked { "\" checked>" } else { "\">" });
    }
}

const fn text_type(format: Option<TextFormat>) -> &'static str {
    match format {
        Some(TextFormat::Email) => "email",
        Some(TextFormat::Uri) => "url",
        Some(TextFormat::Date) => "date",
        Some(TextFormat::DateTime) | None => "text",
    }
}

/// Ends an input of a number.
fn add_range(html: &mut Html, range: NumberRange, step: &'static str) {
    html.markup(" step=\"").markup(step).markup("\"");
    if let Some(minimum) = range.minimum {
        html.markup(" min=\"").value(&minimum.to_string()).markup("\"");
    }
    if let Some(maximum) = range.maximum {
        html.markup(" max=\"").value(&maximum.to_string()).markup("\"");
    }
    html.markup(">\n");
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads the values that a browser has sent. An empty input is no value.
pub(super) fn read_values(form: &AnswerForm, sent: &FormFields) -> Result<AnswerContent, InvalidContent> {
    let mut content = AnswerContent::default();
    for (index, field) in form.fields().iter().enumerate() {
        let name = input_name(index);
        let typed = sent.get(&name).filter(|typed| !typed.is_empty());
        let value = match &field.kind {
            FieldKind::Boolean { .. } => Some(Ok(Value::Bool(typed.is_some()))),
            FieldKind::Choices { choices, .. } => {
                let is_chosen = |number: usize| sent.get(&choice_name(index, number)).is_some();
                let chosen: Vec<&str> = (0..choices.len())
                    .filter(|number| is_chosen(*number))
                    .map(|number| choices[number].value.as_str())
                    .collect();
                let is_given = field.is_required || !chosen.is_empty();
                is_given.then(|| field.check(Value::from(chosen)))
            }
            FieldKind::Choice { choices, .. } => typed.map(|typed| {
                let choice = typed.parse::<usize>().ok().and_then(|number| choices.get(number));
                field.parse_text(choice.map_or("", |choice| choice.value.as_str()))
            }),
            FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Integer { .. } => {
                typed.map(|typed| field.parse_text(typed))
            }
        };
        let problem = |problem| InvalidContent::Field { name: field.name.clone(), problem };
        if let Some(value) = value.transpose().map_err(problem)? {
            content.set(field, value);
        }
    }
    form.check(&content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use guildhall_domain::approvals::form::FieldProblem;
    use serde_json::json;

    use super::*;

    fn form() -> AnswerForm {
        let schema = json!({ "type": "object", "required": ["a", "f"], "properties": {
            "a": { "type": "string", "enum": ["x", "y"] },
            "b": { "type": "boolean" },
            "c": { "type": "array", "items": { "type": "string", "enum": ["1", "2", "3"] } },
            "d": { "type": "integer", "minimum": 1 },
            "e": { "type": "string" },
            "f": { "type": "string", "writeOnly": true },
        } });
        AnswerForm::parse(&schema).expect("a form")
    }

    fn read(body: &str) -> Result<String, InvalidContent> {
        let sent = FormFields::parse(body.as_bytes()).expect("a form");
        read_values(&form(), &sent).map(|content| content.to_json())
    }

    #[test]
    fn inputs_become_values_of_their_fields() {
        let whole =
            read("field-0=1&field-1=true&field-2-0=true&field-2-2=true&field-3=5&field-4=t&field-5=s");
        assert_eq!(whole, Ok(r#"{"a":"y","b":true,"c":["1","3"],"d":5,"e":"t","f":"s"}"#.to_owned()));
        let least = read("field-0=0&field-3=&field-4=&field-5=s");
        assert_eq!(least, Ok(r#"{"a":"x","b":false,"f":"s"}"#.to_owned()), "an empty input is no value");
    }

    #[test]
    fn wrong_input_names_its_field() {
        for (body, name, problem) in [
            ("field-5=s", "a", FieldProblem::Missing),
            ("field-0=2&field-5=s", "a", FieldProblem::NotAChoice),
            ("field-0=x&field-5=s", "a", FieldProblem::NotAChoice),
            ("field-0=0&field-3=0&field-5=s", "d", FieldProblem::TooSmall(1.0)),
            ("field-0=0&field-3=x&field-5=s", "d", FieldProblem::Type("a whole number")),
            ("field-0=0", "f", FieldProblem::Missing),
        ] {
            assert_eq!(read(body), Err(InvalidContent::Field { name: name.to_owned(), problem }), "{body}");
        }
    }
}
