//! A field of a form: what it accepts, and how a typed text becomes its value.

use serde_json::{Map, Number, Value};
use url::Url;

use super::field_problem::FieldProblem;

/// A field of a form. Its texts are those of who asks.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub is_required: bool,
    /// Whether the value is read without showing it.
    pub is_secret: bool,
    pub kind: FieldKind,
}

/// What a field accepts.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    Text {
        min_length: Option<u64>,
        max_length: Option<u64>,
        format: Option<TextFormat>,
        default: Option<String>,
        /// Answers that who asks expects. Any other text is an answer too.
        suggestions: Vec<String>,
    },
    Number {
        range: NumberRange,
        default: Option<Number>,
    },
    Integer {
        range: NumberRange,
        default: Option<Number>,
    },
    Boolean {
        default: Option<bool>,
    },
    /// One of several texts.
    Choice {
        choices: Vec<Choice>,
        default: Option<String>,
    },
    /// Some of several texts.
    Choices {
        choices: Vec<Choice>,
        min: Option<u64>,
        max: Option<u64>,
        default: Vec<String>,
    },
}

/// The least and the greatest value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NumberRange {
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
}

/// A text that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    /// How it is shown; none for the value itself.
    pub title: Option<String>,
}

impl Choice {
    /// Returns what people see.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

crate::named_enum::named_enum! {
    /// The format of a text.
    TextFormat, "text format";
    Email = "email",
    Uri = "uri",
    Date = "date",
    DateTime = "date-time",
}

impl TextFormat {
    const fn expected(self) -> &'static str {
        match self {
            Self::Email => "an email address",
            Self::Uri => "a URI",
            Self::Date => "a date such as 2026-11-17",
            Self::DateTime => "a date and time such as 2026-11-17T12:00:00Z",
        }
    }

    fn matches(self, text: &str) -> bool {
        let is_plain = !text.chars().any(|character| character.is_whitespace() || character.is_control());
        match self {
            Self::Email => {
                is_plain
                    && text.split_once('@').is_some_and(|(name, host)| {
                        !name.is_empty() && !host.is_empty() && !host.contains('@')
                    })
            }
            Self::Uri => is_plain && Url::parse(text).is_ok(),
            Self::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Self::DateTime => {
                text.as_bytes().get(10).is_some_and(|separator| matches!(separator, b'T' | b't'))
                    && !text.contains('[')
                    && text.parse::<jiff::Timestamp>().is_ok()
            }
        }
    }
}

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

    /// Returns the name that people see.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(&self.name)
    }

    /// Returns the value if the field accepts it.
    pub fn check(&self, value: Value) -> Result<Value, FieldProblem> {
        self.kind.check(&value)?;
        Ok(value)
    }

    /// Reads the value from a typed text. Several choices are separated by commas.
    pub fn parse_text(&self, text: &str) -> Result<Value, FieldProblem> {
        let value = match &self.kind {
            FieldKind::Text { .. } | FieldKind::Choice { .. } => Value::from(text),
            FieldKind::Number { .. } | FieldKind::Integer { .. } => match text.trim().parse::<Number>() {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(FieldProblem::Type(self.kind.expected())),
            },
            FieldKind::Boolean { .. } => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "y" => Value::Bool(true),
                "false" | "no" | "n" => Value::Bool(false),
                _ => return Err(FieldProblem::Type(self.kind.expected())),
            },
            FieldKind::Choices { .. } => {
                let chosen = text.split(',').map(str::trim).filter(|choice| !choice.is_empty());
                Value::Array(chosen.map(Value::from).collect())
            }
        };
        self.check(value)
    }
}

impl FieldKind {
    /// Returns what a value must be, for people.
    #[must_use]
    pub const fn expected(&self) -> &'static str {
        match self {
            Self::Text { format: Some(format), .. } => format.expected(),
            Self::Text { format: None, .. } => "a text",
            Self::Number { .. } => "a number",
            Self::Integer { .. } => "a whole number",
            Self::Boolean { .. } => "yes or no",
            Self::Choice { .. } => "one of the choices",
            Self::Choices { .. } => "a list of choices",
        }
    }

    /// Returns the value that who asks proposes.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self {
            Self::Text { default, .. } | Self::Choice { default, .. } => default.clone().map(Value::from),
            Self::Number { default, .. } | Self::Integer { default, .. } => {
                default.clone().map(Value::Number)
            }
            Self::Boolean { default } => default.map(Value::from),
            Self::Choices { default, .. } if default.is_empty() => None,
            Self::Choices { default, .. } => Some(Value::from(default.clone())),
        }
    }

    /// Checks a value.
    pub(super) fn check(&self, value: &Value) -> Result<(), FieldProblem> {
        let wrong_type = FieldProblem::Type(self.expected());
        match self {
            Self::Text { min_length, max_length, format, .. } => {
                let text = value.as_str().ok_or(FieldProblem::Type("a text"))?;
                check_length(text, *min_length, *max_length)?;
                match format {
                    Some(format) if !format.matches(text) => Err(FieldProblem::Format(format.expected())),
                    Some(_) | None => Ok(()),
                }
            }
            Self::Number { range, .. } => range.check(value.as_f64().ok_or(wrong_type)?),
            Self::Integer { range, .. } => {
                let is_whole = value.is_i64() || value.is_u64();
                range.check(value.as_f64().filter(|_| is_whole).ok_or(wrong_type)?)
            }
            Self::Boolean { .. } => value.as_bool().map(drop).ok_or(wrong_type),
            Self::Choice { choices, .. } => {
                check_choice(choices, value.as_str().ok_or(FieldProblem::Type("a text"))?)
            }
            Self::Choices { choices, min, max, .. } => {
                check_choices(choices, *min, *max, value.as_array().ok_or(wrong_type)?)
            }
        }
    }
}

impl NumberRange {
    fn check(self, number: f64) -> Result<(), FieldProblem> {
        match self {
            Self { minimum: Some(minimum), .. } if number < minimum => Err(FieldProblem::TooSmall(minimum)),
            Self { maximum: Some(maximum), .. } if number > maximum => Err(FieldProblem::TooBig(maximum)),
            Self { .. } => Ok(()),
        }
    }
}

fn check_length(text: &str, min: Option<u64>, max: Option<u64>) -> Result<(), FieldProblem> {
    let length = text.chars().count() as u64;
    match (min, max) {
        (Some(min), _) if length < min => Err(FieldProblem::TooShort(min)),
        (_, Some(max)) if length > max => Err(FieldProblem::TooLong(max)),
        _ => Ok(()),
    }
}

fn check_choice(choices: &[Choice], value: &str) -> Result<(), FieldProblem> {
    let is_known = choices.iter().any(|choice| choice.value == value);
    if is_known { Ok(()) } else { Err(FieldProblem::NotAChoice) }
}

fn check_choices(
    choices: &[Choice],
    min: Option<u64>,
    max: Option<u64>,
    values: &[Value],
) -> Result<(), FieldProblem> {
    for (index, value) in values.iter().enumerate() {
        check_choice(choices, value.as_str().ok_or(FieldProblem::NotAChoice)?)?;
        if values[..index].contains(value) {
            return Err(FieldProblem::TooMany(max.unwrap_or(choices.len() as u64)));
        }
    }
    let count = values.len() as u64;
    match (min, max) {
        (Some(min), _) if count < min => Err(FieldProblem::TooFew(min)),
        (_, Some(max)) if count > max => Err(FieldProblem::TooMany(max)),
        _ => Ok(()),
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
        keywords.0.is_empty().then_some(Choice { value, title })
    };
    distinct(choices.as_array()?.iter().map(choice).collect::<Option<_>>()?)
}

fn distinct(choices: Vec<Choice>) -> Option<Vec<Choice>> {
    let values: std::collections::BTreeSet<&str> =
        choices.iter().map(|choice| choice.value.as_str()).collect();
    (!choices.is_empty() && values.len() == choices.len()).then_some(choices)
}
