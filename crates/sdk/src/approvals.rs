//! Approvals: questions of agents.

use guildhall_domain::ids::{ApprovalId, ApprovalRuleId, RunId, TenantId};
use guildhall_protocol::rest::approvals::rules::{ApprovalRuleView, ApprovalRulesView};
use guildhall_protocol::rest::approvals::{ApprovalView, ApprovalsView, CastVote};
use reqwest::Method;

use crate::{Client, ClientError};

/// Which approvals to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub run: Option<RunId>,
    /// Also those that were answered or withdrawn.
    pub all: bool,
    /// Only those asked before this one.
    pub before: Option<ApprovalId>,
    /// 1 to 100.
    pub limit: u32,
}

impl Client {
    /// Lists the remembered answers of a tenant, newest first.
    pub async fn list_approval_rules(&self, tenant: &str) -> Result<ApprovalRulesView, ClientError> {
        self.call(self.query(&["approval-rules"], &[("tenantId", tenant), ("limit", "100")])).await
    }

    /// Revokes a remembered answer: people are asked again.
    pub async fn revoke_approval_rule(&self, rule: ApprovalRuleId) -> Result<ApprovalRuleView, ClientError> {
        self.call(self.request(Method::DELETE, &["approval-rules", &rule.to_string()])).await
    }

    /// Lists questions of agents of a tenant, newest first.
    pub async fn list_approvals(
        &self,
        tenant: TenantId,
        filter: ApprovalFilter,
    ) -> Result<ApprovalsView, ClientError> {
        let state = if filter.all { "all" } else { "pending" };
        let mut query = vec![
            ("tenantId", tenant.to_string()),
            ("state", state.to_owned()),
            ("limit", filter.limit.to_string()),
        ];
        query.extend(filter.run.map(|run| ("runId", run.to_string())));
        query.extend(filter.before.map(|before| ("cursor", before.to_string())));
        self.call(self.query(&["approvals"], &query)).await
    }

    pub async fn get_approval(&self, approval: ApprovalId) -> Result<ApprovalView, ClientError> {
        self.call(self.request(Method::GET, &["approvals", &approval.to_string()])).await
    }

    /// Answers a question that was read.
    pub async fn vote(&self, approval: ApprovalId, vote: &CastVote) -> Result<ApprovalView, ClientError> {
        let segments = ["approvals", &approval.to_string(), "votes"];
        self.call(self.request(Method::POST, &segments).json(vote)).await
    }
}
