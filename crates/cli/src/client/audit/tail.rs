//! `guildhall audit tail`.

use std::collections::VecDeque;

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{AuditEntry, Client, Followed};
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

pub(super) async fn run(follow: bool, lines: usize, log: &Log, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = match &log.tenant {
        Some(tenant) => Some(find_tenant(&client, tenant).await?),
        None => None,
    };
    let (last, after) = last_entries(&client, tenant, lines).await?;
    for entry in &last {
        show(entry, common.json)?;
    }
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

/// Reads a log to its end. Returns its last entries and the number of the very last.
async fn last_entries(
    client: &Client,
    tenant: Option<TenantId>,
    lines: usize,
) -> Result<(VecDeque<AuditEntry>, i64)> {
    let (mut last, mut after) = (VecDeque::new(), 0);
    loop {
        let page = match tenant {
            Some(tenant) => client.audit_page(tenant, after, PAGE).await?,
            None => client.installation_audit_page(after, PAGE).await?,
        };
        if page.entries.is_empty() {
            return Ok((last, after));
        }
        last.extend(page.entries);
        last.drain(..last.len().saturating_sub(lines));
        after = page.next_after_seq;
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
