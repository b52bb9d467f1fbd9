//! Run policy: checks a run request against the bounds of its tenant.
//!
//! A run request names a project, a workspace, a provider and a backend profile, and an execution policy: sandbox,
//! approval, timeout, network and secrets. A tenant has bounds for each of them. A narrower request is granted, a wider
//! one is rejected, and omitted values are filled in, so that a stored run has a complete policy.
//!
//! Out of scope: whether the caller may access a repository or a device. A run never contains secret values: it
//! references secrets by name, and fields that could hold a value are rejected.

mod admit;
mod allow_list;
mod authority;
mod bounds;
mod execution;
mod name;
mod profile;
mod restrictions;
mod secret_alias;
mod secret_ref;
mod secret_scope;
mod timeout;
mod trace_sink;
mod violation;
mod workspace;

pub use admit::{AdmittedRun, RunRequest, RunSpec};
pub use allow_list::{AllowList, InvalidPattern};
pub use authority::{Approval, Network, Sandbox};
pub use bounds::{MaxPolicy, SecretBounds, TenantBounds};
pub use execution::{ExecutionPolicy, PolicyRequest};
pub use name::{InvalidName, ProjectName, ProviderName};
pub use profile::{BackendProfile, InvalidProfile};
pub use restrictions::TenantRestrictions;
pub use secret_alias::{InvalidSecretPrefix, SecretAliases};
pub use secret_ref::{InvalidSecretRef, SecretRef};
pub use secret_scope::{InvalidSecretScope, SecretScope};
pub use timeout::{InvalidTimeout, RunTimeout};
pub use trace_sink::{InvalidSink, SinkName, TraceSink};
pub use violation::{PolicyViolation, RequestField};
pub use workspace::{
    BUNDLE_PART_BYTES, Bundle, BundleLimits, CommitId, GitRef, GitRevision, GitSource, InvalidWorkspace,
    RelativePath, RepoUrl, SshRepository, UploadedBundle, WorkspacePath, WorkspaceRef,
};
