//! `guildhall audit export`.

use std::io::{BufWriter, Write, stdout};

use anyhow::Result;

use super::PAGE_SIZE;
use super::log::AuditLogArg;
use crate::client::connection::CommonArgs;

pub(super) async fn run(log: &AuditLogArg, common: &CommonArgs) -> Result<()> {
    let (client, log) = log.connect(common).await?;
    let mut out = BufWriter::new(stdout());
    let mut after = 0;
    loop {
        let page = client.audit_page(log, after, PAGE_SIZE).await?;
        if page.entries.is_empty() {
            out.flush()?;
            return Ok(());
        }
        for entry in &page.entries {
            writeln!(out, "{}", entry.text())?;
        }
        after = page.next_after_seq;
    }
}
