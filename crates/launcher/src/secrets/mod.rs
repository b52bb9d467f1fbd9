//! Credentials of provider profiles: where they are stored, and how a runner gets the one that it needs.
//!
//! A profile belongs to a tenant, or to the operator and is shared by all tenants. It is stored as a directory with two
//! files: `profile.toml`, without secrets, and `credential`. The credential never appears in PostgreSQL, logs,
//! responses or the audit log: they only contain a name, a version and the last digits of a hash ([`StoredProfile`](guildhall_domain::profiles::StoredProfile)).
//!
//! The keys of the AUN issuer ([`IssuerFolder`]) and of the agents that the server answers for ([`AgentKeyFolder`]) are files too,
//! encrypted with the key-encryption key.
//!
//! [`FileStore`] stores them on this machine. A Kubernetes store would use Secrets behind the same trait.

mod agent_key_folder;
mod file_store;
mod git_store;
mod issuer_folder;
mod private_dir;
mod store;
#[cfg(test)]
mod tests;

pub use agent_key_folder::AgentKeyFolder;
pub use file_store::FileStore;
pub use git_store::GitCredentialStore;
pub use issuer_folder::{IssuerFile, IssuerFolder};
pub use store::{NewProfile, SecretError, SecretStore};
