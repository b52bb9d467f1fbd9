//! The storage of attachments, from the configuration.

use std::path::Path;
use std::sync::Arc;

use guildhall_domain::front::attachment::AttachmentLimits;
use guildhall_identity::attachment_key::AttachmentKey;
use guildhall_identity::seal::Kek;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::front::attachment_removal::RemoveAttachments;
use guildhall_service::front::attachments::{AttachmentOptions, Attachments};
use guildhall_service::front::object_storage::{
    BucketCredentials, BucketOptions, ObjectStorage, ObjectStorageError,
};
use guildhall_store::Store;
use secrecy::ExposeSecret;

use crate::config;

/// Why the section `attachments` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentsConfigError {
    #[error("attachments.folder and attachments.bucket exclude each other: set one of them")]
    TwoStorages,
    #[error("attachments.access_key_id and attachments.secret_access_key belong together: set both or none")]
    HalfCredentials,
    #[error("attachments.{0} must be at least one second")]
    TooShort(&'static str),
    #[error(transparent)]
    Storage(#[from] ObjectStorageError),
}

/// Checks the section. Creates nothing and connects to nothing.
pub(crate) fn check(config: &config::Attachments) -> Result<(), AttachmentsConfigError> {
    if !config.folder.is_empty() && !config.bucket.is_empty() {
        return Err(AttachmentsConfigError::TwoStorages);
    }
    if config.access_key_id.is_empty() != config.secret_access_key.expose_secret().is_empty() {
        return Err(AttachmentsConfigError::HalfCredentials);
    }
    let durations = [("upload_timeout", config.upload_timeout), ("url_lifetime", config.url_lifetime)];
    match durations.into_iter().find(|(_, duration)| duration.as_secs() == 0) {
        Some((name, _)) => Err(AttachmentsConfigError::TooShort(name)),
        None => Ok(()),
    }
}

/// Opens the service, and starts to remove attachments that no session uses.
pub(crate) fn start(
    config: &config::Attachments,
    options: AttachmentOptions,
    store: &Store,
    clock: &Clock,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) -> Attachments {
    let attachments = Attachments::new(store.clone(), clock.clone(), options);
    let removal = RemoveAttachments {
        attachments: attachments.clone(),
        unreferenced_after: config.unreferenced_after,
        stop: tasks.stop(),
    };
    reconcilers.start(tasks, config.collect_every, removal);
    attachments
}

/// Opens the storage. The key of links is derived from the key-encryption key, which all replicas share.
pub(crate) fn options(
    config: &config::Attachments,
    kek: &Kek,
    origin: String,
) -> Result<AttachmentOptions, AttachmentsConfigError> {
    let storage = match (config.folder.as_str(), config.bucket.as_str()) {
        ("", "") => None,
        ("", _) => Some(ObjectStorage::in_bucket(&bucket(config))?),
        (folder, _) => Some(ObjectStorage::in_folder(Path::new(folder))?),
    };
    let limits = AttachmentLimits {
        max_bytes: u64::try_from(config.max_bytes.get()).unwrap_or(u64::MAX),
        max_unreferenced_bytes: config.max_unreferenced_bytes.get(),
    };
    let key = Arc::new(AttachmentKey::new(kek));
    Ok(AttachmentOptions { storage, key, limits, url_lifetime: config.url_lifetime, origin })
}

fn bucket(config: &config::Attachments) -> BucketOptions {
    let credentials = (!config.access_key_id.is_empty()).then(|| BucketCredentials {
        access_key_id: config.access_key_id.clone(),
        secret_access_key: config.secret_access_key.clone(),
    });
    BucketOptions {
        bucket: config.bucket.clone(),
        region: config.region.clone(),
        endpoint: Some(config.endpoint.clone()).filter(|endpoint| !endpoint.is_empty()),
        credentials,
    }
}
