//! Tells the webhooks of a tenant about questions, in the transaction that changes them.
//!
//! A notice leaves the installation, so it has no arguments and no words of the agent: whoever reads it opens the question
//! with the right to see it.

use guildhall_domain::approvals::approval::QuestionPage;
use guildhall_domain::approvals::question::{Action, Question};
use guildhall_domain::approvals::state::Decision;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_store::approvals::{self, StoredApproval};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::LockedRun;
use crate::ServiceError;
use crate::deps::Deps;
use crate::webhooks::events::{self, NewEvent};

/// The question that a notice is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoticeSubject<'a> {
    pub(crate) id: ApprovalId,
    pub(crate) action: &'a Action,
    pub(crate) expires_at: Timestamp,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Those who may answer under the policy.
    Approvers,
    /// Also the owners of the tenant, because nobody answered in time.
    Owners,
}

/// Tells that an agent waits for people.
pub(crate) async fn requested(
    locked: &mut LockedRun,
    deps: &Deps,
    subject: NoticeSubject<'_>,
    audience: Audience,
) -> Result<(), ServiceError> {
    let mut data = about(locked, deps, subject);
    data.insert("escalated".to_owned(), json!(audience == Audience::Owners));
    enqueue(locked, WebhookEventType::ApprovalRequested, data).await
}

/// Tells that a question that people were asked has its answer, or has expired.
pub(crate) async fn decided(
    locked: &mut LockedRun,
    deps: &Deps,
    subject: NoticeSubject<'_>,
    decision: &Decision,
) -> Result<(), ServiceError> {
    let mut data = about(locked, deps, subject);
    data.insert("optionId".to_owned(), json!(decision.option()));
    data.insert("effect".to_owned(), json!(decision.effect()));
    data.insert("decidedBy".to_owned(), json!(decision.by().names()));
    enqueue(locked, WebhookEventType::ApprovalDecided, data).await
}

/// Tells about the questions that were withdrawn under this lock. The end of a turn does not fail because its question
/// cannot be read.
pub(super) async fn withdrawn(locked: &mut LockedRun, deps: &Deps) -> Result<(), ServiceError> {
    for id in std::mem::take(&mut locked.withdrawn) {
        let Some(stored) = approvals::load(&mut locked.tx, id).await? else { continue };
        let Some(question) = open_question(deps, &stored) else {
            warn!(approval.id = %id, "the question of {id} cannot be read: webhooks are not told that it was withdrawn");
            continue;
        };
        let subject = NoticeSubject { id, action: &question.action, expires_at: stored.expires_at };
        let mut data = about(locked, deps, subject);
        data.insert("endReason".to_owned(), json!(stored.state.end_reason()));
        enqueue(locked, WebhookEventType::ApprovalWithdrawn, data).await?;
    }
    Ok(())
}

fn open_question(deps: &Deps, stored: &StoredApproval) -> Option<Question> {
    let opened = deps.payload_sealer.open_question(stored.id.as_uuid(), &stored.sealed_question).ok()?;
    serde_json::from_slice(&opened).ok()
}

fn about(locked: &LockedRun, deps: &Deps, subject: NoticeSubject<'_>) -> Map<String, Value> {
    let NoticeSubject { id, action, expires_at } = subject;
    let mut data = Map::from_iter([
        ("approvalId".to_owned(), json!(id)),
        ("runId".to_owned(), json!(locked.run.id)),
        ("sessionId".to_owned(), json!(locked.run.session)),
        ("kind".to_owned(), json!(action.kind)),
        ("tool".to_owned(), json!(action.tool)),
        ("expiresAt".to_owned(), json!(expires_at)),
    ]);
    if let Some(url) = deps.public_url.as_deref() {
        let link = format!("{}{}", url.trim_end_matches('/'), QuestionPage(id));
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
