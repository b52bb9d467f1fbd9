//! `guildhall listen`.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::ids::WebhookId;
use guildhall_domain::webhooks::WebhookSender;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_identity::webhook_secret::WebhookSecret;
use guildhall_protocol::rest::webhooks::CreateWebhook;
use guildhall_protocol::rest::webhooks::listeners::ClaimedEventView;
use guildhall_runtime::Clock;
use guildhall_sdk::{Client, ClientError, ForwardedEvent, WebhookForwarder};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::async_runtime::block_on;
use crate::client::agents;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_time, print_result};

/// The pause after the server could not be reached.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "Examples:
  guildhall listen --agent helper --forward-to http://localhost:8080/hook
  guildhall listen --agent helper --forward-to http://localhost:8080/hook --event artifact_response
  guildhall trigger message.new

Nothing becomes public: the command asks the server for the events, and sends them to your receiver itself.
It prints the signing secret, and then a line for each request. Ctrl-C ends it.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListenArgs {
    /// Your receiver: http:// on this machine, or https://
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    forward_to: WebhookUrl,
    /// Slug or id of the agent; without it the only agent of the tenant
    #[arg(long)]
    agent: Option<String>,
    /// Event type to forward: message.new, artifact_response or h2a.reauth_required; can be repeated; without it all
    #[arg(long = "event", value_name = "TYPE")]
    events: Vec<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_url(text: &str) -> Result<WebhookUrl, guildhall_domain::webhooks::url::InvalidWebhookUrl> {
    WebhookUrl::parse(text)
}

pub(crate) fn run(args: &ListenArgs) -> Result<()> {
    block_on(listen(args))
}

async fn listen(args: &ListenArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent = agents::resolve_or_only(&client, tenant, args.agent.as_deref()).await?;
    let all = || WebhookEventType::OF_AGENT.iter().map(ToString::to_string).collect();
    let listener = CreateWebhook {
        url: args.forward_to.as_str().to_owned(),
        events: if args.events.is_empty() { all() } else { args.events.clone() },
        description: "guildhall listen".to_owned(),
        agent_id: Some(agent.to_string()),
        sender: Some(WebhookSender::Listener.to_string()),
    };
    let created = client.create_webhook(tenant, &listener, None).await?;
    let id: WebhookId = created.id.parse()?;
    let secret = created.secret.context("the server has returned no signing secret")?;
    print_result(args.common.json, &json!({ "id": id, "secret": secret.expose_secret() }), || {
        let (secret, target) = (secret.expose_secret(), args.forward_to.as_str());
        format!("forwarding to {target}; the signing secret is shown only now:\n\n{secret}\n")
    })?;
    let forwarder = WebhookForwarder::new(&args.forward_to, WebhookSecret::from_text(&secret)?)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let followed = tokio::select! {
        followed = follow(&client, id, &forwarder, args.common.json) => followed,
        ended = tokio::signal::ctrl_c() => ended.map_err(Into::into),
        _ended = terminate.recv() => Ok(()),
    };
    // Without it, the server deletes the listener after a while.
    let _deleted = client.delete_webhook(tenant, id).await;
    followed
}

async fn follow(client: &Client, id: WebhookId, forwarder: &WebhookForwarder, as_json: bool) -> Result<()> {
    loop {
        let events = match client.claim_webhook_events(id).await {
            Ok(events) => events,
            Err(error @ ClientError::Unreachable { .. }) => {
                eprintln!("{error}; retrying");
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for event in &events {
            let forwarded =
                forwarder.forward(event.event_id.parse()?, &event.body, Clock::system().now()).await;
            print_forwarded(event, forwarded, as_json)?;
            match client.report_webhook_event(id, event, forwarded).await {
                Ok(()) => {}
                // The event is handed out again.
                Err(error) => eprintln!("{error}"),
            }
        }
    }
}

fn print_forwarded(event: &ClaimedEventView, forwarded: ForwardedEvent, as_json: bool) -> Result<()> {
    let body: Value = serde_json::from_str(&event.body).unwrap_or_default();
    let event_type = body["type"].as_str().unwrap_or("?");
    let milliseconds = forwarded.duration.as_millis();
    let line = json!({
        "eventId": event.event_id, "type": event_type, "attempt": event.attempt, "status": forwarded.status,
        "durationMs": u64::try_from(milliseconds).unwrap_or(u64::MAX),
    });
    print_result(as_json, &line, || {
        let now = format_time(Clock::system().now());
        let status = forwarded.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        format!("{now}  {event_type}  {}  {status}  {milliseconds} ms", event.event_id)
    })?;
    Ok(())
}
