//! Invitations.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An invitation to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateInvitation {
    /// Role of the invited member. Not above your own role.
    #[schema(example = "developer", pattern = "^(owner|operator|developer|viewer)$")]
    pub role: String,
    /// Note about the invited person, such as an email address. No email is sent, and it is not verified.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    #[serde(default)]
    pub email: Option<String>,
}

/// A created invitation.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewInvitationView {
    #[schema(example = "inv_01920000000070008000000000000000")]
    pub id: String,
    /// The secret that accepts the invitation once. Returned once; null in an idempotent replay of the request.
    pub secret: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvitationView {
    pub id: String,
    pub role: String,
    /// The note of the inviter.
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

/// An invitation to accept. It has no `Debug`, so that it is never logged.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptInvitation {
    /// The secret of the invitation.
    #[schema(format = Password)]
    pub secret: String,
}

/// The membership from an accepted invitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedInvitationView {
    #[schema(example = "ten_01920000000070008000000000000000")]
    pub tenant: String,
    pub role: String,
}
