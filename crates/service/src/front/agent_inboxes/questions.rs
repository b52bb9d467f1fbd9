//! Reads the messages of an agent: words of somebody who may start work become a turn.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::subject::SubjectScope;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AgentKey;
use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::ids::PrincipalId;
use guildhall_domain::messages::{
    AgentAnswer, DeliveryMode, InboxMessage, MessageContent, MessageKind, PageLimit, PageView, message_words,
    refusal_id,
};
use guildhall_store::agent_answers::{self, NewAnswer};
use guildhall_store::agent_inboxes::{self, ClaimedInbox};
use guildhall_store::{aids, principals};
use jiff::SignedDuration;
use serde_json::json;

use super::instance;
use super::reconcile::{AnswerMessages, is_transient};
use super::sealing::AgentMessage;
use crate::ServiceError;
use crate::front::agent_runs::{AcceptedTurn, TurnRequest};
use crate::front::pipelines::PipelineSource;

/// Messages read at a time.
const PAGE: u32 = 20;

/// Pages of one claim. The rest waits for the next round.
const MAX_PAGES: usize = 10;

/// How long the authority of a sender is used that was read for one message.
const AUTHORITY_TIME: SignedDuration = SignedDuration::from_mins(5);

impl AnswerMessages {
    /// Reads the messages of an agent in their order. Each is confirmed when its turn is stored, so that a replica that dies in
    /// between leaves it to another one: the turn has the id of the message and is started once.
    pub(super) async fn read_inbox(&self, claimed: &ClaimedInbox) -> Result<(), ServiceError> {
        let client = self.messages.hosted_client(&claimed.agent.aid, instance()).await?;
        let mut after = claimed.read_to;
        for _ in 0..MAX_PAGES {
            let limit = PageLimit::new(Some(PAGE));
            let page = self.messages.pulls.page(&client, after, limit, PageView::All).await?;
            for message in &page.messages {
                self.read_message(claimed, message).await?;
                self.messages.acks.confirm(&client, None, message.seq).await?;
            }
            after = page.scanned_to;
            self.messages.acks.confirm(&client, None, after).await?;
            if !page.has_more {
                break;
            }
        }
        Ok(())
    }

    async fn read_message(&self, claimed: &ClaimedInbox, message: &InboxMessage) -> Result<(), ServiceError> {
        let Some(payload) = question(message) else { return Ok(()) };
        let agent = &claimed.agent;
        let sender = self.messages.inbox_of(&message.from).await?;
        // Two agents that answer each other would never end.
        if agent_inboxes::is_hosted(&self.deps.store, sender).await? {
            return Ok(());
        }
        let accepted = match self.open_message(agent, message, payload).await? {
            Ok(opened) => match message_words(&opened) {
                Some(words) => self.start_turn(claimed, message, words).await,
                None => return Ok(()),
            },
            Err(failure) => Ok(Err(failure)),
        };
        let refusal = match accepted {
            Ok(Ok(turn)) => {
                let answer = NewAnswer {
                    command: turn.turn.command,
                    agent: claimed.agent.agent,
                    recipient: sender,
                    message: &message.id,
                    kind: message.kind,
                };
                agent_answers::insert(&self.deps.store, &answer).await?;
                self.follow(claimed.agent.clone(), message, turn);
                return Ok(());
            }
            Ok(Err(refusal)) => refusal,
            Err(error) if is_transient(&error) => return Err(error),
            Err(error) => {
                let failure = error.failure();
                AgentAnswer::Failure { kind: failure.kind.to_string(), message: failure.message }
            }
        };
        let id = refusal_id(claimed.agent.inbox.get(), message.seq.get());
        let payload = refusal.payload(&message.id);
        self.send(&AgentMessage { agent, to: &message.from, id: &id, payload: &payload }, MessageKind::Plain)
            .await
    }

    /// Starts a turn with the agent, or returns the one that the message has started before. The inner error is what the sender
    /// is told.
    async fn start_turn(
        &self,
        claimed: &ClaimedInbox,
        message: &InboxMessage,
        words: &str,
    ) -> Result<Result<AcceptedTurn, AgentAnswer>, ServiceError> {
        let Some(owner) = self.sender(claimed, message).await? else {
            return Ok(Err(AgentAnswer::Failure {
                kind: "forbidden".to_owned(),
                message: "this agent works for members of its tenant only".to_owned(),
            }));
        };
        let caller = self.caller(claimed, owner)?;
        let thread: ExternalId = external_id(message.from.name().as_str())?;
        let id = external_id(message.id.as_str())?;
        let request = TurnRequest {
            thread: &thread,
            client_run: &id,
            message: &id,
            device_zone: None,
            payload: json!({
                "clientMessageId": id.as_str(), "runtimeMode": RuntimeMode::Chat, "prompt": words,
            }),
            images: Vec::new(),
        };
        let agent = AgentKey::Id(claimed.agent.agent);
        let started =
            self.agent_runs.find_or_start_turn(&caller, Some(&agent), PipelineSource::Agent, request).await?;
        Ok(Ok(started))
    }

    /// Returns the owner of the sender's AID, if its messages start work.
    async fn sender(
        &self,
        claimed: &ClaimedInbox,
        message: &InboxMessage,
    ) -> Result<Option<PrincipalId>, ServiceError> {
        let store = &self.deps.store;
        let Some(aid) = aids::find(store, &message.from).await? else { return Ok(None) };
        let tenant = claimed.agent.tenant;
        // None for a principal that is disabled.
        let Some(authority) = principals::find_authority(store, aid.owner, None, Some(tenant)).await? else {
            return Ok(None);
        };
        let role = authority.role.filter(|(found, _)| *found == tenant).map(|(_, role)| role);
        Ok(claimed.senders.allow(role).then_some(aid.owner))
    }

    /// Returns the sender as a caller who may use conversations with this agent, and nothing else: whoever has the key of an AID
    /// does not have the permissions of its owner.
    fn caller(
        &self,
        claimed: &ClaimedInbox,
        owner: PrincipalId,
    ) -> Result<ThreadOwner<RunsWrite>, ServiceError> {
        let scope = SubjectScope { tenant: claimed.agent.tenant, agent: Some(claimed.agent.agent) };
        let caller = Caller {
            principal: owner,
            kind: TokenKind::External,
            login: None,
            key: None,
            tenant: None,
            subject: Some(scope),
            expires_at: self.clock.now() + AUTHORITY_TIME,
            is_operator: false,
        };
        Ok(ThreadOwner::new(caller, claimed.agent.tenant)?)
    }
}

/// Returns the payload of a message that may ask for something.
fn question(message: &InboxMessage) -> Option<&str> {
    let MessageContent::Payload(payload) = &message.content else { return None };
    if message.mode != DeliveryMode::Fanout {
        return None;
    }
    match message.kind {
        MessageKind::Plain | MessageKind::SealedV1 | MessageKind::SealedV1Copies | MessageKind::SealedV2 => {
            Some(payload)
        }
        MessageKind::SealedV1SelfCopies | MessageKind::SealedV2SelfCopy | MessageKind::Recall => None,
    }
}

fn external_id(text: &str) -> Result<ExternalId, ServiceError> {
    text.parse().map_err(|_| ServiceError::Invalid("the id of the message".to_owned()))
}
