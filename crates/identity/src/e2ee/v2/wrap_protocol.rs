//! How the key of a message is encrypted.

use super::super::error::EnvelopeError;

/// How the key of a message was encrypted for its recipients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapProtocol {
    /// With identity keys alone.
    OneDh,
    /// With identity keys and keys of devices.
    ThreeDh,
    /// Both, each for some of the recipients.
    Mixed,
}

impl WrapProtocol {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneDh => "1DH",
            Self::ThreeDh => "3DH",
            Self::Mixed => "1DH+3DH",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let found =
            [Self::OneDh, Self::ThreeDh, Self::Mixed].into_iter().find(|found| found.as_str() == text);
        found.ok_or(EnvelopeError::Unsupported("aad.wrap_protocol"))
    }

    /// Returns what rows with these protocols use together.
    #[must_use]
    pub fn together(mut protocols: impl Iterator<Item = Self>) -> Option<Self> {
        let first = protocols.next()?;
        Some(if protocols.all(|other| other == first) { first } else { Self::Mixed })
    }
}
