//! Request and response bodies of the REST API, one module per feature group and resource.

pub mod access;
pub mod agents;
pub mod approvals;
pub mod front;
pub mod identity;
pub mod ops;
pub mod profiles;
pub mod relations;
#[cfg(test)]
mod request_tests;
pub mod retention;
pub mod runners;
pub mod runs;
pub mod sessions;
pub mod webhooks;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Confirms that a credential was revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevocationView {
    /// Id of the revoked key, enrolment or invitation.
    #[schema(example = "key_01920000000070008000000000000000")]
    pub id: String,
    /// Always true.
    pub revoked: bool,
}
