//! Sends the answers of turns that have ended.

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{AgentAnswer, DeliveryMode, MessageId, SentPayload, answer_id};
use guildhall_domain::runs::command::{Command, CommandState};
use guildhall_domain::runs::event::EventBody;
use guildhall_store::agent_answers::{self, DueAnswer, NewAnswer};
use guildhall_store::agent_inboxes::HostedAgent;
use guildhall_store::journal::{self, Scope};
use guildhall_store::{commands, runs};
use serde_json::Value;

use super::instance;
use super::reconcile::AnswerMessages;
use crate::ServiceError;
use crate::messages::{InboxClient, MessageError, MessageRequest};

/// The longest answer. A longer one is cut; the session has all of it.
const MAX_ANSWER_BYTES: usize = 200_000;

impl AnswerMessages {
    /// Sends an answer. Its message has an id of its own, so that a repeated send is one message.
    pub(super) async fn send_answer(&self, due: &DueAnswer) -> Result<(), ServiceError> {
        let store = &self.deps.store;
        let turn = commands::find(store, due.command).await?.ok_or(ServiceError::NOT_FOUND)?;
        if let Some(next) = commands::find_continuation(store, &turn).await? {
            // The turn has asked something, and goes on with the answer.
            let recipient = self.messages.inbox_of(&due.recipient).await?;
            let (agent, message, kind) = (due.agent.agent, &due.message, due.kind);
            let answer = NewAnswer { command: next, agent, recipient, message, kind };
            agent_answers::insert(store, &answer).await?;
        } else {
            let answer = self.answer(&turn).await?;
            let payload = answer.payload(&due.message);
            self.send(&due.agent, &due.recipient, answer_id(due.command), &payload).await?;
        }
        Ok(agent_answers::delete(store, due.command).await?)
    }

    async fn answer(&self, turn: &Command) -> Result<AgentAnswer, ServiceError> {
        let outcome = match &turn.state {
            CommandState::Ended(outcome) => outcome,
            CommandState::Pending | CommandState::Running { .. } => return Err(ServiceError::Overloaded),
        };
        if let Some(failure) = &outcome.failure {
            let (kind, message) = (failure.kind.to_string(), failure.message.clone());
            return Ok(AgentAnswer::Failure { kind, message });
        }
        let (store, scope) = (&self.deps.store, Scope::Command(turn.id));
        let folds = journal::load_folds(store, turn.run, &[scope]).await?;
        let reply = folds.get(&scope).and_then(|fold| fold.reply());
        let entries = match reply {
            Some(reply) => journal::list_by_seqs(store, runs::stream(turn.run), &[reply.seq]).await?,
            None => Vec::new(),
        };
        let body = entries.first().and_then(|entry| serde_json::from_str::<EventBody>(entry.body.as_deref()?).ok());
        let text = body.as_ref().and_then(|body| body.payload["text"].as_str()).unwrap_or_default();
        Ok(AgentAnswer::Reply(cut(text).to_owned()))
    }

    /// Sends a message of an agent that is stored.
    pub(super) async fn send(
        &self,
        agent: &HostedAgent,
        to: &Aid,
        id: MessageId,
        payload: &Value,
    ) -> Result<(), ServiceError> {
        let client = self.messages.hosted_client(&agent.aid, instance()).await?;
        match self.send_as(&client, to, Some(id), payload, DeliveryMode::Fanout).await {
            // It was sent before, with other words: the turn has only one answer.
            Ok(()) | Err(ServiceError::Message(MessageError::IdReused)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn send_as(
        &self,
        client: &InboxClient,
        to: &Aid,
        id: Option<MessageId>,
        payload: &Value,
        mode: DeliveryMode,
    ) -> Result<(), ServiceError> {
        let payload = SentPayload::Plain(payload.to_string());
        let request = MessageRequest { to: to.clone(), id, payload, envelope_type: String::new(), mode };
        self.messages.sends.send(client, request).await.map(drop)
    }
}

/// Cuts a text to the longest answer, between two characters.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_ANSWER_BYTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answer_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = "é".repeat(MAX_ANSWER_BYTES);
        assert_eq!(cut(&format!("a{long}")).len(), MAX_ANSWER_BYTES - 1);
    }
}
