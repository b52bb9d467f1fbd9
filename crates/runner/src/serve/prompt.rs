//! The prompt of a command: its text, and its images, which are read from the server.

use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::front::attachment::{AttachmentReference, ImageType};
use guildhall_domain::ids::AttachmentId;
use guildhall_domain::runs::turn_prompt::turn_prompt;
use guildhall_protocol::rest::front::agent_runs::MAX_ATTACHMENTS;
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::{LeasedRun, RunAttachment};
use serde_json::Value;
use tokio::time::sleep;
use tracing::warn;

use crate::backend::{BackendFailure, Prompt, PromptImage};

/// The size of one image, whatever the server allows. Agents hold it in memory, as base64.
const MAX_IMAGE_BYTES: usize = 20 * 1024 * 1024;

/// How often an image is requested while the server is unreachable: half a minute, like the other calls of a runner.
const MAX_TRIES: u32 = 60;

const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Returns the text for the agent in a command's payload.
pub(super) fn prompt_text(payload: &Value) -> String {
    turn_prompt(payload)
}

/// Returns the prompt of a turn. Reads its images with the token of the run.
pub(super) async fn read_prompt(held: &LeasedRun, payload: &Value) -> Result<Prompt, BackendFailure> {
    let (text, references) = (prompt_text(payload), AttachmentReference::list_in(payload));
    if references.len() > MAX_ATTACHMENTS {
        let message = format!("a message has at most {MAX_ATTACHMENTS} images");
        return Err(BackendFailure::new(FailureKind::InvalidInput, message));
    }
    let mut images = Vec::with_capacity(references.len());
    for AttachmentReference { id, mime_type } in references {
        let read = read_image(held, id).await.map_err(|error| download_failure(id, &error))?;
        images.push(check_image(id, mime_type, read)?);
    }
    Ok(Prompt { text, images })
}

async fn read_image(held: &LeasedRun, id: AttachmentId) -> Result<RunAttachment, ClientError> {
    let mut tries = 1;
    loop {
        match held.attachment(id, MAX_IMAGE_BYTES).await {
            Err(error) if error.is_transient() && tries < MAX_TRIES => {
                warn!("cannot read {id}: {error}");
                tries += 1;
                sleep(RETRY_DELAY).await;
            }
            read => return read,
        }
    }
}

fn download_failure(id: AttachmentId, error: &ClientError) -> BackendFailure {
    let kind = match error.kind() {
        Some(FailureKind::NotFound) => FailureKind::InvalidInput,
        Some(_) | None => FailureKind::InfraFailed,
    };
    BackendFailure::new(kind, format!("cannot read the image {id} of the message: {error}"))
}

/// Checks the content again: an agent gets what the message says.
fn check_image(
    id: AttachmentId,
    image_type: ImageType,
    read: RunAttachment,
) -> Result<PromptImage, BackendFailure> {
    let RunAttachment { content_type, content } = read;
    if content_type == image_type.as_str() && ImageType::sniff(&content) == Some(image_type) {
        return Ok(PromptImage { id, image_type, content });
    }
    let message = format!("the image {id} of the message is not {image_type}");
    Err(BackendFailure::new(FailureKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_another_type_is_refused() {
        let (id, png) = (AttachmentId::generate(), b"\x89PNG\r\n\x1a\n".to_vec());
        let read = |content_type: &str, content: &[u8]| {
            let read = RunAttachment { content_type: content_type.to_owned(), content: content.to_vec() };
            check_image(id, ImageType::Png, read)
        };
        let image = PromptImage { id, image_type: ImageType::Png, content: png.clone() };
        assert_eq!(read("image/png", &png), Ok(image));
        for (content_type, content) in [
            ("image/gif", &*png),
            ("text/html", &png),
            ("image/png", b"GIF89a"),
            ("image/png", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
            ("image/png", b""),
        ] {
            let message = format!("the image {id} of the message is not image/png");
            let failure = BackendFailure::new(FailureKind::InvalidInput, message);
            assert_eq!(read(content_type, content), Err(failure), "{content_type} {content:?}");
        }
    }
}
