//! Why an input is refused.

/// Why an input is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    #[error("{path}: must be {expected}")]
    Type { path: String, expected: &'static str },
    #[error("{path}: is required")]
    Missing { path: String },
    #[error("{0}: use 1 to {max} visible characters", max = super::MAX_ID_CHARS)]
    Id(&'static str),
    #[error("messages: unknown role `{0}`")]
    Role(String),
    #[error("resume: status must be `resolved` or `cancelled`")]
    ResumeStatus,
    #[error("forwardedProps.runtime_mode: must be `chat` or `automation`")]
    RuntimeMode,
    #[error("messages: the new message has no text")]
    EmptyMessage,
    /// A part of a new message that no agent gets.
    #[error("messages: parts of the type `{0}` are not supported: send text, or an image by its URL")]
    PartType(String),
    #[error("messages: an image needs a source with a URL: upload it first")]
    ImageWithoutUrl,
}
