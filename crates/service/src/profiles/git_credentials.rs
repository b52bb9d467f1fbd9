//! Credentials of git hosts, which the runs of a tenant fetch repositories with.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::ProfilesManage;
use guildhall_domain::profiles::git_credential::{GitCredentialKind, GitHost, StoredGitCredential};
use guildhall_launcher::secrets::GitCredentialStore;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::error::ProfileError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;

/// Credentials that a tenant may have.
const MAX_CREDENTIALS: usize = 200;

/// Sets, lists and deletes the credentials of git hosts.
#[derive(Debug, Clone)]
pub struct GitCredentials {
    deps: Deps,
}

impl GitCredentials {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Lists the credentials of a tenant, without their values.
    pub async fn list(
        &self,
        caller: &Authorized<ProfilesManage>,
    ) -> Result<Vec<StoredGitCredential>, ServiceError> {
        match &self.deps.credentials.git {
            Some(store) => Ok(store.list(caller.tenant()).await?),
            None => Ok(Vec::new()),
        }
    }

    /// Stores a credential, instead of an earlier one.
    pub async fn set(
        &self,
        caller: &Authorized<ProfilesManage>,
        host: GitHost,
        kind: GitCredentialKind,
        value: SecretString,
    ) -> Result<StoredGitCredential, ServiceError> {
        let store = self.store()?;
        kind.check(value.expose_secret()).map_err(|error| ServiceError::Invalid(error.to_string()))?;
        let stored = store.list(caller.tenant()).await?;
        let is_replaced = stored.iter().any(|stored| stored.host == host && stored.kind == kind);
        if !is_replaced && stored.len() >= MAX_CREDENTIALS {
            return Err(ProfileError::TooManyGitCredentials(MAX_CREDENTIALS).into());
        }
        // Audited first: an unaudited change is worse than an entry about one that failed.
        self.record(caller, "git_credential.set", &host, kind).await?;
        Ok(store.set(caller.tenant(), host, kind, value).await?)
    }

    /// Deletes a credential.
    pub async fn delete(
        &self,
        caller: &Authorized<ProfilesManage>,
        host: GitHost,
        kind: GitCredentialKind,
    ) -> Result<(), ServiceError> {
        let store = self.store()?;
        let stored = store.list(caller.tenant()).await?;
        if !stored.iter().any(|stored| stored.host == host && stored.kind == kind) {
            return Err(ServiceError::NOT_FOUND);
        }
        self.record(caller, "git_credential.deleted", &host, kind).await?;
        store.delete(caller.tenant(), host, kind).await?;
        Ok(())
    }

    fn store(&self) -> Result<&GitCredentialStore, ProfileError> {
        self.deps.credentials.git.as_ref().ok_or(ProfileError::NoStore)
    }

    async fn record(
        &self,
        caller: &Authorized<ProfilesManage>,
        action: &'static str,
        host: &GitHost,
        kind: GitCredentialKind,
    ) -> Result<(), ServiceError> {
        let mut tx = self.deps.store.begin().await?;
        let event = AuditEvent::by_member(caller, action, host.to_string(), json!({ "kind": kind }));
        audit::record(&mut tx, &event).await?;
        Ok(tx.commit().await?)
    }
}
