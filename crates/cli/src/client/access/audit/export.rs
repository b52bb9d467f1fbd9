//! `guildhall audit export`.

use std::io::{BufWriter, Write, stdout};

use anyhow::Result;

use super::PAGE_SIZE;
use crate::client::connection::{CommonArgs, TenantArg};

pub(super) async fn run(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let tenant = tenant.resolve(&client).await?;
    let mut out = BufWriter::new(stdout());
    let mut after = 0;
    loop {
        let page = client.audit_page(tenant, after, PAGE_SIZE).await?;
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
