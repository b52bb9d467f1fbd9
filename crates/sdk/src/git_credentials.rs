//! Credentials of git hosts.

use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::git_credential::{GitCredentialKind, GitHost};
use guildhall_protocol::rest::profiles::git_credentials::{
    DeletedGitCredentialView, GitCredentialView, GitCredentialsView, PutGitCredential,
};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};

use crate::{Client, ClientError};

impl Client {
    /// Lists the credentials of a tenant, without their values.
    pub async fn list_git_credentials(
        &self,
        tenant: TenantId,
    ) -> Result<Vec<GitCredentialView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "git-credentials"]);
        Ok(self.call::<GitCredentialsView>(request).await?.credentials)
    }

    /// Sets the credential of a git host. Idempotent.
    pub async fn set_git_credential(
        &self,
        tenant: TenantId,
        host: &GitHost,
        kind: GitCredentialKind,
        credential: &SecretString,
    ) -> Result<GitCredentialView, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "git-credentials", host.as_str(), kind.as_str()];
        let body = PutGitCredential { credential: credential.expose_secret().to_owned() };
        self.call(self.request(Method::PUT, &segments).json(&body)).await
    }

    /// Deletes the credential of a git host.
    pub async fn delete_git_credential(
        &self,
        tenant: TenantId,
        host: &GitHost,
        kind: GitCredentialKind,
    ) -> Result<DeletedGitCredentialView, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "git-credentials", host.as_str(), kind.as_str()];
        self.call(self.request(Method::DELETE, &segments)).await
    }
}
