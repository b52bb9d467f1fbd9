//! `guildhall listen`.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::WebhookId;
use guildhall_domain::webhooks::WebhookSender;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_protocol::rest::webhooks::CreateWebhook;
use guildhall_protocol::rest::webhooks::listeners::ClaimedEventView;
use guildhall_runtime::Clock;
use guildhall_sdk::{Client, ClientError, ForwardedEvent, WebhookForwarder};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::async_runtime::block_on;
use crate::client::agents;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::config_dir::{ConfigDir, listener_secret};
use crate::output::{format_time, print_result};

/// The first pause after a server that is restarted, busy or out of reach. It doubles up to the longest one.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The longest pause that a server may ask for. It deletes a listener that is quiet for 15 minutes.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A report is sent again for less than this time: then the event is handed out again.
const REPORT_TIMEOUT: Duration = Duration::from_secs(50);

const EXAMPLES: &str = "Examples:
  guildhall listen --agent helper --forward-to http://localhost:8080/hook
  guildhall listen --agent helper --forward-to http://localhost:8080/hook --event artifact_response
  guildhall trigger message.new

Nothing becomes public: the command asks the server for the events, and sends them to your receiver itself.
It prints the signing secret, the same each time, and a line for each request. Ctrl-C ends it.";

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
    // Requests are signed here. The secret of the server would be another one at each start.
    let secret = listener_secret(&ConfigDir::find()?).await?;
    let created = client.create_webhook(tenant, &listener, None).await?;
    let id: WebhookId = created.id.parse()?;
    let text = secret.to_text();
    print_result(args.common.json, &json!({ "id": id, "secret": text.expose_secret() }), || {
        let (secret, target) = (text.expose_secret(), args.forward_to.as_str());
        format!("forwarding to {target}; the signing secret is the same each time:\n\n{secret}\n")
    })?;
    let forwarder = WebhookForwarder::new(&args.forward_to, secret)?;
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
        let events = until_answered(|| client.claim_webhook_events(id)).await?;
        for event in &events {
            let forwarded =
                forwarder.forward(event.event_id.parse()?, &event.body, Clock::system().now()).await;
            print_forwarded(event, forwarded, as_json)?;
            let report = until_answered(|| client.report_webhook_event(id, event, forwarded));
            // Otherwise the event is handed out again.
            if let Ok(Err(error)) = timeout(REPORT_TIMEOUT, report).await {
                eprintln!("{error}");
            }
        }
    }
}

/// Calls the server until it answers. An error is one that a retry does not help.
async fn until_answered<T, F>(call: impl Fn() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut failures = 0;
    loop {
        match call().await {
            Err(error) if error.is_transient() => {
                eprintln!("{error}; retrying");
                tokio::time::sleep(pause_after(failures, error.retry_after())).await;
                failures += 1;
            }
            answer => return answer,
        }
    }
}

fn pause_after(failures: u32, retry_after: Option<Duration>) -> Duration {
    let pause = RETRY_PAUSE.saturating_mul(1 << failures.min(10)).min(MAX_RETRY_PAUSE);
    pause.max(retry_after.unwrap_or_default().min(MAX_RETRY_AFTER))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_a_server_may_ask_for_longer_ones() {
        let seconds = |failures, asked: Option<u64>| {
            pause_after(failures, asked.map(Duration::from_secs)).as_secs_f64()
        };
        assert_eq!([0, 1, 4, 5, 40].map(|failures| seconds(failures, None)), [0.5, 1.0, 8.0, 10.0, 10.0]);
        assert_eq!([1, 30, 3600].map(|asked| seconds(2, Some(asked))), [2.0, 30.0, 60.0]);
    }
}
