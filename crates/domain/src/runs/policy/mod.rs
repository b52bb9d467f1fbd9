//! What a new run may ask for, and who says no.
//!
//! A caller asks for a run on some project, workspace, provider and backend, under some authority: how far its sandbox
//! reaches, whether somebody is asked, how long, with which network and which secrets. A tenant has bounds for each of
//! these. Asking for less is always granted, asking for more never, and what was left out is filled in from the bounds
//! and written down, so that a stored run says in full what it was allowed.
//!
//! Deliberately not here: whether somebody may touch that repository or that device. Such rules are the caller's own.
//! No secret value either: a run names secrets, and a field that could hold a value is refused.

mod admit;
mod allow_list;
mod authority;
mod bounds;
mod name;
mod policy;
mod profile;
mod refusal;
mod secret_ref;
mod secret_scope;
mod timeout;
mod trace_sink;
mod workspace;

pub use admit::{Admitted, NewRunAsk, RunTerms};
pub use allow_list::{AllowList, InvalidPattern};
pub use authority::{Approval, Network, Sandbox};
pub use bounds::{Bounds, SecretBounds, WidestPolicy};
pub use name::{InvalidName, ProjectName, ProviderName};
pub use policy::{ExecutionPolicy, PolicyAsk};
pub use profile::{BackendProfile, InvalidProfile};
pub use refusal::{Field, Refusal};
pub use secret_ref::{InvalidSecretRef, SecretRef};
pub use secret_scope::{InvalidSecretScope, SecretScope};
pub use timeout::{InvalidTimeout, RunTimeout};
pub use trace_sink::{InvalidSink, SinkName, TraceSink};
pub use workspace::{
    Bundle, CommitId, GitPoint, GitRef, GitSource, InvalidWorkspace, RelativePath, RepoUrl, WorkspacePath,
    WorkspaceRef,
};
