//! Approvals: questions of agents.

use guildhall_domain::ids::{ApprovalId, RunId};
use guildhall_protocol::rest::approvals::{ApprovalView, ApprovalsView, CastVote};
use reqwest::Method;

use crate::{Client, ClientError};

impl Client {
    /// Lists questions of agents of a tenant, newest first; only those that wait for an answer, unless `all`.
    pub async fn list_approvals(
        &self,
        tenant: &str,
        run: Option<RunId>,
        all: bool,
    ) -> Result<ApprovalsView, ClientError> {
        let run = run.map(|run| run.to_string());
        let mut query = vec![("tenantId", tenant), ("state", if all { "all" } else { "pending" })];
        query.extend(run.as_deref().map(|run| ("runId", run)));
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
