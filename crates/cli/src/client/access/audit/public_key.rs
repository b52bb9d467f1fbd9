//! `guildhall audit public-key`.

use anyhow::Result;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::print_result;

pub(super) async fn run(common: &CommonArgs) -> Result<()> {
    let key = common.connect()?.client.audit_public_key().await?;
    print_result(common.json, &json!(key), || key.public_key.clone())?;
    Ok(())
}
