//! Tells the webhooks of a tenant about questions, in the transaction that changes them.
//!
//! A notice leaves the installation, so it has no arguments and no words of the agent: whoever reads it opens the question
//! with the right to see it.

use guildhall_domain::approvals::approval::QuestionPage;
use guildhall_domain::approvals::question::{Action, Question};
use guildhall_domain::approvals::state::Decision;
use guildhall_domain::ids::ApprovalId;
use guildhall_domain::runs::Run;
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_store::Tx;
use guildhall_store::approvals::{self, StoredApproval};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::warn;

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

/// Tells about the questions of one run, in the transaction that locks it.
#[derive(Debug)]
pub(crate) struct ApprovalNotices<'a> {
    pub(super) tx: &'a mut Tx,
    pub(super) run: &'a Run,
    pub(super) deps: &'a Deps,
}

impl ApprovalNotices<'_> {
    /// Tells that an agent waits for people.
    pub(crate) async fn requested(
        self,
        subject: NoticeSubject<'_>,
        audience: Audience,
    ) -> Result<(), ServiceError> {
        let mut data = self.about(subject);
        data.insert("escalated".to_owned(), json!(audience == Audience::Owners));
        self.enqueue(WebhookEventType::ApprovalRequested, data).await
    }

    /// Tells that a question that people were asked has its answer, or has expired.
    pub(crate) async fn decided(
        self,
        subject: NoticeSubject<'_>,
        decision: &Decision,
    ) -> Result<(), ServiceError> {
        let mut data = self.about(subject);
        data.insert("optionId".to_owned(), json!(decision.option()));
        data.insert("effect".to_owned(), json!(decision.effect()));
        data.insert("decidedBy".to_owned(), json!(decision.by().names()));
        self.enqueue(WebhookEventType::ApprovalDecided, data).await
    }

    /// Tells that a question was withdrawn. The end of a turn does not fail because its question cannot be read.
    pub(super) async fn withdrawn(self, id: ApprovalId) -> Result<(), ServiceError> {
        let Some(stored) = approvals::load(self.tx, id).await? else { return Ok(()) };
        let Some(question) = decrypt_question(self.deps, &stored) else {
            warn!(approval.id = %id, "the question of {id} cannot be read: webhooks are not told that it was withdrawn");
            return Ok(());
        };
        let subject = NoticeSubject { id, action: &question.action, expires_at: stored.expires_at };
        let mut data = self.about(subject);
        data.insert("endReason".to_owned(), json!(stored.state.end_reason()));
        self.enqueue(WebhookEventType::ApprovalWithdrawn, data).await
    }

    fn about(&self, subject: NoticeSubject<'_>) -> Map<String, Value> {
        let NoticeSubject { id, action, expires_at } = subject;
        let mut data = Map::from_iter([
            ("approvalId".to_owned(), json!(id)),
            ("runId".to_owned(), json!(self.run.id)),
            ("sessionId".to_owned(), json!(self.run.session)),
            ("kind".to_owned(), json!(action.kind)),
            ("tool".to_owned(), json!(action.tool)),
            ("expiresAt".to_owned(), json!(expires_at)),
        ]);
        if let Some(url) = self.deps.public_url.as_deref() {
            let link = format!("{}{}", url.trim_end_matches('/'), QuestionPage(id));
            data.insert("link".to_owned(), json!(link));
        }
        data
    }

    async fn enqueue(
        self,
        event_type: WebhookEventType,
        data: Map<String, Value>,
    ) -> Result<(), ServiceError> {
        let new = NewEvent { event_type, occurred_at: self.run.now, data: Value::Object(data) };
        events::enqueue(self.tx, self.run.tenant, &new).await
    }
}

fn decrypt_question(deps: &Deps, stored: &StoredApproval) -> Option<Question> {
    let opened = deps.payload_sealer.decrypt_question(stored.id.as_uuid(), &stored.sealed_question).ok()?;
    serde_json::from_slice(&opened).ok()
}
