//! `guildhall runs events`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;

use super::event_renderer as renderer;
use super::watch::RunWatch;
use crate::client::connection::CommonArgs;
use crate::output::{format_time, print_json, print_line, sanitize_line};

/// Events per request.
const PAGE_SIZE: u32 = 500;

/// Characters shown of the text of an event.
const MAX_TEXT_CHARS: usize = 160;

#[derive(Args)]
pub(super) struct EventsArgs {
    /// Id of the run
    run: RunId,
    /// Follow the run: print new events until it ends
    #[arg(short, long)]
    follow: bool,
    /// Start after the event with this sequence number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    after: i64,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &EventsArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    if args.follow {
        let watch = RunWatch {
            client: &client,
            run: args.run,
            command: None,
            after_seq: args.after,
            json: args.common.json,
            closes_run: false,
        };
        return watch.follow_to_end().await;
    }
    let mut after = args.after;
    loop {
        let page = client.run_events(args.run, after, PAGE_SIZE).await?;
        for event in &page.events {
            if args.common.json { print_json(event.text())? } else { print_line(&format_event(&event.view))? }
        }
        if !page.has_more || page.events.is_empty() {
            return Ok(());
        }
        after = page.next_after_seq;
    }
}

/// Formats an event on one line.
pub(crate) fn format_event(event: &EventView) -> String {
    let text = match &event.payload {
        None => "(erased)".to_owned(),
        Some(payload) => match event.r#type.as_str() {
            event::USER_MESSAGE | event::ASSISTANT_MESSAGE | event::COMMAND_OUTPUT => {
                payload["text"].as_str().unwrap_or_default().to_owned()
            }
            event::TOOL_CALL => {
                format!("{}: {}", renderer::tool_name(payload), renderer::tool_status(payload))
            }
            event::TERMINAL_STATUS => renderer::format_outcome(payload),
            _ => payload.to_string(),
        },
    };
    let text: String = text.chars().take(MAX_TEXT_CHARS).map(|c| if c == '\n' { ' ' } else { c }).collect();
    sanitize_line(&format!(
        "{:>6}  {}  {:<18}  {text}",
        event.seq,
        format_time(event.recorded_at),
        event.r#type
    ))
}
