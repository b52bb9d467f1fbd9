//! `guildhall audit export`.

use std::io::{BufWriter, Write, stdout};

use anyhow::Result;

use super::PAGE;
use crate::client::session::{Common, OfTenant};

pub(super) async fn run(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = tenant.find(&client).await?;
    let mut out = BufWriter::new(stdout());
    let mut after = 0;
    loop {
        let page = client.audit_page(tenant, after, PAGE).await?;
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
