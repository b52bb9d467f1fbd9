//! `guildhall approvals rules` and `revoke`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::ApprovalRuleId;
use guildhall_protocol::rest::approvals::rules::ApprovalRuleView;
use guildhall_runtime::Clock;
use serde_json::json;

use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_age, format_table, print_result};

#[derive(Args)]
pub(super) struct RulesArgs {
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
pub(super) struct RevokeArgs {
    /// Id of the rule
    rule: ApprovalRuleId,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn list(args: &RulesArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let tenant = args.tenant.resolve(&connection).await?;
    let page = connection.client.list_approval_rules(&tenant.to_string()).await?;
    let now = Clock::system().now();
    print_result(args.common.json, &json!(page), || {
        if page.rules.is_empty() {
            return "no answer is remembered; `guildhall approvals allow APPROVAL --remember session` remembers one"
                .to_owned();
        }
        let rows = page.rules.iter().map(|rule| {
            let age = format_age(rule.created_at, now);
            [
                rule.rule_id.clone(),
                rule.effect.clone(),
                holds_in(rule),
                age,
                rule.used.to_string(),
                rule.approval_id.clone(),
            ]
        });
        format_table(["RULE", "EFFECT", "HOLDS IN", "AGE", "USED", "APPROVAL"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

pub(super) async fn revoke(args: &RevokeArgs) -> Result<()> {
    let rule = args.common.connect()?.client.revoke_approval_rule(args.rule).await?;
    print_result(args.common.json, &json!(rule), || {
        format!("revoked {}: people are asked again", rule.rule_id)
    })?;
    Ok(())
}

fn holds_in(rule: &ApprovalRuleView) -> String {
    let agent = rule.backend_profile.as_deref().zip(rule.project_id.as_deref());
    let agent = agent.map(|(agent, project)| format!("{agent} in {project}"));
    rule.run_id.clone().or_else(|| rule.session_id.clone()).or(agent).unwrap_or_else(|| rule.scope.clone())
}
