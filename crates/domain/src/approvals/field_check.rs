//! Checks a value against what a field accepts.

use serde_json::Value;

use super::field_problem::FieldProblem;
use super::form_field::{Choice, FieldKind, NumberRange};

impl FieldKind {
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
