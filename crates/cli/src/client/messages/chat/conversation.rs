//! What is said between two AIDs: what comes is sorted out and stored, what is typed is sent in its order.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use anyhow::Result;
use guildhall_domain::identity::Aid;
use guildhall_sdk::messages::{
    InboxItem, Messenger, MessengerError, ReceivedMessage, SealChoice, SendOptions, SentMessage,
};
use guildhall_sdk::socket::SocketError;
use tokio::time::Instant;

use super::super::payload::{is_typing, text_payload, typing_payload};
use super::history::{ChatEntry, ChatHistory};
use crate::client::aid_socket::OpenDevice;

/// How often the peer is told that somebody is typing.
const TYPING_PAUSE: Duration = Duration::from_secs(5);

/// What an item of the inbox means for a conversation.
#[derive(Debug)]
pub(super) enum ChatEvent {
    /// A message of the peer, or of another device of this AID to the peer.
    Message(ChatEntry),
    /// The peer is typing.
    Typing,
    /// The peer has recalled messages that may be shown.
    Recalled,
    /// A message of the peer that cannot be read, and why.
    Unreadable(String),
    /// Somebody else has written; `guildhall inbox` shows it.
    OtherSender(Aid),
    CaughtUp,
    Disconnected(SocketError),
    /// Nothing to show.
    Nothing,
}

/// A conversation with one peer.
pub(super) struct Conversation {
    own: Aid,
    peer: Aid,
    history: ChatHistory,
    /// Messages that were shown, by whether they are own ones and their id: the inbox may have them again.
    known: HashSet<(bool, String)>,
    other_senders: HashSet<Aid>,
}

type Sending = Pin<Box<dyn Future<Output = SendOutcome> + Send>>;

/// A message that was sent, or was not.
pub(super) struct SendOutcome {
    /// The number of the message in this chat.
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) result: Result<SentMessage, MessengerError>,
}

/// Sends messages one after the other.
pub(super) struct Outbox {
    messenger: Messenger,
    to: Aid,
    seal: SealChoice,
    waiting: VecDeque<(u64, String)>,
    sending: Option<Sending>,
    typing: Option<Sending>,
    typing_sent_at: Option<Instant>,
    last_number: u64,
}

impl Conversation {
    /// Opens a conversation. Returns its history too, the oldest message first.
    pub(super) fn open(device: &OpenDevice, peer: &Aid) -> Result<(Self, Vec<ChatEntry>)> {
        let history = ChatHistory::open(device, peer)?;
        let entries = history.load()?;
        let known = entries.iter().filter_map(ChatEntry::key).collect();
        let (own, other_senders) = (device.aid.clone(), HashSet::new());
        Ok((Self { own, peer: peer.clone(), history, known, other_senders }, entries))
    }

    /// Says what an item means, and stores it if it belongs to the conversation.
    pub(super) fn receive(&mut self, item: InboxItem) -> Result<ChatEvent> {
        match item {
            InboxItem::Message(message) => self.receive_message(&message),
            InboxItem::Recall(recall) if recall.from == self.peer => {
                let was_shown = recall.message_ids.iter().any(|id| self.known.contains(&(false, id.clone())));
                self.history.append(&ChatEntry::Recall { ids: recall.message_ids })?;
                Ok(if was_shown { ChatEvent::Recalled } else { ChatEvent::Nothing })
            }
            InboxItem::Unreadable(message) if message.from == self.peer.to_string() => {
                Ok(ChatEvent::Unreadable(message.reason.to_string()))
            }
            InboxItem::Recall(_) | InboxItem::Unreadable(_) => Ok(ChatEvent::Nothing),
            InboxItem::CaughtUp => Ok(ChatEvent::CaughtUp),
            InboxItem::Disconnected(error) => Ok(ChatEvent::Disconnected(error)),
        }
    }

    fn receive_message(&mut self, message: &ReceivedMessage) -> Result<ChatEvent> {
        let is_own = message.from == self.own && message.to == self.peer;
        if message.from != self.peer && !is_own {
            let is_new = !is_typing(message) && self.other_senders.insert(message.from.clone());
            return Ok(if is_new {
                ChatEvent::OtherSender(message.from.clone())
            } else {
                ChatEvent::Nothing
            });
        }
        if is_typing(message) {
            return Ok(if is_own { ChatEvent::Nothing } else { ChatEvent::Typing });
        }
        if !self.known.insert((is_own, message.message_id.clone())) {
            return Ok(ChatEvent::Nothing);
        }
        let entry = ChatEntry::received(message, is_own);
        self.history.append(&entry)?;
        Ok(ChatEvent::Message(entry))
    }

    /// Stores a message that was sent.
    pub(super) fn add_sent(&mut self, sent: &SentMessage, text: String) -> Result<()> {
        self.known.insert((true, sent.message_id.clone()));
        self.history.append(&ChatEntry::sent(sent, text))
    }
}

impl Outbox {
    pub(super) fn new(messenger: Messenger, to: Aid, seal: SealChoice) -> Self {
        Self {
            messenger,
            to,
            seal,
            waiting: VecDeque::new(),
            sending: None,
            typing: None,
            typing_sent_at: None,
            last_number: 0,
        }
    }

    /// Queues a message. Returns its number.
    pub(super) fn push(&mut self, text: String) -> u64 {
        self.last_number += 1;
        self.waiting.push_back((self.last_number, text));
        // What comes next is typed anew.
        self.typing_sent_at = None;
        self.last_number
    }

    /// Tells the peer now and then that somebody is typing. Nobody needs to know whether that arrives.
    pub(super) fn tell_typing(&mut self) {
        let is_due = self.typing_sent_at.is_none_or(|at| at.elapsed() >= TYPING_PAUSE);
        if is_due && self.typing.is_none() {
            self.typing_sent_at = Some(Instant::now());
            self.typing = Some(self.send(0, String::new(), true));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sending.is_none() && self.waiting.is_empty()
    }

    /// Waits until the next message was sent; forever while there is none. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> SendOutcome {
        loop {
            if self.sending.is_none()
                && let Some((number, text)) = self.waiting.pop_front()
            {
                self.sending = Some(self.send(number, text, false));
            }
            tokio::select! {
                outcome = poll(&mut self.sending) => return outcome,
                _ = poll(&mut self.typing) => {}
            }
        }
    }

    fn send(&self, number: u64, text: String, is_typing: bool) -> Sending {
        let (messenger, to) = (self.messenger.clone(), self.to.clone());
        let mut options = SendOptions::default().with_seal(self.seal);
        let payload = if is_typing { typing_payload() } else { text_payload(&text) };
        if is_typing {
            options = options.ephemeral();
        }
        Box::pin(async move {
            let result = messenger.send(&to, &payload, &options).await;
            SendOutcome { number, text, result }
        })
    }
}

/// Waits for a message that is being sent, and forgets it then; forever if there is none.
async fn poll(sending: &mut Option<Sending>) -> SendOutcome {
    let Some(future) = sending else { return std::future::pending().await };
    let outcome = future.await;
    *sending = None;
    outcome
}
