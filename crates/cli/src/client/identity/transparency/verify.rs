//! `guildhall transparency verify`.

use std::path::Path;

use anyhow::Result;
use guildhall_sdk::Client;
use serde_json::json;

use super::entries::EntryVerifier;
use super::head::VerifiedHead;
use super::{LogArgs, print_fault, read_head};
use crate::output::{format_time, print_result};

/// Entries of a request: the maximum of the server.
const PAGE_SIZE: u32 = 100;

pub(super) async fn run(from: Option<&Path>, entries: bool, args: &LogArgs) -> Result<()> {
    let verified = verify(from, entries, args).await;
    print_fault(args.common.json, &verified)?;
    let (saved, current) = verified?;
    let (size, head) = (current.size(), current.signed.head);
    let value = json!({
        "ok": true, "log": current.key.log_id().to_string(), "size": size, "root": head.root.to_string(),
        "signedAt": head.at, "from": saved.as_ref().map(VerifiedHead::size), "entries": entries,
    });
    print_result(args.common.json, &value, || {
        let mut lines = vec![format!("log {}", current.key.log_id())];
        lines.push(format!("head of {size} entries, signed {}, root {}", format_time(head.at), head.root));
        if let Some(saved) = &saved {
            lines.push(format!("it continues the saved head of {} entries", saved.size()));
        }
        if entries {
            lines.push(format!("{size} entries verified"));
        }
        lines.join("\n")
    })?;
    Ok(())
}

/// Verifies everything, then saves the new head. Returns the saved and the current head.
async fn verify(
    from: Option<&Path>,
    entries: bool,
    args: &LogArgs,
) -> Result<(Option<VerifiedHead>, VerifiedHead)> {
    let key = args.key()?;
    let saved = from.map(|path| read_head(path, key.as_ref())).transpose()?;
    let client = args.client()?;
    let view = client.tree_head().await?;
    let current = VerifiedHead::new(&view, key.as_ref().or(saved.as_ref().map(|saved| &saved.key)))?;
    if let Some(saved) = &saved {
        current.check_order(saved)?;
        // An empty log is the beginning of every log.
        if saved.size() > 0 && saved.size() < current.size() {
            let proof = client.consistency_proof(saved.size(), current.size()).await?;
            current.verify_growth(saved, &proof)?;
        }
    }
    if entries {
        verify_entries(&client, saved.as_ref(), &current).await?;
    }
    args.save(&view)?;
    Ok((saved, current))
}

async fn verify_entries(client: &Client, saved: Option<&VerifiedHead>, current: &VerifiedHead) -> Result<()> {
    let mut verifier = EntryVerifier::new(saved, current);
    while let Some(start) = verifier.next_index() {
        verifier.add(&client.log_entries(start, PAGE_SIZE).await?.entries)?;
    }
    Ok(verifier.finish()?)
}
