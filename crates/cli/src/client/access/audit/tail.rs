//! `guildhall audit tail`.

use anyhow::Result;
use guildhall_domain::access::audit_checkpoint::AuditLog;
use guildhall_sdk::{AuditEntry, AuditStreamItem, Client};
use serde_json::json;

use super::PAGE_SIZE;
use super::log::AuditLogArg;
use crate::client::connection::CommonArgs;
use crate::output::{format_time, print_json, print_line, sanitize_line};

pub(super) async fn run(follow: bool, lines: u32, log: &AuditLogArg, common: &CommonArgs) -> Result<()> {
    let (client, log) = log.connect(common).await?;
    let after = print_last(&client, log, lines, common.json).await?;
    if !follow {
        return Ok(());
    }
    let mut follower = client.audit_follow(log, after);
    loop {
        match follower.next().await? {
            AuditStreamItem::Entry(entry) => print_entry(&entry, common.json)?,
            AuditStreamItem::Restored if common.json => {
                print_json(&json!({ "gap": { "recovered": false } }).to_string())?
            }
            AuditStreamItem::Restored => {
                eprintln!("the database of the server was restored from a backup: the log starts again")
            }
            AuditStreamItem::Disconnected(error) => eprintln!("{error}; retrying"),
        }
    }
}

/// Prints the last entries of a log. Returns the sequence number to continue after.
async fn print_last(client: &Client, log: AuditLog, lines: u32, json: bool) -> Result<i64> {
    // The server takes an i32; a larger number means all entries.
    let lines = lines.min(i32::MAX.unsigned_abs());
    let mut left = lines;
    let mut page = client.audit_page_from_end(log, lines, left.clamp(1, PAGE_SIZE)).await?;
    loop {
        for entry in &page.entries {
            print_entry(entry, json)?;
            left = left.saturating_sub(1);
        }
        if left == 0 || page.entries.is_empty() {
            return Ok(page.next_after_seq);
        }
        page = client.audit_page(log, page.next_after_seq, left.min(PAGE_SIZE)).await?;
    }
}

fn print_entry(entry: &AuditEntry, json: bool) -> std::io::Result<()> {
    if json { print_json(entry.text()) } else { print_line(&format_entry(entry)) }
}

fn format_entry(entry: &AuditEntry) -> String {
    let view = &entry.view;
    let field = |name: &str| view.body[name].as_str().unwrap_or("-").to_owned();
    let text = if view.body.is_null() {
        "(erased)".to_owned()
    } else {
        let (object, actor, address) = (field("object"), field("actor"), field("address"));
        format!("{object}  by {actor} from {address}  {}", view.body["detail"])
    };
    sanitize_line(&format!("{:>6}  {}  {:<18}  {text}", view.seq, format_time(view.recorded_at), view.action))
}
