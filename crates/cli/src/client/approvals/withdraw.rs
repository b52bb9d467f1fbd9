//! `guildhall approvals withdraw`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::ApprovalId;
use serde_json::json;

use super::question_text::summary;
use crate::client::connection::CommonArgs;
use crate::output::print_result;

#[derive(Args)]
pub(super) struct WithdrawArgs {
    /// Id of the approval
    approval: ApprovalId,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &WithdrawArgs) -> Result<()> {
    let withdrawn = args.common.connect()?.client.withdraw_approval(args.approval).await?;
    print_result(args.common.json, &json!(withdrawn), || {
        format!("withdrawn: {}", summary(&withdrawn.question.action))
    })?;
    Ok(())
}
