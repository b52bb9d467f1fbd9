//! Takes calls out of an inbox, and answers them.

use std::collections::BTreeSet;
use std::convert::Infallible;

use futures::future::{BoxFuture, Fuse, FutureExt, TryFutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use guildhall_domain::agents::tool_calls::{
    CallConversation, CallId, ToolCall, ToolErrorCode, ToolOutcome, ToolResponse,
};
use guildhall_domain::identity::Aid;
use tokio::sync::watch;

use super::answers::send_answer;
use super::call_queue::CallQueue;
use super::effective::{DeviceGrants, ServerState, fetch_state};
use super::error::GuardedInboxError;
use super::incoming::{RefusedMessage, ToolTraffic, is_from_other, read};
use super::open_messages::OpenMessages;
use super::relations::{RelationEvent, relation_event, restrict};
use super::relations_freshness::{RefreshStart, RelationsFreshness};
use crate::guard::{Guard, GuardError, Prompts, ReceivedCall, Tools};
use crate::messages::{InboxFollower, InboxItem, Messenger, MessengerError, ReceivedMessage};
use crate::socket::{SocketError, SocketEvent};

/// Calls that are handled or refused beside each other. While there are more, all wait in the inbox.
const MAX_CALLS: usize = 64;

/// What a guarded inbox has done, for the person at the device.
#[derive(Debug)]
pub enum GuardNotice {
    /// Calls are handled from now on.
    Ready,
    Disconnected(SocketError),
    /// What an agent may call has changed. Empty: nothing.
    Scopes {
        agent: Aid,
        scopes: BTreeSet<String>,
    },
    /// A message about a tool that is not believed.
    Refused {
        from: Aid,
        reason: RefusedMessage,
    },
    Answered {
        agent: Aid,
        call: CallId,
        tool: String,
        outcome: ToolOutcome,
    },
    /// The call had its answer before, or will get it.
    Repeated {
        agent: Aid,
        call: CallId,
    },
    /// The answer cannot be sent.
    NotAnswered {
        agent: Aid,
        call: CallId,
        error: Box<MessengerError>,
    },
}

/// An inbox whose calls of tools go through a guard.
#[derive(Debug)]
pub struct GuardedInbox<P, T> {
    messenger: Messenger,
    guard: Guard<P, T>,
    grants: DeviceGrants,
}

/// A call that has its answer.
struct Handled {
    seq: i64,
    /// Of a call that was started, not of one that was refused.
    started: Option<Aid>,
    notice: GuardNotice,
}

/// A call with what surrounds it.
struct IncomingCall {
    seq: i64,
    agent: Aid,
    call: ToolCall,
    conversation: CallConversation,
}

type Handling<'a> = FuturesUnordered<BoxFuture<'a, Result<Handled, GuardedInboxError>>>;

type Refresh<'a> = Fuse<BoxFuture<'a, Result<(RefreshStart, ServerState), GuardedInboxError>>>;

/// What an event means for what is known about relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventEffect {
    None,
    /// It may be out of date, and the server cannot be asked now.
    Stale,
    /// It may be out of date: ask the server.
    Refresh,
}

impl<P: Prompts + Send + Sync, T: Tools + Send + Sync> GuardedInbox<P, T> {
    /// Takes the grants of some agents from the store of the device. Calls of others are denied.
    pub fn open(messenger: Messenger, guard: Guard<P, T>, agents: &[Aid]) -> Result<Self, GuardedInboxError> {
        let mut grants = DeviceGrants::new();
        for agent in agents {
            if let Some(grant) = messenger.store().tool_grant(agent)? {
                grants.insert(agent.clone(), grant);
            }
        }
        Ok(Self { messenger, guard, grants })
    }

    /// Handles calls until an error that a retry does not help. When the future is dropped, calls in flight are not confirmed: they
    /// come again.
    ///
    /// A call runs at most once. One that was interrupted by the end of the process is answered with `TOOL_PLATFORM_ERROR`.
    ///
    /// Calls wait in the inbox while relations may have changed: from a lost connection, missed events or an event about relations
    /// until the server has been asked. So do tools that a person allows meanwhile.
    ///
    /// No agent takes the room of the others: it has its share of the calls that are handled beside each other, and of those that
    /// wait. What is more is answered with `TOOL_PLATFORM_ERROR`.
    pub async fn run(&self, mut notify: impl FnMut(GuardNotice) + Send) -> GuardedInboxError {
        match self.try_run(&mut notify).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn try_run(
        &self,
        notify: &mut (impl FnMut(GuardNotice) + Send),
    ) -> Result<Infallible, GuardedInboxError> {
        let (mut inbox, mut events) = (self.messenger.follow(), self.messenger.socket().events());
        let (mut calls, mut queue, mut open) =
            (Handling::new(), CallQueue::default(), OpenMessages::default());
        let freshness = watch::Sender::<RelationsFreshness>::default();
        let mut known: Option<ServerState> = None;
        let mut refresh: Refresh<'_> = Fuse::terminated();
        loop {
            while let Some(call) = queue.start() {
                calls.push(self.handle(call, freshness.subscribe()).boxed());
            }
            let takes_items = freshness.borrow().is_fresh() && calls.len() < MAX_CALLS;
            tokio::select! {
                biased;
                event = events.next() => {
                    match self.apply_event(event, known.as_mut(), notify)? {
                        EventEffect::None => {}
                        EventEffect::Stale => {
                            freshness.send_modify(RelationsFreshness::invalidate);
                            // The next connection starts another one.
                            refresh = Fuse::terminated();
                        }
                        EventEffect::Refresh => {
                            freshness.send_modify(RelationsFreshness::invalidate);
                            let start = freshness.borrow().start_refresh();
                            refresh = self.fetch(start);
                        }
                    }
                }
                fetched = &mut refresh => {
                    let (start, fetched) = fetched?;
                    if freshness.send_if_modified(|freshness| freshness.end_refresh(start)) {
                        self.apply(&fetched)?;
                        self.tell(known.as_ref(), &fetched, notify);
                        known = Some(fetched);
                    }
                }
                Some(handled) = calls.next() => {
                    let Handled { seq, started, notice } = handled?;
                    if let Some(agent) = started {
                        queue.end(&agent);
                    }
                    notify(notice);
                    inbox.confirm(open.end(seq))?;
                }
                // It also tells the server what was confirmed: nothing else here waits for the server.
                item = inbox.next(), if takes_items => {
                    if let Some(call) = take(self.messenger.aid(), item?, &mut inbox, &mut open, notify)? {
                        let (agent, bytes) = (call.agent.clone(), call.call.arguments.to_string().len());
                        if let Some(call) = queue.push(&agent, bytes, call) {
                            calls.push(self.refuse(call).boxed());
                        }
                    }
                }
            }
        }
    }

    fn fetch(&self, start: RefreshStart) -> Refresh<'_> {
        fetch_state(&self.messenger, &self.grants).map_ok(move |state| (start, state)).boxed().fuse()
    }

    /// Returns what an event means. What it takes away holds at once.
    fn apply_event(
        &self,
        event: Option<SocketEvent>,
        known: Option<&mut ServerState>,
        notify: &mut (impl FnMut(GuardNotice) + Send),
    ) -> Result<EventEffect, GuardedInboxError> {
        match event {
            Some(SocketEvent::Connected(_) | SocketEvent::Missed) => Ok(EventEffect::Refresh),
            Some(SocketEvent::Notification(notification)) => match relation_event(&notification) {
                Some(RelationEvent::Changed(changed)) => {
                    if let Some(known) = known {
                        restrict(&mut known.active, &changed);
                        self.apply(known)?;
                    }
                    Ok(EventEffect::Refresh)
                }
                Some(RelationEvent::Other) => Ok(EventEffect::Refresh),
                None => Ok(EventEffect::None),
            },
            Some(SocketEvent::Disconnected(error)) => {
                notify(GuardNotice::Disconnected(error));
                Ok(EventEffect::Stale)
            }
            Some(SocketEvent::Ended(error)) => Err(MessengerError::from(error).into()),
            None => Err(MessengerError::from(SocketError::Closed).into()),
        }
    }

    /// Gives the guard what counts now.
    fn apply(&self, state: &ServerState) -> Result<(), GuardedInboxError> {
        for (aid, grant) in &self.grants {
            match state.effective(aid, grant)? {
                Some(effective) => self.guard.set_grant(aid, effective),
                None => self.guard.revoke(aid),
            }
        }
        Ok(())
    }

    fn tell(
        &self,
        before: Option<&ServerState>,
        now: &ServerState,
        notify: &mut (impl FnMut(GuardNotice) + Send),
    ) {
        for (aid, grant) in &self.grants {
            let scopes = |state: &ServerState| {
                let active = state.active.get(&(grant.agent, aid.clone())).cloned().unwrap_or_default();
                grant.scopes.intersection(&active.scopes).cloned().collect::<BTreeSet<_>>()
            };
            let scopes_now = scopes(now);
            if before.map(scopes).as_ref() != Some(&scopes_now) {
                notify(GuardNotice::Scopes { agent: aid.clone(), scopes: scopes_now });
            }
        }
        if before.is_none() {
            notify(GuardNotice::Ready);
        }
    }

    async fn handle(
        &self,
        incoming: IncomingCall,
        mut freshness: watch::Receiver<RelationsFreshness>,
    ) -> Result<Handled, GuardedInboxError> {
        // What is known may have become stale after the call was taken. No error: the sender outlives the calls.
        drop(freshness.wait_for(RelationsFreshness::is_fresh).await);
        let are_up_to_date = async move { drop(freshness.wait_for(RelationsFreshness::is_fresh).await) };
        let outcome = self.guard.handle_with(incoming.received(), are_up_to_date).await;
        let (seq, started) = (incoming.seq, Some(incoming.agent.clone()));
        Ok(Handled { seq, started, notice: self.answer(incoming, outcome).await? })
    }

    /// Answers a call that there is no room for.
    async fn refuse(&self, incoming: IncomingCall) -> Result<Handled, GuardedInboxError> {
        let outcome = self.guard.refuse(incoming.received());
        let seq = incoming.seq;
        Ok(Handled { seq, started: None, notice: self.answer(incoming, outcome).await? })
    }

    async fn answer(
        &self,
        incoming: IncomingCall,
        outcome: Result<ToolOutcome, GuardError>,
    ) -> Result<GuardNotice, GuardedInboxError> {
        let IncomingCall { seq: _, agent, call, conversation } = incoming;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(GuardError::Replayed(call)) => return Ok(GuardNotice::Repeated { agent, call }),
            // Where the answer was stored before, this one is the same message.
            Err(GuardError::Interrupted(_)) => ToolOutcome::Failed(ToolErrorCode::PlatformError),
            Err(GuardError::AuditLog(error)) => return Err(error.into()),
        };
        let (tool, call) = (call.tool, call.id);
        let response = ToolResponse { id: call.clone(), outcome: outcome.clone() };
        Ok(match send_answer(&self.messenger, &agent, &conversation.id, response).await {
            Ok(()) => GuardNotice::Answered { agent, call, tool, outcome },
            Err(error) => GuardNotice::NotAnswered { agent, call, error: Box::new(error) },
        })
    }
}

impl IncomingCall {
    fn received(&self) -> ReceivedCall<'_> {
        let CallConversation { id, kind } = &self.conversation;
        ReceivedCall { agent: &self.agent, conversation: id, kind: *kind, call: &self.call }
    }
}

/// Takes an item. Returns the call in it; everything else is confirmed.
fn take(
    own: &Aid,
    item: InboxItem,
    inbox: &mut InboxFollower,
    open: &mut OpenMessages,
    notify: &mut (impl FnMut(GuardNotice) + Send),
) -> Result<Option<IncomingCall>, GuardedInboxError> {
    let Some(seq) = item.seq() else { return Ok(None) };
    if let InboxItem::Message(message) = item {
        match read_call(own, &message) {
            Ok(Some((call, conversation))) => {
                open.begin(seq);
                return Ok(Some(IncomingCall { seq, agent: message.from.clone(), call, conversation }));
            }
            Ok(None) => {}
            Err(reason) => notify(GuardNotice::Refused { from: message.from.clone(), reason }),
        }
    }
    inbox.confirm(open.end(seq))?;
    Ok(None)
}

fn read_call(
    own: &Aid,
    message: &ReceivedMessage,
) -> Result<Option<(ToolCall, CallConversation)>, RefusedMessage> {
    if !is_from_other(message, own) {
        return Ok(None);
    }
    match read(message)? {
        Some(ToolTraffic::Call { call, conversation }) => Ok(Some((call, conversation))),
        Some(ToolTraffic::Response(_)) | None => Ok(None),
    }
}
