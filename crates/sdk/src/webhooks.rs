//! Webhooks.

use guildhall_domain::ids::{TenantId, WebhookId};
use guildhall_protocol::rest::webhooks::deliveries::{
    DeliveriesView, DeliveryView, ResendEvents, ResentView,
};
use guildhall_protocol::rest::webhooks::{
    CreateWebhook, NewWebhookView, RotatedWebhookView, TriggerEvent, UpdateWebhook, WebhookTestView,
    WebhookView, WebhooksView,
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

    pub async fn get_webhook(&self, webhook: WebhookId) -> Result<WebhookView, ClientError> {
        self.call(self.request(Method::GET, &["webhooks", &webhook.to_string()])).await
    }

    /// Enables a webhook, or disables it.
    pub async fn set_webhook_enabled(
        &self,
        webhook: WebhookId,
        enabled: bool,
    ) -> Result<WebhookView, ClientError> {
        let request = self.request(Method::PATCH, &["webhooks", &webhook.to_string()]);
        self.call(request.json(&UpdateWebhook { enabled })).await
    }

    /// Requests a sample event of a type. Returns its id.
    pub async fn trigger_webhook(&self, webhook: WebhookId, event_type: &str) -> Result<String, ClientError> {
        let request = self.request(Method::POST, &["webhooks", &webhook.to_string(), "trigger"]);
        let trigger = TriggerEvent { event_type: event_type.to_owned() };
        let view: WebhookTestView = self.call(request.json(&trigger)).await?;
        Ok(view.event_id)
    }

    /// Lists the events of a webhook with their attempts, newest first, up to a limit.
    pub async fn list_webhook_deliveries(
        &self,
        webhook: WebhookId,
        state: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DeliveryView>, ClientError> {
        let (mut deliveries, mut cursor) = (Vec::new(), None::<String>);
        while deliveries.len() < limit {
            let page_size = limit.saturating_sub(deliveries.len()).min(100);
            let mut query = vec![("limit", page_size.to_string())];
            query.extend(state.map(|state| ("state", state.to_owned())));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page: DeliveriesView =
                self.call(self.query(&["webhooks", &webhook.to_string(), "deliveries"], &query)).await?;
            deliveries.extend(page.deliveries);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(deliveries)
    }

    /// Requests that events are sent again. Returns how many.
    pub async fn resend_webhook_events(
        &self,
        webhook: WebhookId,
        events: &ResendEvents,
    ) -> Result<u32, ClientError> {
        let request = self.request(Method::POST, &["webhooks", &webhook.to_string(), "resend"]);
        let view: ResentView = self.call(request.json(events)).await?;
        Ok(view.events)
    }
}
