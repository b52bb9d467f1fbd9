//! `guildhall trigger`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::{TenantId, WebhookId};
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_sdk::Client;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::UsageError;
use crate::output::print_result;

const EXAMPLES: &str = "Examples:
  guildhall trigger message.new
  guildhall trigger artifact_response --webhook whk_01920000000070008000000000000000

The data of the event has \"test\": true, and nothing in it exists.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TriggerArgs {
    /// Event type: message.new, artifact_response, h2a.reauth_required, approval.requested, approval.decided, approval.withdrawn, webhook.disabled or webhook.test
    #[arg(value_name = "EVENT", value_parser = parse_event)]
    event: WebhookEventType,
    /// Webhook that gets the event; without it the only running listener, or the only webhook
    #[arg(long, value_name = "WEBHOOK")]
    webhook: Option<WebhookId>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_event(text: &str) -> Result<WebhookEventType, UnknownName> {
    WebhookEventType::from_name(text)
}

pub(crate) fn run(args: &TriggerArgs) -> Result<()> {
    block_on(trigger(args))
}

async fn trigger(args: &TriggerArgs) -> Result<()> {
    let (client, webhook) = match args.webhook {
        Some(webhook) => (args.common.connect()?.client, webhook),
        None => {
            let (client, tenant) = args.tenant.connect(&args.common).await?;
            let webhook = only_webhook(&client, tenant).await?;
            (client, webhook)
        }
    };
    let event = client.trigger_webhook(webhook, args.event.as_str()).await?;
    print_result(args.common.json, &json!({ "id": webhook, "eventId": event }), || {
        format!("the sample event {event} will be sent to {webhook}")
    })?;
    Ok(())
}

/// Returns the only listener, or the only webhook where there is no listener.
async fn only_webhook(client: &Client, tenant: TenantId) -> Result<WebhookId> {
    let webhooks = client.list_webhooks(tenant).await?;
    let listeners: Vec<_> = webhooks.iter().filter(|webhook| webhook.sender == "listener").collect();
    let candidates = if listeners.is_empty() { webhooks.iter().collect() } else { listeners };
    match candidates.as_slice() {
        [only] => Ok(only.id.parse()?),
        [] => Err(UsageError(
            "the tenant has no webhook\n  \
             next: start `guildhall listen`, or create one with `guildhall webhooks add`",
        )
        .into()),
        [_, _, ..] => Err(UsageError(
            "the tenant has several webhooks\n  \
             next: add --webhook; `guildhall webhooks ls` lists them",
        )
        .into()),
    }
}
