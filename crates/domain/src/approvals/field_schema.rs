//! Reads a field of a form from its JSON schema.

use serde_json::{Map, Number, Value};

use super::form_field::{Choice, FieldKind, FormField, NumberRange};
use super::text_format::TextFormat;

impl FormField {
    /// Longest name of a field, in bytes.
    const MAX_NAME_BYTES: usize = 256;

    /// Reads a field from its JSON schema; none if anything in it is not supported.
    pub(super) fn parse(name: &str, schema: &Value, is_required: bool) -> Option<Self> {
        let keywords = &mut FieldKeywords(schema.as_object()?.clone());
        let (title, description) = (keywords.text("title")?, keywords.text("description")?);
        let is_secret = keywords.boolean("writeOnly")?.unwrap_or(false);
        let kind = match keywords.text("type")?.as_deref()? {
            "string" => text_or_choice(keywords)?,
            "number" => FieldKind::Number { range: range(keywords)?, default: keywords.number("default")? },
            "integer" => FieldKind::Integer { range: range(keywords)?, default: keywords.number("default")? },
            "boolean" => FieldKind::Boolean { default: keywords.boolean("default")? },
            "array" => choices(keywords)?,
            _ => return None,
        };
        let is_valid = keywords.0.is_empty()
            && (1..=Self::MAX_NAME_BYTES).contains(&name.len())
            && kind.default_value().is_none_or(|default| kind.check(&default).is_ok());
        let field = Self { name: name.to_owned(), title, description, is_required, is_secret, kind };
        is_valid.then_some(field)
    }
}

/// The keywords of a field that were not read yet. Each method returns none for a value of another type.
struct FieldKeywords(Map<String, Value>);

impl FieldKeywords {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Option<Option<String>> {
        self.take(name).map_or(Some(None), |value| Some(Some(value.as_str()?.to_owned())))
    }

    fn boolean(&mut self, name: &str) -> Option<Option<bool>> {
        self.take(name).map_or(Some(None), |value| Some(Some(value.as_bool()?)))
    }

    fn number(&mut self, name: &str) -> Option<Option<Number>> {
        self.take(name).map_or(Some(None), |value| Some(Some(value.as_number()?.clone())))
    }

    fn count(&mut self, name: &str) -> Option<Option<u64>> {
        self.take(name).map_or(Some(None), |value| Some(Some(value.as_u64()?)))
    }

    /// Returns an empty list if the keyword is absent.
    fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.take(name).map_or(Some(Vec::new()), |value| texts(&value))
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn range(keywords: &mut FieldKeywords) -> Option<NumberRange> {
    let limit = |limit: Option<Number>| limit.and_then(|limit| limit.as_f64());
    Some(NumberRange {
        minimum: limit(keywords.number("minimum")?),
        maximum: limit(keywords.number("maximum")?),
    })
}

fn text_or_choice(keywords: &mut FieldKeywords) -> Option<FieldKind> {
    let default = keywords.text("default")?;
    if let Some(values) = keywords.take("enum") {
        let names = keywords.texts("enumNames")?;
        return Some(FieldKind::Choice { choices: untitled_choices(&values, names)?, default });
    }
    if let Some(titled) = keywords.take("oneOf") {
        return Some(FieldKind::Choice { choices: titled_choices(&titled)?, default });
    }
    let format = match keywords.text("format")? {
        Some(format) => Some(TextFormat::from_name(&format).ok()?),
        None => None,
    };
    Some(FieldKind::Text {
        min_length: keywords.count("minLength")?,
        max_length: keywords.count("maxLength")?,
        format,
        default,
        suggestions: keywords.texts("examples")?,
    })
}

fn choices(keywords: &mut FieldKeywords) -> Option<FieldKind> {
    let items = &mut FieldKeywords(keywords.take("items")?.as_object()?.clone());
    let choices = match (items.take("enum"), items.take("anyOf")) {
        (Some(values), None) if items.text("type")?.as_deref() == Some("string") => {
            untitled_choices(&values, Vec::new())?
        }
        (None, Some(titled)) => titled_choices(&titled)?,
        _ => return None,
    };
    let (min, max) = (keywords.count("minItems")?, keywords.count("maxItems")?);
    let kind = FieldKind::Choices { choices, min, max, default: keywords.texts("default")? };
    items.0.is_empty().then_some(kind)
}

/// Returns choices with optional names. Two equal values could not be told apart.
fn untitled_choices(values: &Value, names: Vec<String>) -> Option<Vec<Choice>> {
    let values = texts(values)?;
    if !names.is_empty() && names.len() != values.len() {
        return None;
    }
    let names = names.into_iter().map(Some).chain(std::iter::repeat(None));
    let choices = values.into_iter().zip(names).map(|(value, title)| Choice { value, title });
    distinct(choices.collect())
}

fn titled_choices(choices: &Value) -> Option<Vec<Choice>> {
    let choice = |choice: &Value| {
        let keywords = &mut FieldKeywords(choice.as_object()?.clone());
        let (value, title) = (keywords.text("const")??, keywords.text("title")?);
        let title = match (title, keywords.text("description")?) {
            (title, None) => title,
            (title, Some(description)) => {
                Some(format!("{}: {description}", title.as_ref().unwrap_or(&value)))
            }
        };
        // What a client may show besides. It changes no answer.
        keywords.take("_meta");
        keywords.0.is_empty().then_some(Choice { value, title })
    };
    distinct(choices.as_array()?.iter().map(choice).collect::<Option<_>>()?)
}

fn distinct(choices: Vec<Choice>) -> Option<Vec<Choice>> {
    let values: std::collections::BTreeSet<&str> =
        choices.iter().map(|choice| choice.value.as_str()).collect();
    (!choices.is_empty() && values.len() == choices.len()).then_some(choices)
}
