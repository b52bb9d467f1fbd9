//! Git bundles that are uploaded as workspaces.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base64_bytes::Base64Bytes;

/// A part of a bundle.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutBundlePart {
    /// 1 MiB before the encoding; the last part has the rest.
    pub content: Base64Bytes,
}

/// The stored part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundleUploadView {
    pub run_id: String,
    pub number: u32,
    /// Parts that were not uploaded yet. The run takes commands when there are none.
    pub missing_parts: u64,
}

/// A part of a bundle, for the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundlePartView {
    pub run_id: String,
    pub number: u32,
    pub content: Base64Bytes,
}
