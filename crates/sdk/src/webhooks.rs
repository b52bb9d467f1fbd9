//! Webhooks.

use guildhall_domain::ids::{TenantId, WebhookId};
use guildhall_protocol::rest::webhooks::{
    CreateWebhook, NewWebhookView, RotatedWebhookView, WebhookTestView, WebhookView, WebhooksView,
};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::SecretString;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

/// A created webhook.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    pub id: String,
    /// The signing secret, returned once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

/// The new signing secret of a webhook.
#[derive(Debug, Clone)]
pub struct RotatedWebhook {
    /// Returned once.
    pub secret: SecretString,
    /// Until then, the previous secret signs too.
    pub previous_secret_ends_at: Timestamp,
}

impl Client {
    /// Creates a webhook.
    pub async fn create_webhook(
        &self,
        tenant: TenantId,
        webhook: &CreateWebhook,
        idempotency_key: Option<&str>,
    ) -> Result<NewWebhook, ClientError> {
        let request = self.request(Method::POST, &["tenants", &tenant.to_string(), "webhooks"]).json(webhook);
        let view: NewWebhookView = self.call(with_idempotency_key(request, idempotency_key)).await?;
        Ok(NewWebhook { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_webhooks(&self, tenant: TenantId) -> Result<Vec<WebhookView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "webhooks"]);
        let view: WebhooksView = self.call(request).await?;
        Ok(view.webhooks)
    }

    /// Deletes a webhook. Events that were not sent yet are dropped.
    pub async fn delete_webhook(&self, tenant: TenantId, webhook: WebhookId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "webhooks", &webhook.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }

    /// Replaces the signing secret of a webhook.
    pub async fn rotate_webhook(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
    ) -> Result<RotatedWebhook, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "webhooks", &webhook.to_string(), "rotate"];
        let view: RotatedWebhookView = self.call(self.request(Method::POST, &segments)).await?;
        Ok(RotatedWebhook {
            secret: SecretString::from(view.secret),
            previous_secret_ends_at: view.previous_secret_ends_at,
        })
    }

    /// Requests a test event. Returns its id.
    pub async fn test_webhook(&self, tenant: TenantId, webhook: WebhookId) -> Result<String, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "webhooks", &webhook.to_string(), "test"];
        let view: WebhookTestView = self.call(self.request(Method::POST, &segments)).await?;
        Ok(view.event_id)
    }
}
