//! A field of a form: what it accepts, and how a typed text becomes its value.

use serde_json::{Number, Value};

use super::field_problem::FieldProblem;
pub use super::text_format::TextFormat;

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

impl FormField {
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
}
