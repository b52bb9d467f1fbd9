//! Sends the answers of turns that have ended.

use guildhall_domain::messages::{AgentAnswer, DeliveryMode, MessageKind, answer_id};
use guildhall_domain::runs::command::{Command, CommandState};
use guildhall_domain::runs::event::EventBody;
use guildhall_domain::{FailureKind, Retry};
use guildhall_identity::e2ee::v1::ENVELOPE_TYPE;
use guildhall_store::agent_answers::{self, DueAnswer, NewAnswer};
use guildhall_store::journal::{self, Scope};
use guildhall_store::{commands, runs};

use super::instance;
use super::reconcile::{AnswerMessages, warn_of};
use super::sealing::AgentMessage;
use crate::ServiceError;
use crate::front::error::FrontError;
use crate::messages::{MessageError, MessageRequest};

/// The longest answer, as a JSON string. A longer one is cut; the session has all of it.
const MAX_ANSWER_BYTES: usize = 200_000;

impl AnswerMessages {
    /// Sends an answer, or tells its recipient that it can never be sent. Returns the outcome for the metric.
    pub(super) async fn settle_answer(&self, due: &DueAnswer) -> &'static str {
        let aid = &due.agent.aid;
        let error = match self.send_answer(due).await {
            Ok(()) => return "sent",
            Err(error) => error,
        };
        if !is_permanent(&error) {
            warn_of(aid, &error, "cannot send the answer of an agent; trying again");
            return "failed";
        }
        match self.give_up(due, &error).await {
            Ok(()) => {
                warn_of(aid, &error, "cannot send the answer of an agent; its recipient is told");
                "refused"
            }
            Err(error) => {
                warn_of(aid, &error, "cannot tell that an answer cannot be sent; trying again");
                "failed"
            }
        }
    }

    /// Sends the reason instead of an answer. It is in clear, and says nothing of the conversation.
    async fn give_up(&self, due: &DueAnswer, error: &ServiceError) -> Result<(), ServiceError> {
        let failure = error.failure();
        let message = format!("the answer cannot be sent: {}", failure.message);
        let payload = AgentAnswer::Failure { kind: failure.kind.to_string(), message }.payload(&due.message);
        let (agent, to, id) = (&due.agent, &due.recipient, answer_id(due.command));
        let told =
            self.send(&AgentMessage { agent, to, id: &id, payload: &payload }, MessageKind::Plain).await;
        match told {
            // Whoever cannot be told either is not asked again.
            Err(error) if !is_permanent(&error) => Err(error),
            Ok(()) | Err(_) => Ok(agent_answers::delete(&self.deps.store, due.command).await?),
        }
    }

    /// Sends an answer. Its message has an id of its own, so that a repeated send is one message.
    async fn send_answer(&self, due: &DueAnswer) -> Result<(), ServiceError> {
        let store = &self.deps.store;
        let turn = commands::find(store, due.command).await?.ok_or(ServiceError::NOT_FOUND)?;
        if let Some(next) = commands::find_continuation(store, &turn).await? {
            // The turn has asked something, and goes on with the answer.
            let recipient = self.messages.inbox_of(&due.recipient).await?;
            let (agent, message, kind) = (due.agent.agent, &due.message, due.kind);
            let answer = NewAnswer { command: next, agent, recipient, message, kind };
            agent_answers::insert(store, &answer).await?;
        } else {
            let payload = self.answer(&turn).await?.payload(&due.message);
            let (agent, to, id) = (&due.agent, &due.recipient, answer_id(due.command));
            self.send(&AgentMessage { agent, to, id: &id, payload: &payload }, due.kind).await?;
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
        let body =
            entries.first().and_then(|entry| serde_json::from_str::<EventBody>(entry.body.as_deref()?).ok());
        let text = body.as_ref().and_then(|body| body.payload["text"].as_str()).unwrap_or_default();
        Ok(AgentAnswer::Reply(cut(text).to_owned()))
    }

    /// Sends a message of an agent that is stored, sealed as the message was that it answers.
    pub(super) async fn send(
        &self,
        message: &AgentMessage<'_>,
        kind: MessageKind,
    ) -> Result<(), ServiceError> {
        let client = self.messages.hosted_client(&message.agent.aid, instance()).await?;
        let payload = self.seal_message(message, kind).await?;
        let envelope_type = if kind == MessageKind::SealedV1 { ENVELOPE_TYPE } else { "" };
        let request = MessageRequest {
            to: message.to.clone(),
            device: None,
            id: Some(message.id.clone()),
            payload,
            envelope_type: envelope_type.to_owned(),
            mode: DeliveryMode::Fanout,
        };
        match self.messages.sends.send(&client, request).await {
            // It was sent before, with other words: the turn has only one answer.
            Ok(_) | Err(ServiceError::Message(MessageError::IdReused)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an answer fails in the same way each time. New keys of the recipient are no reason: the next attempt uses them.
fn is_permanent(error: &ServiceError) -> bool {
    let kind = error.failure().kind;
    let is_unsealable = matches!(error, ServiceError::Front(FrontError::SealAnswer(_)));
    is_unsealable || (kind.row().retry != Retry::Later && kind != FailureKind::StaleKeys)
}

/// Cuts a text to the longest answer, between two characters.
fn cut(text: &str) -> &str {
    let mut left = MAX_ANSWER_BYTES;
    let fits = |(_, c): &(usize, char)| left.checked_sub(json_bytes(*c)).map(|rest| left = rest).is_some();
    let end = text.char_indices().take_while(fits).map(|(at, c)| at + c.len_utf8()).last();
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// Returns how many bytes a character takes in a JSON string, at most.
const fn json_bytes(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answer_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(""), "");
        let long = "é".repeat(MAX_ANSWER_BYTES);
        assert_eq!(cut(&format!("a{long}")).len(), MAX_ANSWER_BYTES - 1);
    }

    #[test]
    fn cut_answer_has_at_most_so_many_bytes_in_json() {
        for c in ['a', '"', '\\', '\u{1}', '\n', '\u{7f}', 'é', '🦀'] {
            let written = serde_json::json!(cut(&String::from(c).repeat(MAX_ANSWER_BYTES))).to_string();
            assert!(written.len() <= MAX_ANSWER_BYTES + 2, "{c:?}: {}", written.len());
        }
    }
}
