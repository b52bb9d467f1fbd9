//! Workspaces of runs, for the API document.
//!
//! The server parses a workspace with `guildhall_domain::runs::policy::WorkspaceRef`, which has further rules. The test
//! below compares the two. A new kind is a struct here and a line in `kinds`.

use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::tagged_union::{NamedSchemas, TaggedUnion};

const DESCRIPTION: &str = "The workspace of a run, by `kind`. It never contains a credential.";

/// The workspace of a run.
#[derive(Debug)]
pub struct WorkspaceRef;

fn kinds() -> TaggedUnion {
    TaggedUnion::new("kind")
        .variant::<EmptyWorkspace>("empty")
        .variant::<DirectoryWorkspace>("directory")
        .variant::<CopyWorkspace>("copy")
        .variant::<GitWorkspace>("git")
        .variant::<GitBundleWorkspace>("gitbundle")
        .variant::<BundleWorkspace>("bundle")
}

impl PartialSchema for WorkspaceRef {
    fn schema() -> RefOr<Schema> {
        kinds().schema(DESCRIPTION)
    }
}

impl ToSchema for WorkspaceRef {
    fn schemas(schemas: &mut NamedSchemas) {
        kinds().schemas(schemas);
    }
}

/// A new, empty directory.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyWorkspace {}

/// An existing directory on the runner's machine. The agent works in it.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectoryWorkspace {
    /// Absolute, or relative to the workspace directory of the runner. Without `.`, `..` and backslashes.
    #[schema(example = "/srv/acme/web", min_length = 1, max_length = 1025)]
    pub path: String,
}

/// A private copy of a Git repository on the runner's machine: its working tree as it is, with changes that are not
/// committed and untracked files that are not ignored.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CopyWorkspace {
    /// Absolute, or relative to the workspace directory of the runner. Without `.`, `..` and backslashes.
    #[schema(example = "/srv/acme/web", min_length = 1, max_length = 1025)]
    pub path: String,
}

/// A checkout of a Git repository. It has either `repoUrl` or `path`, and at most one of `ref` and `commitId`.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitWorkspace {
    /// URL of the repository, https or ssh, or `git@host:path`, without a credential.
    #[schema(example = "https://git.example.org/acme/web.git", max_length = 1024)]
    pub repo_url: Option<String>,
    /// Path of the repository on the runner's machine.
    #[schema(min_length = 1, max_length = 1025)]
    pub path: Option<String>,
    /// A branch or tag. By default the head of the default branch.
    #[schema(example = "main", min_length = 1, max_length = 200, pattern = "^[A-Za-z0-9._/-]+$")]
    pub r#ref: Option<String>,
    /// A full commit id.
    #[schema(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$")]
    pub commit_id: Option<String>,
}

/// Some directories of a checkout, each copied to a path in the workspace. The source is as in a `git` workspace.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitBundleWorkspace {
    /// URL of the repository, https or ssh, or `git@host:path`, without a credential.
    #[schema(example = "https://git.example.org/acme/web.git", max_length = 1024)]
    pub repo_url: Option<String>,
    /// Path of the repository on the runner's machine.
    #[schema(min_length = 1, max_length = 1025)]
    pub path: Option<String>,
    /// A branch or tag. By default the head of the default branch.
    #[schema(example = "main", min_length = 1, max_length = 200, pattern = "^[A-Za-z0-9._/-]+$")]
    pub r#ref: Option<String>,
    /// A full commit id.
    #[schema(pattern = "^([0-9a-f]{40}|[0-9a-f]{64})$")]
    pub commit_id: Option<String>,
    #[schema(min_items = 1, max_items = 32)]
    pub bundles: Vec<WorkspaceBundle>,
}

/// A directory of a repository and its path in the workspace. Both paths are relative.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceBundle {
    #[schema(example = "docs", min_length = 1, max_length = 1024)]
    pub subpath: String,
    #[schema(example = "reference/docs", min_length = 1, max_length = 1024)]
    pub target_path: String,
}

/// A Git bundle that you upload after you created the run, in parts of 1 MiB: the agent gets its own repository from it.
/// `refs/guildhall/base` in the bundle is a commit with the files of the working tree; `HEAD` is optional.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BundleWorkspace {
    /// Size of the bundle.
    #[schema(example = 4096, minimum = 1, maximum = 1099511627776_u64)]
    pub size_bytes: u64,
    /// SHA-256 of the bundle.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use guildhall_domain::runs::policy::WorkspaceRef as DomainWorkspace;
    use guildhall_testkit::schema::SchemaValidator;
    use serde_json::{Value, json};

    use super::*;
    use crate::schema_document::schema_document;

    fn validator() -> SchemaValidator {
        SchemaValidator::new(&schema_document::<WorkspaceRef>(), &WorkspaceRef::name())
    }

    /// One example for each kind. The match fails to compile without a new kind.
    fn examples() -> Vec<DomainWorkspace> {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let values = [
            json!({ "kind": "empty" }),
            json!({ "kind": "directory", "path": "/srv/acme" }),
            json!({ "kind": "copy", "path": "acme/web" }),
            json!({ "kind": "git", "repoUrl": "ssh://git@git.example.org/acme/web.git", "ref": "main" }),
            json!({ "kind": "git", "path": "/srv/acme", "commitId": commit }),
            json!({
                "kind": "gitbundle", "path": "/srv/acme", "bundles": [{ "subpath": "docs", "targetPath": "a/b" }],
            }),
            json!({ "kind": "bundle", "sizeBytes": 4096, "sha256": "0a".repeat(32) }),
        ];
        let examples: Vec<DomainWorkspace> =
            values.into_iter().map(|value| serde_json::from_value(value).expect("a workspace")).collect();
        let mut kinds = [false; 6];
        for example in &examples {
            kinds[match example {
                DomainWorkspace::Empty => 0,
                DomainWorkspace::Directory { .. } => 1,
                DomainWorkspace::Copy { .. } => 2,
                DomainWorkspace::Git { .. } => 3,
                DomainWorkspace::GitBundle { .. } => 4,
                DomainWorkspace::Bundle(_) => 5,
            }] = true;
        }
        assert_eq!(kinds, [true; 6]);
        examples
    }

    // covers: R4
    #[test]
    fn every_workspace_of_the_domain_fits_the_schema() {
        let validator = validator();
        for example in examples() {
            assert_eq!(validator.errors(&json!(example)), Vec::<String>::new(), "{example:?}");
        }
    }

    #[test]
    fn schema_and_domain_reject_the_same_forms() {
        let validator = validator();
        for value in [
            json!(null),
            json!({}),
            json!({ "kind": "tarball" }),
            json!({ "kind": "empty", "path": "/srv" }),
            json!({ "kind": "directory" }),
            json!({ "kind": "copy", "path": "/srv", "ref": "main" }),
            json!({ "kind": "git", "repoUrl": "https://git.example.org/web", "token": "hunter2" }),
            json!({ "kind": "git", "path": "/srv", "commitId": "012345" }),
            json!({ "kind": "gitbundle", "path": "/srv", "bundles": [] }),
            json!({ "kind": "bundle", "sizeBytes": 0, "sha256": "0a".repeat(32) }),
            json!({ "kind": "bundle", "sizeBytes": 1, "sha256": "0A".repeat(32) }),
            json!({ "kind": "bundle", "sizeBytes": 1 }),
            json!({ "kind": "gitbundle", "path": "/srv", "bundles": [{ "subpath": "docs" }] }),
        ] {
            assert_ne!(validator.errors(&value), Vec::<String>::new(), "{value}");
            assert!(serde_json::from_value::<DomainWorkspace>(value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn kinds_of_the_schema_are_documented_once() {
        let schema = serde_json::to_value(WorkspaceRef::schema()).expect("JSON");
        let mapping = &schema["discriminator"]["mapping"];
        assert_eq!(mapping.as_object().map(serde_json::Map::len), schema["oneOf"].as_array().map(Vec::len));
        assert_eq!(mapping["copy"], Value::from("#/components/schemas/CopyWorkspace"));
    }
}
