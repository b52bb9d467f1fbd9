//! Why an input is refused.

use guildhall_domain::front::external_id::ExternalId;

/// Why an input is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    #[error("{path}: must be {expected}")]
    Type { path: String, expected: &'static str },
    #[error("{path}: is required")]
    Missing { path: String },
    #[error("{0}: use 1 to {max} visible characters", max = ExternalId::MAX_CHARS)]
    Id(&'static str),
    #[error("messages[].id: use 1 to {max} characters, none of them a control character", max = ExternalId::MAX_CHARS)]
    MessageId,
    #[error("messages: unknown role `{0}`")]
    Role(String),
    #[error("resume: status must be `resolved` or `cancelled`")]
    ResumeStatus,
    #[error("resume: use at most {max} answers", max = super::MAX_RESUMED)]
    TooManyAnswers,
    #[error("resume: arguments cannot be edited: answer with `approved` or `optionId`")]
    EditedArguments,
    #[error("forwardedProps.runtime_mode: must be `chat` or `automation`")]
    RuntimeMode,
    #[error("tools: use at most {max} bytes of JSON", max = super::MAX_TOOLS_BYTES)]
    TooManyTools,
    #[error("messages: the new message has no text")]
    EmptyMessage,
    /// A part of a new message that no agent gets.
    #[error("messages: parts of the type `{0}` are not supported: send text, or an image by its URL")]
    PartType(String),
    #[error("messages: an image needs a source with a URL: upload it first")]
    ImageWithoutUrl,
}
