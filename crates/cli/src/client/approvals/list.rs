//! `guildhall approvals ls`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::{ApprovalId, RunId, SessionId};
use guildhall_runtime::Clock;
use guildhall_sdk::ApprovalFilter;
use serde_json::json;

use super::question_text::summary;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_age, format_table, print_result};

#[derive(Args)]
pub(super) struct ListArgs {
    /// Also list questions that were answered or withdrawn
    #[arg(long)]
    all: bool,
    /// Only questions of this run
    #[arg(long)]
    run: Option<RunId>,
    /// Only questions of this session
    #[arg(long, conflicts_with = "run")]
    session: Option<SessionId>,
    /// Only questions that you may answer
    #[arg(long)]
    mine: bool,
    /// Maximum number of questions
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Only questions asked before this approval id
    #[arg(long, value_name = "APPROVAL")]
    before: Option<ApprovalId>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &ListArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let filter = ApprovalFilter {
        run: args.run,
        session: args.session,
        answerable: args.mine,
        all: args.all,
        before: args.before,
        limit: args.limit,
    };
    let page = client.list_approvals(tenant, filter).await?;
    let now = Clock::system().now();
    print_result(args.common.json, &json!(page), || {
        if page.approvals.is_empty() && !args.all {
            return "no agent waits for an answer; `guildhall approvals ls --all` also lists earlier questions"
                .to_owned();
        }
        let rows = page.approvals.iter().map(|approval| {
            let age = format_age(approval.created_at, now);
            let what = summary(&approval.question.action);
            [approval.approval_id.clone(), approval.status.clone(), age, approval.run_id.clone(), what]
        });
        format_table(["APPROVAL", "STATUS", "AGE", "RUN", "ACTION"], &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older questions: add --before {next}");
    }
    Ok(())
}
