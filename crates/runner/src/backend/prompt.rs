//! What a turn starts with.

use std::fmt;

use guildhall_domain::front::attachment::ImageType;
use guildhall_domain::ids::AttachmentId;

/// The text of a turn, and its images.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// May be empty if there are images.
    pub text: String,
    pub images: Vec<PromptImage>,
}

/// An image whose content begins as its type says.
#[derive(Clone, PartialEq, Eq)]
pub struct PromptImage {
    pub id: AttachmentId,
    pub image_type: ImageType,
    pub content: Vec<u8>,
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), images: Vec::new() }
    }
}

impl PromptImage {
    /// Returns the name of its file. It has no part that a user chose.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.id, self.image_type.file_extension())
    }
}

/// Without the content.
impl fmt::Debug for PromptImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PromptImage({}, {}, {} bytes)", self.id, self.image_type, self.content.len())
    }
}
