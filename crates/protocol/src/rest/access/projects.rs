//! Projects.

use guildhall_domain::access::project_setup::ProjectSetup;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A project to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateProject {
    /// Short name, unique in the tenant: lower-case letters, digits and inner dashes.
    #[schema(
        example = "website",
        min_length = 2,
        max_length = 40,
        pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    )]
    pub slug: String,
    #[schema(min_length = 1, max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    #[schema(example = "prj_01920000000070008000000000000000")]
    pub id: String,
    pub slug: String,
    pub name: String,
    pub created_at: Timestamp,
    /// How runs of this project prepare their workspace, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<ProjectSetupView>,
}

/// A shell command that prepares the workspace of a run before its agent starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectSetupView {
    #[schema(example = "npm ci")]
    pub command: String,
    /// The hosts that the command may reach.
    #[schema(example = json!(["packages.example.com"]))]
    pub allowed_hosts: Vec<String>,
    /// The files in the workspace whose content makes the key of the cache.
    #[schema(example = json!(["package-lock.json"]))]
    pub cache_files: Vec<String>,
}

impl From<ProjectSetup> for ProjectSetupView {
    fn from(setup: ProjectSetup) -> Self {
        Self {
            command: setup.command().to_owned(),
            allowed_hosts: setup.allowed_hosts().to_vec(),
            cache_files: setup.cache_files().to_vec(),
        }
    }
}

/// The new setup of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetProjectSetup {
    /// A shell command of at most 4096 bytes, without control characters except tabs and line breaks. Every member of
    /// the tenant can read it: it must contain no secret.
    #[schema(example = "npm ci", min_length = 1, max_length = 4096)]
    pub command: String,
    /// The hosts that the command may reach, in lower case: `packages.example.com`, `*.example.com` (subdomains only) or
    /// `packages.example.com:8443`. At most 253 characters each.
    #[serde(default)]
    #[schema(example = json!(["packages.example.com"]), max_items = 32)]
    pub allowed_hosts: Vec<String>,
    /// The files in the workspace whose content makes the key of the cache: relative paths of at most 256 bytes, without
    /// `.`, `..` and empty parts.
    #[serde(default)]
    #[schema(example = json!(["package-lock.json"]), max_items = 16)]
    pub cache_files: Vec<String>,
}

/// Projects sorted by slug, at most 1000.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectsView {
    pub projects: Vec<ProjectView>,
}
