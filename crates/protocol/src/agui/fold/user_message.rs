//! The message that a turn was created with.

use guildhall_domain::front::attachment::AttachmentReference;

use super::journal_event::JournalEvent;
use crate::agui::event::AguiVersion;
use crate::agui::user_content::{ContentPart, ImageSource, UserContent};

#[derive(Debug)]
pub(super) struct JournalUserMessage {
    /// The client's own id.
    pub(super) client_id: Option<String>,
    text: String,
    images: Vec<AttachmentReference>,
}

impl JournalUserMessage {
    pub(super) fn of(event: &JournalEvent) -> Self {
        Self {
            client_id: event.optional_text("clientMessageId").map(str::to_owned),
            text: event.text("text").to_owned(),
            images: event.payload.as_ref().map(AttachmentReference::list_in).unwrap_or_default(),
        }
    }

    /// Returns its content in the words of a version. The id of an image stands where its URL will be.
    pub(super) fn content(self, version: AguiVersion) -> UserContent {
        if self.images.is_empty() {
            return UserContent::Text(self.text);
        }
        let image = |AttachmentReference { id, mime_type }| {
            let (url, mime_type) = (id.to_string(), mime_type.to_string());
            match version {
                AguiVersion::V1 => ContentPart::Image { source: ImageSource::Url { value: url, mime_type } },
                AguiVersion::V0 => ContentPart::Binary { mime_type, url },
            }
        };
        let text = (!self.text.is_empty()).then_some(ContentPart::Text { text: self.text });
        UserContent::Parts(text.into_iter().chain(self.images.into_iter().map(image)).collect())
    }
}
