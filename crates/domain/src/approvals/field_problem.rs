//! Why the value of a field is refused.

/// What is wrong with the value of a field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FieldProblem {
    #[error("the form has no such field")]
    Unknown,
    #[error("a value is required")]
    Missing,
    #[error("the value must be {0}")]
    Type(&'static str),
    #[error("the value is not one of the choices")]
    NotAChoice,
    #[error("the value is not {0}")]
    Format(&'static str),
    #[error("the value must be at least {0}")]
    TooSmall(f64),
    #[error("the value must be at most {0}")]
    TooBig(f64),
    #[error("the text must have at least {0} characters")]
    TooShort(u64),
    #[error("the text must have at most {0} characters")]
    TooLong(u64),
    #[error("choose at least {0}")]
    TooFew(u64),
    #[error("choose at most {0}, and each once")]
    TooMany(u64),
}

impl Eq for FieldProblem {}
