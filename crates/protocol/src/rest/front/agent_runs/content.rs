//! The content of a user message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::error::AgentRunInputError;
use super::fields::Fields;

/// Characters of the text of a user message, over all its text blocks.
pub const MAX_USER_TEXT_CHARS: usize = 10_000;

/// Attachments of a user message.
pub const MAX_ATTACHMENTS: usize = 3;

/// An image that a user message refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAttachment {
    /// As the client sent it. Whether it is a signed URL of this server is checked where attachments are.
    pub url: String,
    #[schema(example = "image/png")]
    pub mime_type: String,
    pub filename: Option<String>,
    /// The client's own id of the attachment.
    pub id: Option<String>,
}

/// Content with the form of the schema, before the rules of the protocol.
pub(super) enum AgentRunContent {
    Text(String),
    Blocks(Vec<Block>),
}

pub(super) enum Block {
    Text(String),
    Binary(BinaryBlock),
}

/// A binary block. Values of a wrong type are kept: the rules have their own messages for them.
pub(super) struct BinaryBlock {
    mime_type: Option<Value>,
    url: Option<Value>,
    data: Option<Value>,
    filename: Option<String>,
    id: Option<String>,
}

pub(super) fn parse_content(path: &str, value: Option<Value>) -> Result<AgentRunContent, AgentRunInputError> {
    match value {
        Some(Value::String(text)) => Ok(AgentRunContent::Text(text)),
        Some(Value::Array(blocks)) => {
            let blocks = blocks.into_iter().enumerate();
            let blocks = blocks.map(|(index, block)| parse_block(&format!("{path}[{index}]"), block));
            blocks.collect::<Result<_, _>>().map(AgentRunContent::Blocks)
        }
        _ => Err(AgentRunInputError::expected(path, "a string or an array of content blocks")),
    }
}

fn parse_block(path: &str, value: Value) -> Result<Block, AgentRunInputError> {
    let mut fields = Fields::new(path, value)?;
    match fields.string("type")?.as_str() {
        "text" => fields.string("text").map(Block::Text),
        "binary" => Ok(Block::Binary(BinaryBlock {
            mime_type: fields.take("mimeType")?,
            url: fields.take("url")?,
            data: fields.take("data")?,
            filename: fields.optional_string("filename")?,
            id: fields.optional_string("id")?,
        })),
        _ => Err(fields.expected("type", "text or binary")),
    }
}

impl AgentRunContent {
    /// Returns an error if the text is too long. Line breaks that join blocks do not count.
    pub(super) fn check_text(&self) -> Result<(), AgentRunInputError> {
        let chars: usize = match self {
            Self::Text(text) => text.chars().count(),
            Self::Blocks(blocks) => blocks.iter().map(Block::text_chars).sum(),
        };
        if chars > MAX_USER_TEXT_CHARS { Err(AgentRunInputError::UserTextTooLong) } else { Ok(()) }
    }

    /// Returns the text, with a line break between blocks, and the attachments.
    pub(super) fn into_parts(self) -> Result<(String, Vec<AgentAttachment>), AgentRunInputError> {
        let blocks = match self {
            Self::Text(text) => return Ok((text, Vec::new())),
            Self::Blocks(blocks) => blocks,
        };
        let (mut texts, mut attachments) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::Text(text) => texts.push(text),
                Block::Binary(binary) => attachments.push(binary.into_attachment()?),
            }
        }
        if attachments.len() > MAX_ATTACHMENTS {
            return Err(AgentRunInputError::TooManyAttachments);
        }
        Ok((texts.join("\n"), attachments))
    }
}

impl Block {
    fn text_chars(&self) -> usize {
        match self {
            Self::Text(text) => text.chars().count(),
            Self::Binary(_) => 0,
        }
    }
}

impl BinaryBlock {
    /// Checks `data` before `url`, so that a client which sends data instead of a URL is told that data is not allowed.
    fn into_attachment(self) -> Result<AgentAttachment, AgentRunInputError> {
        let mime_type = non_empty(self.mime_type).filter(|name| is_image(name));
        let mime_type = mime_type.ok_or(AgentRunInputError::BinaryNotImage)?;
        if self.data.is_some() {
            return Err(AgentRunInputError::BinaryWithData);
        }
        let url = non_empty(self.url).ok_or(AgentRunInputError::BinaryWithoutUrl)?;
        Ok(AgentAttachment { url, mime_type, filename: self.filename, id: self.id })
    }
}

fn non_empty(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Returns whether a media type is `image/` and a subtype. Media types have no case.
fn is_image(mime_type: &str) -> bool {
    mime_type.split_once('/').is_some_and(|(kind, subtype)| {
        kind.eq_ignore_ascii_case("image") && subtype.starts_with(|first: char| first.is_ascii_alphanumeric())
    })
}
