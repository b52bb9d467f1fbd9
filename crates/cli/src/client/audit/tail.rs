//! `guildhall audit tail`.

use anyhow::Result;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{AuditEntry, Client, Followed};
use serde_json::json;

use super::PAGE;
use crate::client::session::{Common, OfTenant};
use crate::output::{clean, line, second};

pub(super) async fn run(follow: bool, lines: u32, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = tenant.find(&client).await?;
    let after = show_last(&client, tenant, lines, common.json).await?;
    if !follow {
        return Ok(());
    }
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
async fn show_last(client: &Client, tenant: TenantId, lines: u32, json: bool) -> Result<i64> {
    let mut left = lines;
    let mut page = client.audit_page_from_end(tenant, lines, left.clamp(1, PAGE)).await?;
    loop {
        for entry in &page.entries {
            show(entry, json)?;
            left = left.saturating_sub(1);
        }
        if left == 0 || page.entries.is_empty() {
            return Ok(page.next_after_seq);
        }
        page = client.audit_page(tenant, page.next_after_seq, left.min(PAGE)).await?;
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
