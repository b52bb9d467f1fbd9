//! Parts of a user's message.

use serde_json::Value;

use super::error::InvalidInput;
use super::reader::Reader;

/// A part of a user's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart {
    Text(String),
    Image(ImageReference),
}

/// An image by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference {
    pub url: String,
    pub mime_type: Option<String>,
}

/// Reads the parts of a message: a string, a list of parts, or nothing.
pub(super) fn parts(content: &Value) -> Result<Vec<MessagePart>, InvalidInput> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![MessagePart::Text(text.clone())]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let path = "messages[].content".to_owned();
            Err(InvalidInput::Type { path, expected: "a string or a list of parts" })
        }
    }
}

fn part(part: &Value) -> Result<MessagePart, InvalidInput> {
    let part = Reader::of(part, "messages[].content[]")?;
    let kind = part.required_text("type")?;
    match kind.as_str() {
        "text" => Ok(MessagePart::Text(part.required_text("text")?)),
        "image" => image(&part),
        // Clients before 1.0 send images so.
        "binary" if part.optional_text("mimeType")?.is_some_and(|mime| mime.starts_with("image/")) => {
            let url = part.optional_text("url")?.ok_or(InvalidInput::ImageWithoutUrl)?;
            Ok(MessagePart::Image(ImageReference { url, mime_type: part.optional_text("mimeType")? }))
        }
        _ => Err(InvalidInput::PartType(kind.chars().take(32).collect())),
    }
}

fn image(part: &Reader<'_>) -> Result<MessagePart, InvalidInput> {
    let source = part.optional_object("source")?.ok_or(InvalidInput::ImageWithoutUrl)?;
    if source.required_text("type")? != "url" {
        return Err(InvalidInput::ImageWithoutUrl);
    }
    let (url, mime_type) = (source.required_text("value")?, source.optional_text("mimeType")?);
    Ok(MessagePart::Image(ImageReference { url, mime_type }))
}
