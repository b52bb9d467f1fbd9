//! `guildhall audit tail`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{AuditEntry, AuditPage, Client, ClientError, Followed};
use serde_json::json;

use super::PAGE;
use crate::client::session::{Common, find_tenant};
use crate::output::{clean, line, second};

/// Which log to show.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct Log {
    /// The tenant: its slug or its id
    #[arg(long)]
    tenant: Option<String>,
    /// The log of the installation itself
    #[arg(long, conflicts_with = "follow")]
    installation: bool,
}

pub(super) async fn run(follow: bool, lines: u32, log: &Log, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = match &log.tenant {
        Some(tenant) => Some(find_tenant(&client, tenant).await?),
        None => None,
    };
    let after = show_last(&client, tenant, lines, common.json).await?;
    // Only a tenant's log can be followed.
    let Some(tenant) = tenant.filter(|_| follow) else { return Ok(()) };
    let mut follower = client.audit_follow(tenant, after);
    loop {
        match follower.next().await? {
            Followed::Entry(entry) => show(&entry, common.json)?,
            Followed::Restored if common.json => line(&json!({ "gap": { "recovered": false } }).to_string())?,
            Followed::Restored => eprintln!("the server's database was restored: the log begins anew"),
            Followed::Away(error) => eprintln!("{error}; trying again"),
        }
    }
}

/// Shows the last entries of a log. Returns the number to go on after.
async fn show_last(client: &Client, tenant: Option<TenantId>, lines: u32, json: bool) -> Result<i64> {
    // More than the server counts from the end are all of them.
    let lines = lines.min(i32::MAX.unsigned_abs());
    let mut left = lines;
    let mut page = from_end(client, tenant, lines, left.clamp(1, PAGE)).await?;
    loop {
        for entry in &page.entries {
            show(entry, json)?;
            left = left.saturating_sub(1);
        }
        if left == 0 || page.entries.is_empty() {
            return Ok(page.next_after_seq);
        }
        let (after, limit) = (page.next_after_seq, left.min(PAGE));
        page = match tenant {
            Some(tenant) => client.audit_page(tenant, after, limit).await?,
            None => client.installation_audit_page(after, limit).await?,
        };
    }
}

async fn from_end(
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

fn show(entry: &AuditEntry, json: bool) -> std::io::Result<()> {
    if json { line(entry.text()) } else { line(&sentence(entry)) }
}

fn sentence(entry: &AuditEntry) -> String {
    let view = &entry.view;
    let word = |name: &str| view.body[name].as_str().unwrap_or("-").to_owned();
    let what = if view.body.is_null() {
        "(erased)".to_owned()
    } else {
        format!("{}  by {}  {}", word("object"), word("actor"), view.body["detail"])
    };
    clean(&format!("{:>6}  {}  {:<18}  {what}", view.seq, second(view.recorded_at), view.action))
}
