//! Tenants and their members.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A tenant to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTenant {
    /// Short name in URLs and commands: lower-case letters, digits and inner dashes.
    #[schema(example = "acme", min_length = 2, max_length = 40, pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
    pub slug: String,
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantView {
    #[schema(example = "ten_01920000000070008000000000000000")]
    pub id: String,
    pub slug: String,
    pub name: String,
}

/// A tenant and the caller's role in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipView {
    pub tenant: TenantView,
    /// owner, operator, developer or viewer.
    #[schema(example = "owner")]
    pub role: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantsView {
    pub tenants: Vec<MembershipView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    pub principal: String,
    pub name: String,
    pub role: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembersView {
    pub members: Vec<MemberView>,
}

/// A member to add by name.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddMember {
    /// The name that the user signs in with.
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
    /// owner, operator, developer or viewer. Not above your own role.
    #[schema(example = "developer", pattern = "^(owner|operator|developer|viewer)$")]
    pub role: String,
}

/// The new role of a member.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetMember {
    /// owner, operator, developer or viewer.
    #[schema(example = "developer", pattern = "^(owner|operator|developer|viewer)$")]
    pub role: String,
}

/// The role of a member after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberRoleView {
    pub principal: String,
    /// owner, operator, developer or viewer.
    #[schema(example = "developer")]
    pub role: String,
}

/// Confirms that a member was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberRemovalView {
    pub principal: String,
    /// Always true.
    pub removed: bool,
}
