//! `guildhall webhooks`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::WebhookId;
use guildhall_protocol::rest::webhooks::{CreateWebhook, WebhookView};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall webhooks add https://hooks.example.org/guildhall
  guildhall webhooks add https://hooks.example.org/answers --event approval.decided
  guildhall webhooks ls
  guildhall webhooks test whk_01920000000070008000000000000000
  guildhall webhooks rotate whk_01920000000070008000000000000000
  guildhall webhooks remove whk_01920000000070008000000000000000

The receiver verifies each request with the signing secret and a Standard Webhooks library.
The secret is shown only once.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WebhooksArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct AddArgs {
    /// Where events are sent, starting with https://
    url: String,
    /// Event type to send: approval.requested, approval.decided or approval.withdrawn; can be repeated
    #[arg(long = "event", value_name = "TYPE", default_value = "approval.requested")]
    events: Vec<String>,
    /// What the webhook is for
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// Idempotency key: a repeated command with the same key does not create a second webhook
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
struct WebhookArgs {
    /// Id of the webhook
    #[arg(value_name = "WEBHOOK")]
    id: WebhookId,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a webhook and print its signing secret; it is not shown again
    Add(AddArgs),
    /// List the webhooks of a tenant, with their last success and failure
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Replace the signing secret and print the new one; the old one signs too for 24 hours
    Rotate(WebhookArgs),
    /// Send a test event
    Test(WebhookArgs),
    /// Delete a webhook; events that were not sent yet are dropped
    Remove(WebhookArgs),
}

pub(crate) fn run(args: &WebhooksArgs) -> Result<()> {
    match &args.command {
        Commands::Add(args) => block_on(add(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Rotate(args) => block_on(rotate(args)),
        Commands::Test(args) => block_on(test(args)),
        Commands::Remove(args) => block_on(remove(args)),
    }
}

async fn add(args: &AddArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let webhook = CreateWebhook {
        url: args.url.clone(),
        events: args.events.clone(),
        description: args.description.clone(),
    };
    let created = client.create_webhook(tenant, &webhook, args.idempotency_key.as_deref()).await?;
    let secret = created.secret.as_ref().map(ExposeSecret::expose_secret);
    let id = &created.id;
    print_result(args.common.json, &json!({ "id": id, "secret": secret }), || match secret {
        Some(secret) => format!("created webhook {id}; its signing secret is shown only now:\n\n{secret}"),
        None => {
            format!("webhook {id} already exists for this idempotency key; its secret is not shown again")
        }
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let webhooks = client.list_webhooks(tenant).await?;
    print_result(common.json, &json!({ "webhooks": webhooks }), || {
        let rows: Vec<_> = webhooks.iter().map(row).collect();
        format_table(["WEBHOOK", "URL", "EVENTS", "STATE", "LAST SUCCESS", "LAST FAILURE"], &rows)
    })?;
    Ok(())
}

fn row(webhook: &WebhookView) -> [String; 6] {
    let state = webhook
        .disabled_reason
        .as_ref()
        .map_or_else(|| "enabled".to_owned(), |reason| format!("disabled ({reason})"));
    let failure = webhook.last_failure.as_ref().map_or_else(String::new, |failure| {
        let end = if failure.is_final { ", given up" } else { "" };
        format!("{} attempt {}{end}: {}", format_time(failure.at), failure.attempt, failure.message)
    });
    let success = format_optional_time(webhook.last_success_at);
    [webhook.id.clone(), webhook.url.clone(), webhook.events.join(","), state, success, failure]
}

async fn rotate(args: &WebhookArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let rotated = client.rotate_webhook(tenant, args.id).await?;
    let (secret, until) = (rotated.secret.expose_secret(), rotated.previous_secret_ends_at);
    let result = json!({ "id": args.id, "secret": secret, "previousSecretEndsAt": until });
    print_result(args.common.json, &result, || {
        let until = format_time(until);
        format!("the previous secret signs too until {until}; the new one is shown only now:\n\n{secret}")
    })?;
    Ok(())
}

async fn test(args: &WebhookArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let event = client.test_webhook(tenant, args.id).await?;
    print_result(args.common.json, &json!({ "id": args.id, "eventId": event }), || {
        format!("the test event {event} will be sent; `guildhall webhooks ls` shows whether it was accepted")
    })?;
    Ok(())
}

async fn remove(args: &WebhookArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    client.delete_webhook(tenant, args.id).await?;
    let result = json!({ "id": args.id, "deleted": true });
    print_result(args.common.json, &result, || format!("deleted {}", args.id))?;
    Ok(())
}
