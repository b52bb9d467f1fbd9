//! Why a workspace could not be prepared.

use guildhall_sdk::ClientError;

use crate::git_proxy::{CredentialError, FetchFailure};

/// Why there is no workspace. Messages repeat nothing of the caller's input except the kind and the host.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("this runner does not support workspaces of kind `{0}`")]
    UnsupportedKind(String),
    #[error("the workspace directory does not exist, or is not below a --workspace-root of this runner")]
    NotAllowed,
    #[error("the bounds of the tenant do not allow this workspace directory")]
    TenantDenied,
    #[error("the repository cannot be used: {0}")]
    InvalidRepository(&'static str),
    #[error("the operator does not allow repositories of the host {0}: add it to git.hosts (--git-host)")]
    HostNotAllowed(String),
    #[error("a repository is fetched by https or ssh only: use https://, ssh:// or a path")]
    UnsupportedScheme,
    #[error("the repository cannot be fetched: {0}")]
    Fetch(#[from] FetchFailure),
    #[error("cannot read the credential of the host {host}: {reason}")]
    Credential { host: String, reason: CredentialError },
    #[error(
        "there is no SSH key for the host {0}: add one as TENANT/ssh/HOST or shared/ssh/HOST to the folder git.credentials (--git-credentials)"
    )]
    NoSshKey(String),
    #[error("git could not {0}")]
    GitFailed(&'static str),
    #[error("git did not {0} in time")]
    GitTimeout(&'static str),
    #[error("a bundle path does not exist in the repository, or leads out of it")]
    InvalidBundlePath,
    #[error("the uploaded workspace is damaged: upload it again")]
    DamagedBundle,
    #[error("the workspace is larger than the limits of this runner (--agent-disk-mib, --agent-files)")]
    WorkspaceTooLarge,
    #[error("cannot download the uploaded workspace: {0}")]
    Download(ClientError),
    #[error("the changes are too large for a diff")]
    DiffTooLarge,
    #[error("cannot prepare the workspace")]
    Io(#[from] std::io::Error),
}
