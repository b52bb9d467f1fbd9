//! Tells the sender of a message how far the answer is: messages that are not stored, from the replica that started the turn.

use std::time::Duration;

use guildhall_domain::identity::Aid;
use guildhall_domain::ids::CommandId;
use guildhall_domain::journal::Seq;
use guildhall_domain::messages::{
    DeliveryMode, InboxMessage, MessageId, MessageKind, SentPayload, progress_payload,
};
use guildhall_domain::runs::event::{self, EventBody};
use guildhall_store::agent_inboxes::HostedAgent;
use guildhall_store::{commands, runs};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::instance;
use super::reconcile::AnswerMessages;
use crate::ServiceError;
use crate::front::agent_runs::AcceptedTurn;
use crate::messages::{InboxClient, MessageRequest};

/// How often a sender is told at most.
const PACE: Duration = Duration::from_secs(1);

/// The longest text of one report: the end of the answer so far.
const MAX_TEXT_BYTES: usize = 4_000;

/// How long a turn is followed. The answer of a longer one is found by the rounds.
const MAX_TIME: Duration = Duration::from_secs(3600);

/// A turn whose progress is reported.
struct FollowedTurn {
    client: InboxClient,
    command: CommandId,
    /// Before its first event.
    start: Seq,
    recipient: Aid,
    message: MessageId,
    text: String,
    is_changed: bool,
    is_silent: bool,
}

impl AnswerMessages {
    /// Follows a turn in the background, unless too many are followed. Reports its progress, except where the message was sealed:
    /// reports are in clear.
    pub(super) fn follow(&self, agent: HostedAgent, message: &InboxMessage, turn: AcceptedTurn) {
        let is_sealed = message.kind != MessageKind::Plain;
        let Ok(permit) = self.followed.clone().try_acquire_owned() else { return };
        let (this, recipient, message) = (self.clone(), message.from.clone(), message.id.clone());
        self.tasks.spawn_isolated("agent-progress", async move {
            let _permit = permit;
            let followed = async {
                let client = this.messages.hosted_client(&agent.aid, instance()).await?;
                let (command, start) = (turn.turn.command, turn.turn.start.seq);
                let turn = FollowedTurn {
                    client,
                    command,
                    start,
                    recipient,
                    message,
                    text: String::new(),
                    is_changed: false,
                    is_silent: is_sealed,
                };
                this.report_progress(turn).await
            };
            // The answer does not depend on it.
            let _best_effort: Result<(), ServiceError> = tokio::select! {
                reported = followed => reported,
                () = this.tasks.stop().cancelled_owned() => Ok(()),
            };
        });
    }

    async fn report_progress(&self, mut turn: FollowedTurn) -> Result<(), ServiceError> {
        let command = commands::find(&self.deps.store, turn.command).await?.ok_or(ServiceError::NOT_FOUND)?;
        let mut follower = self.deps.journals.follow(runs::stream(command.run), turn.start);
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let deadline = Instant::now() + MAX_TIME;
        loop {
            tokio::select! {
                entry = timeout_at(deadline, follower.next()) => {
                    let Ok(entry) = entry else { return Ok(()) };
                    let entry = entry?;
                    let body = entry.body.as_deref().and_then(|body| serde_json::from_str::<EventBody>(body).ok());
                    let Some(body) = body.filter(|body| body.command_id == Some(turn.command)) else { continue };
                    if entry.kind == event::TERMINAL_STATUS {
                        self.has_ended(turn.command);
                        return Ok(());
                    }
                    if entry.kind == event::ASSISTANT_DELTA {
                        turn.add(body.payload["text"].as_str().unwrap_or_default());
                    }
                }
                _ = ticks.tick() => self.report(&mut turn).await?,
            }
        }
    }

    async fn report(&self, turn: &mut FollowedTurn) -> Result<(), ServiceError> {
        if !std::mem::take(&mut turn.is_changed) {
            return Ok(());
        }
        let payload = progress_payload(&turn.text, &turn.message);
        let request = MessageRequest {
            to: turn.recipient.clone(),
            device: None,
            id: None,
            payload: SentPayload::Plain(payload.to_string()),
            envelope_type: String::new(),
            mode: DeliveryMode::Queue,
        };
        self.messages.sends.send(&turn.client, request).await.map(drop)
    }
}

impl FollowedTurn {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        let surplus = self.text.len().saturating_sub(MAX_TEXT_BYTES);
        self.text.drain(..self.text.ceil_char_boundary(surplus));
        self.is_changed = !text.is_empty() && !self.is_silent;
    }
}
