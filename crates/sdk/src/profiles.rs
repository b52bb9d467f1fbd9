//! Provider profiles. Credentials are write-only.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::profiles::{ProfileView, ProfilesView, ValidationView};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

const PROFILES: &str = "provider-profiles";

/// The owner of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileScope {
    Tenant(TenantId),
    /// The operator's profile, shared by all tenants.
    Shared,
}

/// A credential and its settings. Omitted settings keep their value.
#[derive(Debug, Clone)]
pub struct CredentialRequest<'a> {
    pub credential: &'a SecretString,
    pub template: Option<&'a str>,
    pub base_url: Option<&'a str>,
    pub model: Option<&'a str>,
    pub wire_api: Option<&'a str>,
}

impl Client {
    /// Lists the profiles that a tenant's runs may use.
    pub async fn list_profiles(&self, tenant: TenantId) -> Result<Vec<ProfileView>, ClientError> {
        let view: ProfilesView = self.call(self.query(&[PROFILES], &[("tenantId", tenant)])).await?;
        Ok(view.profiles)
    }

    pub async fn get_profile(&self, tenant: TenantId, slug: &str) -> Result<ProfileView, ClientError> {
        self.call(self.query(&[PROFILES, slug], &[("tenantId", tenant)])).await
    }

    /// Sets the credential of a profile, replacing an earlier one.
    pub async fn set_credential(
        &self,
        scope: ProfileScope,
        slug: &str,
        request: &CredentialRequest<'_>,
    ) -> Result<ProfileView, ClientError> {
        let mut body = json!({ "credential": request.credential.expose_secret() });
        for (name, value) in [
            ("template", request.template),
            ("baseUrl", request.base_url),
            ("model", request.model),
            ("wireApi", request.wire_api),
        ] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        self.call(self.scoped_request(Method::PUT, &[PROFILES, slug, "credential"], scope).json(&body)).await
    }

    /// Deletes a profile and its credential.
    pub async fn remove_profile(&self, scope: ProfileScope, slug: &str) -> Result<(), ClientError> {
        self.command(self.scoped_request(Method::DELETE, &[PROFILES, slug], scope)).await
    }

    /// Starts a validation: one short turn with the provider, at the provider's cost.
    pub async fn validate_profile(
        &self,
        tenant: TenantId,
        slug: &str,
        idempotency_key: Option<&str>,
    ) -> Result<ValidationView, ClientError> {
        let scope = ProfileScope::Tenant(tenant);
        self.call(with_idempotency_key(
            self.scoped_request(Method::POST, &[PROFILES, slug, "validate"], scope),
            idempotency_key,
        ))
        .await
    }

    /// Returns the state and outcome of a validation.
    pub async fn get_validation(
        &self,
        tenant: TenantId,
        slug: &str,
        validation: &str,
    ) -> Result<ValidationView, ClientError> {
        self.call(self.query(&[PROFILES, slug, "validations", validation], &[("tenantId", tenant)])).await
    }

    fn scoped_request(&self, method: Method, segments: &[&str], scope: ProfileScope) -> RequestBuilder {
        let query = match scope {
            ProfileScope::Tenant(tenant) => ("tenantId", tenant.to_string()),
            ProfileScope::Shared => ("scope", "shared".to_owned()),
        };
        self.request_with(method, segments, &[query])
    }
}
