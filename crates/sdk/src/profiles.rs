//! Provider profiles. A credential goes in and never comes out.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::profiles::{ProfileView, ProfilesView, ValidationView};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::client::keyed;
use crate::{Client, ClientError};

const PROFILES: &str = "provider-profiles";

/// Whose a profile is that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileScope {
    Tenant(TenantId),
    /// The operator's, for all tenants.
    Shared,
}

/// A credential to keep, with what belongs to it. What is left out stays as it was.
#[derive(Debug, Clone)]
pub struct CredentialAsk<'a> {
    pub credential: &'a SecretString,
    pub base_url: Option<&'a str>,
    pub model: Option<&'a str>,
    pub wire_api: Option<&'a str>,
}

impl Client {
    /// Lists the profiles that runs of a tenant may name.
    pub async fn list_profiles(&self, tenant: TenantId) -> Result<Vec<ProfileView>, ClientError> {
        let view: ProfilesView = self.call(self.query(&[PROFILES], &[("tenantId", tenant)])).await?;
        Ok(view.profiles)
    }

    pub async fn profile(&self, tenant: TenantId, slug: &str) -> Result<ProfileView, ClientError> {
        self.call(self.query(&[PROFILES, slug], &[("tenantId", tenant)])).await
    }

    /// Gives a profile its credential, in place of the one before.
    pub async fn set_credential(
        &self,
        scope: ProfileScope,
        slug: &str,
        ask: &CredentialAsk<'_>,
    ) -> Result<ProfileView, ClientError> {
        let mut body = json!({ "credential": ask.credential.expose_secret() });
        for (name, value) in [("baseUrl", ask.base_url), ("model", ask.model), ("wireApi", ask.wire_api)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        self.call(self.scoped(Method::PUT, &[PROFILES, slug, "credential"], scope).json(&body)).await
    }

    /// Forgets a profile and its credential.
    pub async fn remove_profile(&self, scope: ProfileScope, slug: &str) -> Result<(), ClientError> {
        self.command(self.scoped(Method::DELETE, &[PROFILES, slug], scope)).await
    }

    /// Begins to try a profile: one short turn, which costs what it costs.
    pub async fn validate_profile(
        &self,
        tenant: TenantId,
        slug: &str,
        idempotency_key: Option<&str>,
    ) -> Result<ValidationView, ClientError> {
        let scope = ProfileScope::Tenant(tenant);
        self.call(keyed(self.scoped(Method::POST, &[PROFILES, slug, "validate"], scope), idempotency_key))
            .await
    }

    /// Returns how trying a profile came out, or that it is still tried.
    pub async fn validation(
        &self,
        tenant: TenantId,
        slug: &str,
        validation: &str,
    ) -> Result<ValidationView, ClientError> {
        self.call(self.query(&[PROFILES, slug, "validations", validation], &[("tenantId", tenant)])).await
    }

    fn scoped(&self, method: Method, segments: &[&str], scope: ProfileScope) -> RequestBuilder {
        let query = match scope {
            ProfileScope::Tenant(tenant) => ("tenantId", tenant.to_string()),
            ProfileScope::Shared => ("scope", "shared".to_owned()),
        };
        self.request_with(method, segments, &[query])
    }
}
