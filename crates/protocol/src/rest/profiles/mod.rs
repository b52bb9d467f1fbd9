//! Provider profiles. A credential goes in and never comes out.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A provider profile, without its credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileView {
    #[schema(example = "codex")]
    pub profile: String,
    /// tenant: its own; shared: the operator's, for all tenants; none: nothing is kept under this name.
    #[schema(example = "tenant")]
    pub scope: String,
    pub built_in: bool,
    /// Whether a run of it has all that it needs.
    pub configured: bool,
    /// secret-unavailable where it is not configured.
    pub failure_kind: Option<String>,
    /// codex, acp or script; none where nothing is kept.
    pub backend: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    /// responses or chat.
    pub wire_api: Option<String>,
    pub secret_ref: SecretRefView,
    /// Changes with every change of the profile.
    pub resource_version: Option<String>,
    /// The last digits of the credential's SHA-256, to tell two apart.
    pub hash_suffix: Option<String>,
    pub updated_at: Option<Timestamp>,
    /// The last time that this tenant tried it.
    pub last_validation: Option<ValidationView>,
}

/// The name of a secret, and what is in it; never a value.
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

/// A credential, and what belongs to it. What is left out stays as it was. Never logged: it has no `Debug`.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutCredential {
    /// The provider's key. No answer ever has it.
    #[schema(format = Password, min_length = 1, max_length = 8192, pattern = r"^[\x21-\x7e]+$")]
    pub credential: String,
    /// Where the provider answers: https, without user or query.
    #[schema(example = "https://api.example.org/v1")]
    pub base_url: Option<String>,
    #[schema(min_length = 1, max_length = 128, pattern = r"^[\x21-\x7e]+$")]
    pub model: Option<String>,
    /// responses or chat.
    #[schema(pattern = "^(responses|chat)$")]
    pub wire_api: Option<String>,
}

/// Whose profiles.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ProfilesQuery {
    /// A tenant's id or slug. Only a service key, which has one tenant, may leave it out.
    pub tenant_id: Option<String>,
}

/// Whose profile to change.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ChangeProfileQuery {
    /// A tenant's id or slug. Only a service key, which has one tenant, may leave it out.
    pub tenant_id: Option<String>,
    /// tenant: its own; shared: the one for all tenants, for those who operate the installation.
    #[param(pattern = "^(tenant|shared)$")]
    pub scope: Option<String>,
}

/// How trying a profile came out.
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
    /// The run that tried it.
    pub run_id: String,
    pub command_id: String,
    /// The version of the profile that was tried; none where its runner keeps it.
    pub resource_version: Option<String>,
    pub created_at: Timestamp,
    /// It has come out by then, whatever happens.
    pub deadline_at: Timestamp,
    pub settled_at: Option<Timestamp>,
}
