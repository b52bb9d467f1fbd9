//! `guildhall runs events`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;

use super::screen;
use super::watch::Watch;
use crate::client::session::Common;
use crate::output::{clean, line, second};

/// Events that are asked for at once.
const PAGE: u32 = 500;

/// Characters shown of what an event says.
const WORDS: usize = 160;

#[derive(Args)]
pub(super) struct EventsArgs {
    /// The run's id
    run: RunId,
    /// Goes on with what happens, until the run ends
    #[arg(short, long)]
    follow: bool,
    /// Begins after the event with this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    after: i64,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(args: &EventsArgs) -> Result<()> {
    let client = args.common.open()?.client;
    if args.follow {
        let watch = Watch {
            client: &client,
            run: args.run,
            command: None,
            after_seq: args.after,
            json: args.common.json,
        };
        return watch.to_the_end().await;
    }
    let mut after = args.after;
    loop {
        let page = client.run_events(args.run, after, PAGE).await?;
        for event in &page.events {
            if args.common.json { line(event.text())? } else { line(&sentence(&event.view))? }
        }
        if !page.has_more || page.events.is_empty() {
            return Ok(());
        }
        after = page.next_after_seq;
    }
}

/// Writes an event on one line.
pub(crate) fn sentence(event: &EventView) -> String {
    let text = match &event.payload {
        None => "(erased)".to_owned(),
        Some(payload) => match event.r#type.as_str() {
            event::ASSISTANT_MESSAGE | event::COMMAND_OUTPUT => {
                payload["text"].as_str().unwrap_or_default().to_owned()
            }
            event::TOOL_CALL => format!("{}: {}", screen::tool_name(payload), screen::tool_status(payload)),
            event::TERMINAL_STATUS => screen::ending(payload),
            _ => payload.to_string(),
        },
    };
    let text: String = text.chars().take(WORDS).map(|c| if c == '\n' { ' ' } else { c }).collect();
    clean(&format!("{:>6}  {}  {:<18}  {text}", event.seq, second(event.recorded_at), event.r#type))
}
