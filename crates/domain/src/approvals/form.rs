//! Forms: questions that a person answers with values.
//!
//! A form is read from the JSON schema that MCP allows for elicitation: a flat object of texts, numbers, booleans and
//! choices. Any other schema is refused, because its answers could not be checked.

use serde_json::{Map, Value};

pub use super::field_problem::FieldProblem;
use super::form_field::{FieldKind, FormField};

/// A form with its fields, in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerForm {
    fields: Vec<FormField>,
}

/// Why a schema is not a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidForm {
    #[error("the form is not an object with properties")]
    NotAnObject,
    #[error("a form has at most {} bytes", AnswerForm::MAX_BYTES)]
    TooLarge,
    #[error("a form has 1 to {} fields", AnswerForm::MAX_FIELDS)]
    FieldCount,
    #[error("a form has at most {} choices", AnswerForm::MAX_CHOICES)]
    TooManyChoices,
    /// It may change which answers are valid.
    #[error("the form has `{0}`, which is not supported")]
    Keyword(String),
    #[error("the field `{0}` of the form has a type or a limit that is not supported")]
    Field(String),
    #[error("the form requires `{0}`, which is not one of its fields")]
    UnknownRequired(String),
}

impl AnswerForm {
    pub const MAX_BYTES: usize = 64 * 1024;
    pub const MAX_FIELDS: usize = 32;
    /// Of all fields together.
    pub const MAX_CHOICES: usize = 256;

    /// Reads a form from a JSON schema.
    pub fn parse(schema: &Value) -> Result<Self, InvalidForm> {
        if schema.to_string().len() > Self::MAX_BYTES {
            return Err(InvalidForm::TooLarge);
        }
        let object = schema.as_object().ok_or(InvalidForm::NotAnObject)?;
        check_keywords(object)?;
        let properties = object.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|_| object.get("type").is_some_and(|kind| kind == "object"));
        let properties = properties.ok_or(InvalidForm::NotAnObject)?;
        if !(1..=Self::MAX_FIELDS).contains(&properties.len()) {
            return Err(InvalidForm::FieldCount);
        }
        let required = required_names(object, properties)?;
        let field = |(name, property): (&String, &Value)| {
            let is_required = required.contains(&name.as_str());
            FormField::parse(name, property, is_required).ok_or_else(|| InvalidForm::Field(name.clone()))
        };
        let fields: Vec<FormField> = properties.iter().map(field).collect::<Result<_, _>>()?;
        let choices: usize = fields.iter().map(|field| field.kind.choices().len()).sum();
        if choices > Self::MAX_CHOICES {
            return Err(InvalidForm::TooManyChoices);
        }
        Ok(Self { fields })
    }

    #[must_use]
    pub fn fields(&self) -> &[FormField] {
        &self.fields
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Checks the values of an answer.
    pub fn check(&self, content: &AnswerContent) -> Result<(), InvalidContent> {
        if content.to_json().len() > AnswerContent::MAX_BYTES {
            return Err(InvalidContent::TooLarge);
        }
        if let Some(unknown) = content.0.keys().find(|name| self.field(name).is_none()) {
            return Err(InvalidContent::Field { name: unknown.clone(), problem: FieldProblem::Unknown });
        }
        for field in &self.fields {
            let problem = match content.0.get(&field.name) {
                Some(value) => field.kind.check(value).err(),
                None => field.is_required.then_some(FieldProblem::Missing),
            };
            if let Some(problem) = problem {
                return Err(InvalidContent::Field { name: field.name.clone(), problem });
            }
        }
        Ok(())
    }

    /// Returns the texts of an answer that must not be shown again.
    pub fn secrets<'a>(&'a self, content: &'a AnswerContent) -> impl Iterator<Item = &'a str> {
        let secret = self.fields.iter().filter(|field| field.is_secret);
        secret.filter_map(|field| content.0.get(&field.name)?.as_str())
    }
}

/// Checks the keywords of the whole form. Fields that it does not name are refused anyway.
fn check_keywords(object: &Map<String, Value>) -> Result<(), InvalidForm> {
    let is_known = |(name, value): &(&String, &Value)| match name.as_str() {
        "type" | "properties" | "required" => true,
        "$schema" | "title" | "description" => value.is_string() || value.is_null(),
        "additionalProperties" => **value == Value::Bool(false),
        _ => false,
    };
    match object.iter().find(|keyword| !is_known(keyword)) {
        Some((name, _)) => Err(InvalidForm::Keyword(name.clone())),
        None => Ok(()),
    }
}

fn required_names<'a>(
    object: &'a Map<String, Value>,
    properties: &Map<String, Value>,
) -> Result<Vec<&'a str>, InvalidForm> {
    let invalid = || InvalidForm::Keyword("required".to_owned());
    let names = match object.get("required") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(names) => names.as_array().ok_or_else(invalid)?,
    };
    let names: Vec<&str> = names.iter().map(Value::as_str).collect::<Option<_>>().ok_or_else(invalid)?;
    match names.iter().find(|name| !properties.contains_key(**name)) {
        Some(unknown) => Err(InvalidForm::UnknownRequired((*unknown).to_owned())),
        None => Ok(names),
    }
}

/// The values of an answer, by field. They may be secret, so they are never printed.
#[derive(Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct AnswerContent(Map<String, Value>);

impl AnswerContent {
    /// Of its JSON.
    pub const MAX_BYTES: usize = 64 * 1024;

    pub fn set(&mut self, field: &FormField, value: Value) {
        self.0.insert(field.name.clone(), value);
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns the JSON in one form only, so that equal answers are equal texts.
    #[must_use]
    pub fn to_json(&self) -> String {
        super::digest::canonical_json(&Value::Object(self.0.clone()))
    }

    /// Returns the values for the process that asked.
    #[must_use]
    pub fn into_values(self) -> Map<String, Value> {
        self.0
    }
}

impl std::fmt::Debug for AnswerContent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AnswerContent([redacted])")
    }
}

/// Why the values of an answer are refused. It names the field and not its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidContent {
    #[error("this option needs the values of the form")]
    Missing,
    #[error("this option takes no values")]
    NotExpected,
    #[error("an answer has at most {} bytes", AnswerContent::MAX_BYTES)]
    TooLarge,
    #[error("{problem}")]
    Field { name: String, problem: FieldProblem },
}

/// Checks whether an answer needs values, and has them.
pub fn check_content(
    form: Option<&AnswerForm>,
    content: Option<&AnswerContent>,
) -> Result<(), InvalidContent> {
    match (form, content) {
        (Some(form), Some(content)) => form.check(content),
        (Some(_), None) => Err(InvalidContent::Missing),
        (None, Some(_)) => Err(InvalidContent::NotExpected),
        (None, None) => Ok(()),
    }
}

impl FieldKind {
    /// Returns the choices; none for a field with free values.
    #[must_use]
    pub fn choices(&self) -> &[super::form_field::Choice] {
        match self {
            Self::Choice { choices, .. } | Self::Choices { choices, .. } => choices,
            Self::Text { .. } | Self::Number { .. } | Self::Integer { .. } | Self::Boolean { .. } => &[],
        }
    }
}
