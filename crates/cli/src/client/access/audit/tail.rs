//! `guildhall audit tail`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{AuditEntry, AuditPage, AuditStreamItem, Client, ClientError};
use serde_json::json;

use super::PAGE_SIZE;
use crate::client::connection::{CommonArgs, resolve_tenant};
use crate::output::{format_time, print_json, print_line, sanitize_line};

/// The log to show.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct AuditLogArg {
    /// Slug or id of the tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Show the log of the installation (operators only)
    #[arg(long, conflicts_with = "follow")]
    installation: bool,
}

pub(super) async fn run(follow: bool, lines: u32, log: &AuditLogArg, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let tenant = match &log.tenant {
        Some(tenant) => Some(resolve_tenant(&client, tenant).await?),
        None => None,
    };
    let after = print_last(&client, tenant, lines, common.json).await?;
    // Only the log of a tenant can be followed.
    let Some(tenant) = tenant.filter(|_| follow) else { return Ok(()) };
    let mut follower = client.audit_follow(tenant, after);
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
async fn print_last(client: &Client, tenant: Option<TenantId>, lines: u32, json: bool) -> Result<i64> {
    // The server takes an i32; a larger number means all entries.
    let lines = lines.min(i32::MAX.unsigned_abs());
    let mut left = lines;
    let mut page = fetch_from_end(client, tenant, lines, left.clamp(1, PAGE_SIZE)).await?;
    loop {
        for entry in &page.entries {
            print_entry(entry, json)?;
            left = left.saturating_sub(1);
        }
        if left == 0 || page.entries.is_empty() {
            return Ok(page.next_after_seq);
        }
        let (after, limit) = (page.next_after_seq, left.min(PAGE_SIZE));
        page = match tenant {
            Some(tenant) => client.audit_page(tenant, after, limit).await?,
            None => client.installation_audit_page(after, limit).await?,
        };
    }
}

async fn fetch_from_end(
    client: &Client,
    tenant: Option<TenantId>,
    lines: u32,
    limit: u32,
) -> Result<AuditPage, ClientError> {
    match tenant {
        Some(tenant) => client.audit_page_from_end(tenant, lines, limit).await,
        None => client.installation_audit_page_from_end(lines, limit).await,
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
        format!("{}  by {}  {}", field("object"), field("actor"), view.body["detail"])
    };
    sanitize_line(&format!("{:>6}  {}  {:<18}  {text}", view.seq, format_time(view.recorded_at), view.action))
}
