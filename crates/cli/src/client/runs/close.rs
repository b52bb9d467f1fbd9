//! `guildhall runs close`.

use anyhow::Result;
use guildhall_domain::ids::RunId;
use serde_json::json;

use crate::client::connection::CommonArgs;
use crate::output::print_result;

pub(super) async fn run(run: RunId, common: &CommonArgs) -> Result<()> {
    let closed = common.connect()?.client.close_run(run).await?;
    print_result(common.json, &json!(closed), || format!("{run} has ended: {}", closed.status))?;
    Ok(())
}
