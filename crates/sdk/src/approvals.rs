//! Approvals: questions of agents.

use std::time::Duration;

use guildhall_domain::ids::{ApprovalId, ApprovalRuleId, RunId, SessionId, TenantId};
use guildhall_protocol::rest::approvals::policy::{ApprovalPolicyView, SetApprovalPolicy};
use guildhall_protocol::rest::approvals::rules::{ApprovalRuleView, ApprovalRulesView};
use guildhall_protocol::rest::approvals::{ApprovalView, ApprovalsView, CastVote};
use reqwest::Method;

use crate::{Client, ClientError};

/// Which approvals to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    /// Only those that the caller may answer now.
    pub answerable: bool,
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
        self.call(self.query(&["approvals"], &list_query(tenant, filter))).await
    }

    /// Waits until something has changed after the `position` of an earlier list, at most for a time, and lists questions.
    pub async fn wait_for_approvals(
        &self,
        tenant: TenantId,
        filter: ApprovalFilter,
        position: &str,
        wait: Duration,
    ) -> Result<ApprovalsView, ClientError> {
        let mut query = list_query(tenant, filter);
        query.push(("after", position.to_owned()));
        query.push(("wait", wait.as_millis().to_string()));
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

    /// Ends a question without an answer.
    pub async fn withdraw_approval(&self, approval: ApprovalId) -> Result<ApprovalView, ClientError> {
        self.call(self.request(Method::POST, &["approvals", &approval.to_string(), "withdraw"])).await
    }

    pub async fn get_approval_policy(&self, tenant: TenantId) -> Result<ApprovalPolicyView, ClientError> {
        self.call(self.request(Method::GET, &["tenants", &tenant.to_string(), "approval-policy"])).await
    }

    /// Replaces the approval policy of a tenant.
    pub async fn set_approval_policy(
        &self,
        tenant: TenantId,
        policy: &SetApprovalPolicy,
    ) -> Result<ApprovalPolicyView, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "approval-policy"];
        self.call(self.request(Method::PUT, &segments).json(policy)).await
    }
}

fn list_query(tenant: TenantId, filter: ApprovalFilter) -> Vec<(&'static str, String)> {
    let ApprovalFilter { run, session, answerable, all, before, limit } = filter;
    let state = if all { "all" } else { "pending" };
    let mut query = vec![
        ("tenantId", tenant.to_string()),
        ("state", state.to_owned()),
        ("answerable", answerable.to_string()),
        ("limit", limit.to_string()),
    ];
    query.extend(run.map(|run| ("runId", run.to_string())));
    query.extend(session.map(|session| ("sessionId", session.to_string())));
    query.extend(before.map(|before| ("cursor", before.to_string())));
    query
}
