//! The questions of a turn: asked, declined, and answered.

use guildhall_domain::runs::policy::Approval;
use serde_json::Value;

use super::open_request::{OpenRequest, RequestKind, tool_kind};
use super::permission::{self, PermissionDecision};
use super::turn::AcpTurn;
use super::{question, user_question};
use crate::backend::jsonl::Reply;
use crate::backend::passthrough::bound_payload;
use crate::backend::question::AnswerDelivery;
use crate::backend::{BackendEvent, BackendFailure, elicitation};

/// Who asks: the agent itself, or an MCP server that it does not name.
const AGENT: &str = "agent";

/// Returns the tool call that a request is about.
fn call_id(subject: &Value) -> Option<String> {
    subject["toolCallId"].as_str().map(str::to_owned)
}

impl AcpTurn<'_> {
    /// Returns the events, and what was declined. A request that a person decides has no reply yet.
    pub(super) async fn handle_permission(
        &mut self,
        id: Value,
        params: Value,
    ) -> Result<(Vec<BackendEvent>, Option<String>), BackendFailure> {
        let is_asked = self.stop.is_none() && self.approval != Approval::Never;
        let question = user_question::question(&params);
        let is_user_question = question.is_some();
        if let Some(question) = question.or_else(|| question::of_request(&params)).filter(|_| is_asked)
            && let Some(answer) = self.sink.ask(id.to_string(), call_id(&params["toolCall"]), question).await
        {
            let kind = if is_user_question {
                RequestKind::UserQuestion(params)
            } else {
                RequestKind::Permission(params)
            };
            self.questions.add(OpenRequest { id, kind }, answer);
            return Ok((Vec::new(), None));
        }
        let (response, decision) = permission::decide(self.approval, &params, self.stop.is_some());
        self.session.send_reply(&id, &Reply::Result(response)).await?;
        if decision == PermissionDecision::Granted {
            return Ok((Vec::new(), None));
        }
        let reason = match self.approval {
            Approval::Never => "only a person can answer it, and nobody is asked",
            Approval::OnRequest | Approval::Untrusted => {
                "the approval policy `never` allows it in the sandbox"
            }
        };
        let what = tool_kind(&params).to_owned();
        let declined = format!("{what} ({reason})");
        let event = BackendEvent::ApprovalDeclined { what, detail: bound_payload(params) };
        Ok((vec![event], Some(declined)))
    }

    /// Asks a person, or declines what nobody can be asked. Returns the events.
    pub(super) async fn handle_elicitation(
        &mut self,
        id: Value,
        params: Value,
    ) -> Result<Vec<BackendEvent>, BackendFailure> {
        let is_ours = params["sessionId"].as_str().is_none_or(|session| session == self.session.thread());
        let is_asked = is_ours && self.stop.is_none() && self.approval != Approval::Never;
        if let Some(question) = elicitation::question(AGENT, &params).filter(|_| is_asked)
            && let Some(answer) = self.sink.ask(id.to_string(), call_id(&params), question).await
        {
            self.questions.add(OpenRequest { id, kind: RequestKind::Elicitation }, answer);
            return Ok(Vec::new());
        }
        let (response, _) = RequestKind::Elicitation.reply(None, None, self.stop.is_some());
        self.session.send_reply(&id, &Reply::Result(response)).await?;
        Ok(vec![BackendEvent::ApprovalDeclined {
            what: "elicitation".to_owned(),
            detail: bound_payload(params),
        }])
    }

    /// Gives the answer of a person to the agent; no answer declines.
    pub(super) async fn answer(
        &mut self,
        request: OpenRequest,
        answer: Option<AnswerDelivery>,
    ) -> Result<(), BackendFailure> {
        let (option, content, delivered) = AnswerDelivery::parts(answer);
        let (response, declined) = request.kind.reply(option.as_deref(), content, self.stop.is_some());
        self.session.send_reply(&request.id, &Reply::Result(response)).await?;
        if let Some(delivered) = delivered {
            let _runner_gone = delivered.send(());
        }
        if declined.is_some() {
            self.declined = declined;
        }
        Ok(())
    }
}
