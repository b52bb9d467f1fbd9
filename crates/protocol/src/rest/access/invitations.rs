//! Invitations.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An invitation to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateInvitation {
    /// What whoever accepts becomes, not above your own role.
    #[schema(example = "developer", pattern = "^(owner|operator|developer|viewer)$")]
    pub role: String,
    /// For whom it is, such as an address of mail. A note for you: nothing is sent, and nothing is compared with it.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    #[serde(default)]
    pub email: Option<String>,
}

/// An invitation that was made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewInvitationView {
    #[schema(example = "inv_01920000000070008000000000000000")]
    pub id: String,
    /// The secret: whoever has it can accept, once. It is shown this once; a replay of the same request has none.
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvitationView {
    pub id: String,
    pub role: String,
    /// The note of whoever invited.
    pub email: Option<String>,
    pub invited_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub accepted_at: Option<Timestamp>,
    pub accepted_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvitationsView {
    pub invitations: Vec<InvitationView>,
}

/// An invitation to accept. Never logged: it has no `Debug`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptInvitation {
    /// Its secret.
    #[schema(format = Password)]
    pub secret: String,
}

/// What an invitation gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JoinedView {
    #[schema(example = "ten_01920000000070008000000000000000")]
    pub tenant: String,
    pub role: String,
}
