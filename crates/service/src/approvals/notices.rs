//! Tells the webhooks of a tenant about questions, in the transaction that asks or decides them.
//!
//! A notice leaves the installation, so it has no arguments and no words of the agent: whoever reads it opens the question
//! with the right to see it.

use guildhall_domain::approvals::approval::{Approval, QuestionPage};
use guildhall_domain::approvals::question::{Action, Question};
use guildhall_domain::approvals::state::Decision;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_store::approvals::NewApproval;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::ServiceError;
use crate::run_steps::LockedRun;
use crate::webhooks::events::{self, NewEvent};

/// Where people answer questions.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerPage<'a> {
    /// The public address of the server; none where it is not configured.
    pub(super) public_url: Option<&'a str>,
}

impl AnswerPage<'_> {
    fn link(self, id: ApprovalId) -> Option<String> {
        self.public_url.map(|url| format!("{}{}", url.trim_end_matches('/'), QuestionPage(id)))
    }
}

/// Tells that an agent waits for people.
pub(super) async fn requested(
    locked: &mut LockedRun,
    page: AnswerPage<'_>,
    new: &NewApproval<'_>,
    question: &Question,
) -> Result<(), ServiceError> {
    let expires_at = locked.run.now + new.expires_after;
    let data = about(locked, new.id, &question.action, expires_at, page);
    enqueue(locked, WebhookEventType::ApprovalRequested, data).await
}

/// Tells that a question that people were asked needs no answer any more.
pub(super) async fn decided(
    locked: &mut LockedRun,
    page: AnswerPage<'_>,
    approval: &Approval,
    decision: &Decision,
) -> Result<(), ServiceError> {
    let mut data = about(locked, approval.id, &approval.question.action, approval.expires_at, page);
    data.insert("optionId".to_owned(), json!(decision.option()));
    data.insert("effect".to_owned(), json!(decision.effect()));
    data.insert("decidedBy".to_owned(), json!(decision.by().names()));
    enqueue(locked, WebhookEventType::ApprovalDecided, data).await
}

fn about(
    locked: &LockedRun,
    id: ApprovalId,
    action: &Action,
    expires_at: Timestamp,
    page: AnswerPage<'_>,
) -> Map<String, Value> {
    let mut data = Map::from_iter([
        ("approvalId".to_owned(), json!(id)),
        ("runId".to_owned(), json!(locked.run.id)),
        ("sessionId".to_owned(), json!(locked.run.session)),
        ("kind".to_owned(), json!(action.kind)),
        ("tool".to_owned(), json!(action.tool)),
        ("expiresAt".to_owned(), json!(expires_at)),
    ]);
    if let Some(link) = page.link(id) {
        data.insert("link".to_owned(), json!(link));
    }
    data
}

async fn enqueue(
    locked: &mut LockedRun,
    event_type: WebhookEventType,
    data: Map<String, Value>,
) -> Result<(), ServiceError> {
    let new = NewEvent { event_type, occurred_at: locked.run.now, data: Value::Object(data) };
    events::enqueue(&mut locked.tx, locked.run.tenant, &new).await
}
