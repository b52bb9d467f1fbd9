//! `guildhall runs logs`.

use anyhow::Result;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;

use crate::client::connection::CommonArgs;
use crate::output::{format_time, print_json, print_line, sanitize_line};

/// Events of one page.
const PAGE: u32 = 500;

/// Prints what the runners of a run logged, and the errors of its agent.
pub(super) async fn run(run: RunId, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let mut after = 0;
    loop {
        let page = client.run_events(run, after, PAGE).await?;
        for event in &page.events {
            let Some(line) = log_line(&event.view) else { continue };
            if common.json { print_json(event.text())? } else { print_line(&line)? }
        }
        if !page.has_more || page.events.is_empty() {
            return Ok(());
        }
        after = page.next_after_seq;
    }
}

fn log_line(event: &EventView) -> Option<String> {
    let payload = event.payload.as_ref()?;
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    let (level, message) = match (event.r#type.as_str(), text("phase")) {
        (event::ERROR, _) => ("error", format!("{} ({})", text("message"), text("failureKind"))),
        (event::BACKEND_STATUS, "runner-log") => (text("level"), text("message").to_owned()),
        (event::BACKEND_STATUS, phase) => ("info", format!("{phase} {}", text("reason"))),
        _ => return None,
    };
    Some(sanitize_line(format!("{}  {level:<5}  {message}", format_time(event.recorded_at)).trim_end()))
}
