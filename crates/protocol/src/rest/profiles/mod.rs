//! Provider profiles. Credentials are write-only.

pub mod git_credentials;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A provider profile, without its credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileView {
    #[schema(example = "codex")]
    pub profile: String,
    /// tenant (defined by the tenant), shared (defined by the operator for all tenants) or none (not stored).
    #[schema(example = "tenant")]
    pub scope: String,
    pub built_in: bool,
    /// Whether everything that a run needs is configured.
    pub configured: bool,
    /// secret-unavailable if it is not configured.
    pub failure_kind: Option<String>,
    /// codex, acp or script; null if nothing is stored and no template has this name.
    pub backend: Option<String>,
    /// The program of the agent.
    #[schema(example = "codex")]
    pub agent: Option<String>,
    /// URL of the provider that receives the credential.
    pub base_url: Option<String>,
    pub model: Option<String>,
    /// responses or chat.
    pub wire_api: Option<String>,
    pub secret_ref: SecretRefView,
    /// Version of the stored profile. Changes with every update.
    pub resource_version: Option<String>,
    /// Last digits of the credential's SHA-256 hash, to distinguish credentials.
    pub hash_suffix: Option<String>,
    pub updated_at: Option<Timestamp>,
    /// The last validation by this tenant.
    pub last_validation: Option<ValidationView>,
}

/// The name of a secret and its keys, without values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRefView {
    #[schema(example = "guildhall-provider-codex")]
    pub name: String,
    pub keys: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfilesView {
    pub profiles: Vec<ProfileView>,
}

/// Confirms that a profile and its credential were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedProfileView {
    #[schema(example = "codex")]
    pub profile: String,
    /// Always true.
    pub deleted: bool,
}

/// A credential and its settings. Omitted settings are unchanged, or those of the template. It has no `Debug`, so that it is never logged.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutCredential {
    /// The provider's API key. Never returned.
    #[schema(format = Password, min_length = 1, max_length = 8192, pattern = r"^[\x21-\x7e]+$")]
    pub credential: String,
    /// Name of a template: the agent and its provider. By default the stored settings, or else the template with the name
    /// of the profile.
    #[schema(
        min_length = 1,
        max_length = 40,
        pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
        example = "codex"
    )]
    pub template: Option<String>,
    /// URL of the provider: https, without user or query.
    #[schema(example = "https://api.example.org/v1")]
    pub base_url: Option<String>,
    #[schema(min_length = 1, max_length = 128, pattern = r"^[\x21-\x7e]+$")]
    pub model: Option<String>,
    /// responses or chat.
    #[schema(pattern = "^(responses|chat)$")]
    pub wire_api: Option<String>,
}

/// Query parameters of the profile list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ProfilesQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    pub tenant_id: Option<String>,
}

/// Query parameters of profile changes.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ChangeProfileQuery {
    /// Id or slug of the tenant. Optional for service keys, which belong to one tenant.
    pub tenant_id: Option<String>,
    /// tenant (default) or shared. Only operators of the installation can change shared profiles.
    #[param(pattern = "^(tenant|shared)$")]
    pub scope: Option<String>,
}

/// Validation of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidationView {
    #[schema(example = "val_01920000000070008000000000000000")]
    pub validation_id: String,
    pub profile: String,
    /// pending, ok or failed.
    #[schema(example = "ok")]
    pub status: String,
    pub failure_kind: Option<String>,
    pub message: Option<String>,
    /// The run of the test turn.
    pub run_id: String,
    pub command_id: String,
    /// The validated version of the profile; null if the profile is stored by its runner.
    pub resource_version: Option<String>,
    pub created_at: Timestamp,
    /// The validation has an outcome by then.
    pub deadline_at: Timestamp,
    pub settled_at: Option<Timestamp>,
}
