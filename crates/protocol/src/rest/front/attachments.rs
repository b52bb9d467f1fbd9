//! Images that applications upload for messages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query parameters of an upload.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AttachmentsQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    #[param(min_length = 1, max_length = 64)]
    pub tenant_id: Option<String>,
}

/// The signature of a URL. Without it nothing is found.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttachmentContentQuery {
    /// When the URL expires, in seconds since 1970.
    #[param(example = "1794902400")]
    pub expires: Option<String>,
    pub signature: Option<String>,
}

/// The bytes of an image.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct ImageBytes(pub Vec<u8>);

/// A stored attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentView {
    pub id: String,
    /// The type of the image.
    #[schema(example = "image/png")]
    pub mime_type: String,
    /// In bytes.
    pub size: u64,
    /// The signed URL. Send it as the `url` of a binary content, or show it in a page.
    pub url: String,
    /// When the URL expires.
    pub expires_at: Timestamp,
}
