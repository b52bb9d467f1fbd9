//! `guildhall transparency verify --to`.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::head::VerifiedHead;
use super::{LogArgs, print_fault, read_head, read_json};
use crate::output::print_result;

/// Verifies that two saved heads are of one log that has only grown. Asks the server for a proof, if one is needed and none is given.
pub(super) async fn run(from: &Path, to: &Path, proof: Option<&Path>, args: &LogArgs) -> Result<()> {
    let compared = compare(from, to, proof, args).await;
    print_fault(args.common.json, &compared)?;
    let (older, newer) = compared?;
    let (log, sizes) = (newer.key.log_id().to_string(), [older.size(), newer.size()]);
    let value = json!({ "ok": true, "log": log, "from": sizes[0], "size": sizes[1] });
    print_result(args.common.json, &value, || {
        format!("log {log}\nthe head of {} entries continues the one of {} entries", sizes[1], sizes[0])
    })?;
    Ok(())
}

/// Returns the head that was signed first, and the other one.
async fn compare(
    from: &Path,
    to: &Path,
    proof: Option<&Path>,
    args: &LogArgs,
) -> Result<(VerifiedHead, VerifiedHead)> {
    let key = args.key()?;
    let from = read_head(from, key.as_ref())?;
    let to = read_head(to, Some(&from.key))?;
    let (older, newer) = if from.signed.head.at <= to.signed.head.at { (from, to) } else { (to, from) };
    newer.check_order(&older)?;
    if older.size() > 0 && older.size() < newer.size() {
        let proof = match proof {
            Some(path) => read_json(path, "consistency proof")?,
            None => args.client()?.consistency_proof(older.size(), newer.size()).await?,
        };
        newer.verify_growth(&older, &proof)?;
    }
    Ok((older, newer))
}
