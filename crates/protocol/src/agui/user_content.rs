//! The content of a user's message in a replayed run.

use serde::Serialize;

/// A text, or a text and images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum UserContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ContentPart {
    Text {
        text: String,
    },
    Image {
        source: ImageSource,
    },
    /// An image, for clients before 1.0.
    Binary {
        mime_type: String,
        url: String,
    },
}

/// Where an image is. Until it is signed, the URL is the id of the attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageSource {
    Url { value: String, mime_type: String },
}

impl UserContent {
    /// Returns the URLs of its images.
    pub fn image_urls(&mut self) -> impl Iterator<Item = &mut String> {
        let parts = match self {
            Self::Text(_) => &mut [],
            Self::Parts(parts) => parts.as_mut_slice(),
        };
        parts.iter_mut().filter_map(|part| match part {
            ContentPart::Text { .. } => None,
            ContentPart::Image { source: ImageSource::Url { value, .. } } => Some(value),
            ContentPart::Binary { url, .. } => Some(url),
        })
    }
}
