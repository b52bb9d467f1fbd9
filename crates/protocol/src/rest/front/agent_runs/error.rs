//! Why a `RunAgentInput` is refused.

use guildhall_domain::front::client_time::ClientTimeError;

/// A rule that the body breaks. [`Self::message`] is the text of the protocol, word for word.
///
/// No message repeats a value of the body, because it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentRunInputError {
    #[error("RunAgentInput payload exceeds size limit")]
    PayloadTooLarge,
    #[error("threadId must be a valid UUID")]
    ThreadIdNotUuid,
    #[error("runId exceeds length limit")]
    RunIdTooLong,
    #[error("RunAgentInput.messages exceeds limit")]
    TooManyMessages,
    #[error("RunAgentInput user message text exceeds limit")]
    UserTextTooLong,
    /// `runtime_mode` is absent or unknown, there is another field, or it is not an object.
    #[error("invalid RunAgentInput.forwardedProps")]
    ForwardedProps,
    #[error(transparent)]
    ClientTime(#[from] ClientTimeError),
    #[error("RunAgentInput.messages must contain exactly one user message")]
    NotOneUserMessage,
    #[error("RunAgentInput.messages[0].role must be user")]
    FirstMessageNotUser,
    #[error("binary content requires image mimeType")]
    BinaryNotImage,
    #[error("binary content requires url")]
    BinaryWithoutUrl,
    #[error("binary content data is not allowed")]
    BinaryWithData,
    #[error("Too many attachments")]
    TooManyAttachments,
    /// The protocol has no message for it: the body does not have the form of the schema.
    #[error("invalid RunAgentInput{path}: {problem}")]
    Shape {
        /// The place, such as `.messages[1].toolCallId`; empty for the body.
        path: String,
        problem: ShapeProblem,
    },
}

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeProblem {
    #[error("not JSON, or nested too deeply")]
    NotJson,
    #[error("an object has a name twice")]
    RepeatedName,
    #[error("given in camelCase and in snake_case")]
    BothSpellings,
    #[error("expected {0}")]
    Expected(&'static str),
}

impl AgentRunInputError {
    pub(super) fn shape_error(path: impl Into<String>, problem: ShapeProblem) -> Self {
        Self::Shape { path: path.into(), problem }
    }

    pub(super) fn expected(path: impl Into<String>, what: &'static str) -> Self {
        Self::shape_error(path, ShapeProblem::Expected(what))
    }

    /// Returns the text for the client.
    #[must_use]
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// Returns the HTTP status: 413 for the size, as for every body of this API that is too large, and 422 for
    /// everything else. The protocol names a status only for `forwardedProps`, and that is 422; the other rules are of
    /// the same kind: a body that the server reads and does not accept.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::PayloadTooLarge => 413,
            Self::ThreadIdNotUuid
            | Self::RunIdTooLong
            | Self::TooManyMessages
            | Self::UserTextTooLong
            | Self::ForwardedProps
            | Self::ClientTime(_)
            | Self::NotOneUserMessage
            | Self::FirstMessageNotUser
            | Self::BinaryNotImage
            | Self::BinaryWithoutUrl
            | Self::BinaryWithData
            | Self::TooManyAttachments
            | Self::Shape { .. } => 422,
        }
    }
}
