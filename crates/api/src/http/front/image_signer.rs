//! Signed URLs of the images in a stream.

use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::front::attachment::AttachmentOwner;
use guildhall_protocol::agui::event::{AguiEvent, Message};
use guildhall_protocol::agui::fold::Frame;
use guildhall_service::front::attachments::Attachments;

use crate::App;

/// Signs the URLs of images for the owner of a thread.
#[derive(Debug)]
pub(super) struct ImageSigner {
    attachments: Attachments,
    owner: AttachmentOwner,
}

impl ImageSigner {
    pub(super) fn new(app: &App, caller: &ThreadOwner<RunsRead>) -> Self {
        let owner = AttachmentOwner { tenant: caller.tenant(), principal: caller.principal };
        Self { attachments: app.front.attachments.clone(), owner }
    }

    /// Replaces the ids of images by URLs. A replay gets new ones: those of the message may have expired.
    pub(super) fn sign(&self, frame: &mut Frame) {
        let AguiEvent::RunStarted { input: Some(input), .. } = &mut frame.event else { return };
        for url in input.messages.iter_mut().flat_map(Message::image_urls) {
            if let Ok(id) = url.parse() {
                *url = self.attachments.sign(self.owner, id).url;
            }
        }
    }
}
