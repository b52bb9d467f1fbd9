//! `guildhall webhooks deliveries` and `guildhall webhooks resend`.

use anyhow::Result;
use clap::{ArgGroup, Args};
use guildhall_domain::ids::{WebhookEventId, WebhookId};
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::webhooks::log::{DeliveryState, ResendStates};
use guildhall_protocol::rest::webhooks::deliveries::{DeliveryView, ResendEvents};
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::{format_optional_time, format_table, format_time, print_result};

#[derive(Args)]
pub(super) struct DeliveriesArgs {
    /// Id of the webhook
    #[arg(value_name = "WEBHOOK")]
    id: WebhookId,
    /// Only events in this state: waiting, delivered or missed
    #[arg(long, value_parser = parse_state)]
    state: Option<DeliveryState>,
    /// How many events to list
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
#[command(group(ArgGroup::new("selection").required(true).args(["event", "since"])))]
pub(super) struct ResendArgs {
    /// Id of the webhook
    #[arg(value_name = "WEBHOOK")]
    id: WebhookId,
    /// Send this event again, even if it was delivered
    #[arg(long, value_name = "EVENT")]
    event: Option<WebhookEventId>,
    /// Send the events again that were created since this time: 2026-11-17T08:00:00Z, or 6h for six hours ago
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// The end of the window; without it now
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "since")]
    until: Option<Timestamp>,
    /// Send delivered events of the window again too
    #[arg(long, requires = "since")]
    all: bool,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_state(text: &str) -> Result<DeliveryState, UnknownName> {
    DeliveryState::from_name(text)
}

/// Parses a time, or a duration before now.
fn parse_time(text: &str) -> Result<Timestamp, &'static str> {
    let before_now = |duration: SignedDuration| Clock::system().now().checked_sub(duration).ok();
    let found = text.parse::<Timestamp>().ok();
    found
        .or_else(|| {
            text.parse::<SignedDuration>().ok().filter(|duration| duration.is_positive()).and_then(before_now)
        })
        .ok_or("use a time such as 2026-11-17T08:00:00Z, or a duration such as 90m or 6h")
}

pub(super) async fn list(args: &DeliveriesArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let state = args.state.map(DeliveryState::as_str);
    let deliveries = client.list_webhook_deliveries(args.id, state, args.limit).await?;
    print_result(args.common.json, &json!({ "deliveries": deliveries }), || {
        let rows: Vec<_> = deliveries.iter().map(row).collect();
        format_table(["EVENT", "TYPE", "CREATED AT", "STATE", "LAST ATTEMPT", "NEXT ATTEMPT"], &rows)
    })?;
    Ok(())
}

fn row(delivery: &DeliveryView) -> [String; 6] {
    let last = delivery.attempts.last().map_or_else(String::new, |attempt| {
        let status = attempt.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let reason = match (attempt.status, &attempt.error) {
            (None, Some(error)) => format!(": {error}"),
            (Some(_), _) | (None, None) => String::new(),
        };
        format!(
            "{} #{} {status} in {} ms{reason}",
            format_time(attempt.at),
            attempt.attempt,
            attempt.duration_ms
        )
    });
    [
        delivery.event_id.clone(),
        delivery.event_type.clone().unwrap_or_else(|| "?".to_owned()),
        format_time(delivery.created_at),
        delivery.state.clone(),
        last,
        format_optional_time(delivery.next_attempt_at),
    ]
}

pub(super) async fn resend(args: &ResendArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let only = args.since.map(|_| if args.all { ResendStates::All } else { ResendStates::Failed });
    let events = ResendEvents {
        event_id: args.event.map(|event| event.to_string()),
        since: args.since,
        until: args.until,
        only: only.map(|only| only.to_string()),
    };
    let count = client.resend_webhook_events(args.id, &events).await?;
    print_result(args.common.json, &json!({ "id": args.id, "events": count }), || {
        let noun = if count == 1 { "event" } else { "events" };
        format!(
            "{count} {noun} will be sent; `guildhall webhooks deliveries {}` shows what becomes of them",
            args.id
        )
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_before_now_are_parsed() {
        let time = "2026-11-17T08:00:00Z";
        assert_eq!(parse_time(time), Ok(time.parse().expect("a time")));
        let hour_ago = parse_time("1h").expect("a duration");
        let age = Clock::system().now().duration_since(hour_ago);
        assert!(age >= SignedDuration::from_hours(1) && age < SignedDuration::from_hours(2), "{age}");
        for text in ["", "yesterday", "-1h", "6"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
