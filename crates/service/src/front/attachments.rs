//! Attachments: images that applications upload, and then name in a run of an agent by a signed URL.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::front::attachment::{Attachment, AttachmentLimits, AttachmentOwner, ImageType};
use guildhall_domain::front::attachment_link::AttachmentLink;
use guildhall_domain::ids::AttachmentId;
use guildhall_identity::attachment_key::AttachmentKey;
use guildhall_runtime::Clock;
use guildhall_store::{Store, attachments};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::warn;

use super::error::FrontError;
use super::object_storage::{ObjectContent, ObjectStorage};
use crate::ServiceError;

/// How many of the largest uploads a replica holds in memory at once.
const BUFFERED_UPLOADS: u64 = 16;

/// What the configuration says about attachments.
#[derive(Debug, Clone)]
pub struct AttachmentOptions {
    /// None where the server stores no attachments.
    pub storage: Option<ObjectStorage>,
    pub key: Arc<AttachmentKey>,
    pub limits: AttachmentLimits,
    pub url_lifetime: Duration,
    /// The origin of URLs, such as `https://guildhall.example.org`.
    pub origin: String,
}

/// A URL by which an attachment can be read until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedUrl {
    pub url: String,
    pub expires_at: Timestamp,
}

/// An image that was received and is not stored yet.
#[derive(Debug)]
pub struct ReceivedImage {
    image_type: ImageType,
    content: Vec<u8>,
    _buffer: Option<OwnedSemaphorePermit>,
}

/// Stores, signs and reads attachments.
#[derive(Debug, Clone)]
pub struct Attachments {
    pub(super) store: Store,
    clock: Clock,
    pub(super) options: Arc<AttachmentOptions>,
    /// Bytes that uploads may hold in memory.
    buffers: Arc<Semaphore>,
}

impl Attachments {
    #[must_use]
    pub fn new(store: Store, clock: Clock, options: AttachmentOptions) -> Self {
        let bytes = options.limits.max_bytes.saturating_mul(BUFFERED_UPLOADS);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { store, clock, options: Arc::new(options), buffers: Arc::new(Semaphore::new(bytes)) }
    }

    /// Receives an image. Ends as soon as it is too large, or its first bytes are not those of the declared type.
    pub async fn receive<B: AsRef<[u8]>, E>(
        &self,
        content_type: &str,
        body: impl Stream<Item = Result<B, E>>,
    ) -> Result<ReceivedImage, ServiceError> {
        self.storage()?;
        let image_type = ImageType::from_content_type(content_type)?;
        let mut image = ReceivedImage { image_type, content: Vec::new(), _buffer: None };
        let mut body = std::pin::pin!(body);
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| FrontError::IncompleteAttachment)?;
            self.append(&mut image, chunk.as_ref())?;
        }
        image_type.check(&image.content)?;
        Ok(image)
    }

    fn append(&self, image: &mut ReceivedImage, chunk: &[u8]) -> Result<(), ServiceError> {
        let max = self.options.limits.max_bytes;
        if u64::try_from(image.content.len() + chunk.len()).is_ok_and(|size| size > max) {
            return Err(FrontError::AttachmentTooLarge(max).into());
        }
        let bytes = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.buffers).try_acquire_many_owned(bytes);
        let permit = permit.map_err(|_| ServiceError::Overloaded)?;
        match &mut image._buffer {
            Some(buffer) => buffer.merge(permit),
            None => image._buffer = Some(permit),
        }
        image.content.extend_from_slice(chunk);
        if image.content.len() >= ImageType::SIGNATURE_BYTES {
            image.image_type.check(&image.content)?;
        }
        Ok(())
    }

    /// Stores an image of the caller. The row is there before the object, and is found only after it. If the storage fails,
    /// the object may still appear later: the row stays, and [`super::attachment_removal`] removes both.
    pub async fn store(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        image: ReceivedImage,
    ) -> Result<(Attachment, SignedUrl), ServiceError> {
        let ReceivedImage { image_type, content, _buffer } = image;
        let owner = AttachmentOwner { tenant: caller.tenant(), principal: caller.principal };
        let size_bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let attachment = Attachment { id: AttachmentId::generate(), owner, image_type, size_bytes };
        let mut tx = self.store.begin().await?;
        let unreferenced = attachments::lock_unreferenced_bytes(&mut tx, owner).await?;
        self.options.limits.admit(unreferenced, size_bytes)?;
        attachments::insert(&mut tx, &attachment).await?;
        tx.commit().await?;
        self.storage()?.put(&attachment.object_key(), content).await?;
        if !attachments::mark_stored(&self.store, attachment.id).await? {
            return Err(ServiceError::NOT_FOUND);
        }
        Ok((attachment, self.sign(owner, attachment.id)))
    }

    /// Returns a new URL of an attachment. It is valid only if the attachment has this owner.
    #[must_use]
    pub fn sign(&self, owner: AttachmentOwner, id: AttachmentId) -> SignedUrl {
        let AttachmentOptions { key, url_lifetime, origin, .. } = &*self.options;
        let link = key.sign(owner, id, self.clock.now(), *url_lifetime);
        SignedUrl { url: format!("{origin}{link}"), expires_at: link.claims.expires_at }
    }

    /// Returns the attachment of a link, and for how many seconds the link is valid. A link that was forged, has expired
    /// or belongs to a removed attachment is not found.
    pub async fn verify(&self, link: &AttachmentLink) -> Result<(Attachment, u64), ServiceError> {
        let now = self.clock.now();
        if link.claims.is_expired(now) {
            return Err(ServiceError::NOT_FOUND);
        }
        let found = attachments::find(&self.store, link.claims.id).await?;
        let found = found.filter(|found| self.options.key.verify(link, found.owner, now));
        Ok((found.ok_or(ServiceError::NOT_FOUND)?, link.claims.seconds_left(now)))
    }

    /// Opens the content of an attachment.
    pub async fn read(&self, attachment: &Attachment) -> Result<ObjectContent, ServiceError> {
        let content = self.storage()?.get(&attachment.object_key()).await?;
        let content = content.filter(|content| content.size_bytes == attachment.size_bytes);
        content.ok_or_else(|| {
            let id = attachment.id;
            warn!(attachment.id = %id, "the object of {id} is missing or has another size");
            ServiceError::NOT_FOUND
        })
    }

    /// Returns the attachment that a run input names by URL: one of the caller, in the tenant of the run, with a valid
    /// signature. Every other URL gets the same error.
    pub async fn resolve(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        url: &str,
    ) -> Result<Attachment, ServiceError> {
        let owner = AttachmentOwner { tenant: caller.tenant(), principal: caller.principal };
        let link = AttachmentLink::parse(url, &self.options.origin);
        let link = link.map_err(|_| FrontError::InvalidAttachmentUrl)?;
        if !self.options.key.verify(&link, owner, self.clock.now()) {
            return Err(FrontError::InvalidAttachmentUrl.into());
        }
        let found = attachments::find(&self.store, link.claims.id).await?;
        Ok(found.filter(|found| found.owner == owner).ok_or(FrontError::InvalidAttachmentUrl)?)
    }

    pub(super) fn storage(&self) -> Result<&ObjectStorage, ServiceError> {
        self.options.storage.as_ref().ok_or_else(|| FrontError::NoAttachmentStorage.into())
    }
}
