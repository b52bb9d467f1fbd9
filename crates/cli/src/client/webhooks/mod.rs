//! `guildhall webhooks`.

mod deliveries;
pub(crate) mod listen;
pub(crate) mod trigger;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::WebhookId;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_protocol::rest::webhooks::{CreateWebhook, WebhookView};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::agents;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_fields, format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall webhooks add https://hooks.example.org/guildhall
  guildhall webhooks add https://hooks.example.org/answers --event approval.decided
  guildhall webhooks add https://hooks.example.org/agent --agent helper
  guildhall webhooks ls
  guildhall webhooks test whk_01920000000070008000000000000000
  guildhall webhooks deliveries whk_01920000000070008000000000000000 --state missed
  guildhall webhooks enable whk_01920000000070008000000000000000
  guildhall webhooks resend whk_01920000000070008000000000000000 --since 6h
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
    /// Send the messages to this agent (slug or id), instead of the questions of all agents
    #[arg(long)]
    agent: Option<String>,
    /// Event type to send: approval.requested (the default), approval.decided or approval.withdrawn; with an agent message.new,
    /// artifact_response or h2a.reauth_required (all without this option); can be repeated
    #[arg(long = "event", value_name = "TYPE")]
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

/// A webhook, whose tenant follows from its id.
#[derive(Args)]
struct WebhookIdArgs {
    /// Id of the webhook
    #[arg(value_name = "WEBHOOK")]
    id: WebhookId,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a webhook and print its signing secret; it is not shown again
    Add(AddArgs),
    /// List the webhooks of a tenant and its agents, with their last success and failure
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show a webhook
    Show(WebhookIdArgs),
    /// List the events of a webhook and the attempts to send them, newest first
    Deliveries(deliveries::DeliveriesArgs),
    /// Send events again: one, or those that were missed in a window
    Resend(deliveries::ResendArgs),
    /// Enable a disabled webhook; what it has missed is sent with `guildhall webhooks resend`
    Enable(WebhookIdArgs),
    /// Disable a webhook; it misses its events until it is enabled
    Disable(WebhookIdArgs),
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
        Commands::Show(args) => block_on(show(args)),
        Commands::Deliveries(args) => block_on(deliveries::list(args)),
        Commands::Resend(args) => block_on(deliveries::resend(args)),
        Commands::Enable(args) => block_on(set_enabled(args, true)),
        Commands::Disable(args) => block_on(set_enabled(args, false)),
        Commands::Rotate(args) => block_on(rotate(args)),
        Commands::Test(args) => block_on(test(args)),
        Commands::Remove(args) => block_on(remove(args)),
    }
}

async fn add(args: &AddArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent_id = match &args.agent {
        Some(agent) => Some(agents::resolve(&client, tenant, agent).await?.to_string()),
        None => None,
    };
    let events = match (args.events.as_slice(), &agent_id) {
        ([], None) => vec![WebhookEventType::ApprovalRequested.to_string()],
        ([], Some(_)) => WebhookEventType::OF_AGENT.iter().map(ToString::to_string).collect(),
        (given, _) => given.to_vec(),
    };
    let (url, description) = (args.url.clone(), args.description.clone());
    let webhook = CreateWebhook { url, events, description, agent_id, sender: None };
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
    let success = format_optional_time(webhook.last_success_at);
    let events = webhook.events.join(",");
    [webhook.id.clone(), webhook.url.clone(), events, state(webhook), success, last_failure(webhook)]
}

fn state(webhook: &WebhookView) -> String {
    let enabled = || if webhook.sender == "listener" { "listening".to_owned() } else { "enabled".to_owned() };
    webhook.disabled_reason.as_ref().map_or_else(enabled, |reason| format!("disabled ({reason})"))
}

fn last_failure(webhook: &WebhookView) -> String {
    webhook.last_failure.as_ref().map_or_else(String::new, |failure| {
        let end = if failure.is_final { ", given up" } else { "" };
        format!("{} attempt {}{end}: {}", format_time(failure.at), failure.attempt, failure.message)
    })
}

async fn show(args: &WebhookIdArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let webhook = client.get_webhook(args.id).await?;
    print_result(args.common.json, &json!(webhook), || fields(&webhook))?;
    Ok(())
}

fn fields(webhook: &WebhookView) -> String {
    format_fields(&[
        ("WEBHOOK", webhook.id.clone()),
        ("URL", webhook.url.clone()),
        ("AGENT", webhook.agent_id.clone().unwrap_or_else(|| "-".to_owned())),
        ("EVENTS", webhook.events.join(",")),
        ("DESCRIPTION", webhook.description.clone()),
        ("STATE", state(webhook)),
        ("DISABLED AT", format_optional_time(webhook.disabled_at)),
        ("FAILING SINCE", format_optional_time(webhook.failing_since)),
        ("LAST SUCCESS", format_optional_time(webhook.last_success_at)),
        ("LAST FAILURE", last_failure(webhook)),
        ("CREATED AT", format_time(webhook.created_at)),
    ])
}

async fn set_enabled(args: &WebhookIdArgs, enabled: bool) -> Result<()> {
    let client = args.common.connect()?.client;
    let webhook = client.set_webhook_enabled(args.id, enabled).await?;
    print_result(args.common.json, &json!(webhook), || {
        let id = args.id;
        if enabled {
            format!("enabled {id}; `guildhall webhooks resend {id} --since TIME` sends what it has missed")
        } else {
            format!("disabled {id}")
        }
    })?;
    Ok(())
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
        format!(
            "the test event {event} will be sent; `guildhall webhooks deliveries` shows whether it was accepted"
        )
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
