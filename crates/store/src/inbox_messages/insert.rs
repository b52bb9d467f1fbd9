//! Stores messages under the locks of their inboxes.

use std::collections::{HashMap, HashSet};

use guildhall_domain::ids::RelationId;
use guildhall_domain::messages::{InboxId, InboxSeq, MessageId, MessageKind, RING_SIZE};
use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::{Timestamp as SqlTimestamp, ToSqlx};
use sqlx::PgConnection;

use crate::inboxes::{LockedHeads, seq};
use crate::{StoreError, relations};

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Stored until it expires.
    Durable,
    /// The ring, for one instance, or for the first one that asks.
    Ring { instance: Option<(String, String)> },
}

/// A message to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub inbox: InboxId,
    pub sender: InboxId,
    /// The recipient that the sender named, where it is another inbox.
    pub recipient: Option<InboxId>,
    pub id: MessageId,
    pub kind: MessageKind,
    /// The consent under which its sender calls a tool; none for a message that is no call. Once it has ended, the call is not
    /// stored.
    pub relation: Option<RelationId>,
    pub envelope_type: String,
    /// JSON.
    pub payload: String,
    pub target: Target,
    /// How long a durable message is kept.
    pub lifetime: SignedDuration,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredMessage {
    New {
        seq: InboxSeq,
        sent_at: Timestamp,
    },
    /// The sender has sent it before.
    Repeated {
        seq: InboxSeq,
        sent_at: Timestamp,
    },
}

/// Why a message was not stored.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The sender has used the id for other content.
    #[error("the message id was used for another message")]
    IdReused,
    /// The queue of the writer is full. Nothing was stored.
    #[error("too many messages are waiting")]
    Overloaded,
    /// The recipient has taken back the consent for calls of tools. Nothing was stored.
    #[error("the relation has ended")]
    RelationEnded,
    /// The store failed. If the connection was lost during the commit, the message may have been stored: send it again with
    /// the same id.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Stores messages in the open transaction of a connection. The results are in the order of the messages.
pub(super) async fn insert(
    connection: &mut PgConnection,
    messages: &[&NewMessage],
) -> Result<Vec<Result<StoredMessage, SendError>>, StoreError> {
    let (heads, known) = lock_and_find_known(connection, messages).await?;
    let mut plan = Plan::new(heads, active_relations(connection, messages).await?);
    let results = messages.iter().zip(known).map(|(message, known)| plan.place(message, &known)).collect();
    plan.write(connection).await?;
    Ok(results)
}

/// Returns the relations of calls that have not ended. Whoever ends one locks the same heads afterwards, to remove its calls: it
/// finds those that are stored now, and none is stored later.
async fn active_relations(
    connection: &mut PgConnection,
    messages: &[&NewMessage],
) -> Result<HashSet<RelationId>, StoreError> {
    let named: Vec<RelationId> = messages.iter().filter_map(|message| message.relation).collect();
    if named.is_empty() {
        return Ok(HashSet::new());
    }
    relations::active_of(connection, &named).await
}

/// What the database knows of a message before it is stored.
#[derive(Debug, Clone, Default)]
struct StoredState {
    sender_head: InboxSeq,
    stored: Option<(InboxSeq, Timestamp, Content)>,
}

/// What a repeated message is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    kind: String,
    /// None where it was recalled.
    payload: Option<String>,
}

/// Locks the heads of the inboxes, and reads what is known of each message.
async fn lock_and_find_known(
    connection: &mut PgConnection,
    messages: &[&NewMessage],
) -> Result<(LockedHeads, Vec<StoredState>), StoreError> {
    let inboxes: Vec<i64> = messages.iter().map(|message| message.inbox.get()).collect();
    let senders: Vec<i64> = messages.iter().map(|message| message.sender.get()).collect();
    let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
    let rows = sqlx::query_file!(
        "queries/inbox_messages/lock_and_find_sent.sql",
        &inboxes,
        &senders,
        &ids as &[&str]
    )
    .fetch_all(connection)
    .await?;
    let mut heads = LockedHeads { last_seqs: HashMap::new(), now: Timestamp::UNIX_EPOCH };
    let mut known = vec![StoredState::default(); messages.len()];
    for row in rows {
        if let (Some(inbox), Some(last_seq), Some(now)) = (row.locked_inbox, row.last_seq, row.locked_at) {
            heads.last_seqs.insert(InboxId::new(inbox), seq(last_seq));
            heads.now = heads.now.max(now.to_jiff());
            continue;
        }
        let place = row.place.and_then(|place| usize::try_from(place - 1).ok());
        let Some(known) = place.and_then(|place| known.get_mut(place)) else { continue };
        known.sender_head = row.head_seq.map(seq).unwrap_or_default();
        if let (Some(stored), Some(sent_at), Some(kind)) = (row.seq, row.sent_at, row.kind) {
            let content = Content { kind, payload: row.payload };
            known.stored = Some((seq(stored), sent_at.to_jiff(), content));
        }
    }
    Ok((heads, known))
}

type MessageKey<'a> = (InboxId, InboxId, &'a str);

/// The rows to write, as columns.
struct Plan<'a> {
    heads: LockedHeads,
    active_relations: HashSet<RelationId>,
    changed: HashMap<InboxId, InboxSeq>,
    sender_heads: HashMap<(InboxId, InboxId), InboxSeq>,
    durable: Vec<(&'a NewMessage, InboxSeq, InboxSeq)>,
    ring: Vec<(&'a NewMessage, InboxSeq)>,
    /// Messages of this group by their id: the same one may be in it twice.
    placed: HashMap<MessageKey<'a>, (InboxSeq, &'a NewMessage)>,
}

impl<'a> Plan<'a> {
    fn new(heads: LockedHeads, active_relations: HashSet<RelationId>) -> Self {
        Self {
            heads,
            active_relations,
            changed: HashMap::new(),
            sender_heads: HashMap::new(),
            durable: Vec::new(),
            ring: Vec::new(),
            placed: HashMap::new(),
        }
    }

    fn place(&mut self, message: &'a NewMessage, known: &StoredState) -> Result<StoredMessage, SendError> {
        if let Some((seq, sent_at, content)) = &known.stored {
            let repeated = StoredMessage::Repeated { seq: *seq, sent_at: *sent_at };
            return if is_repeat(message, content) { Ok(repeated) } else { Err(SendError::IdReused) };
        }
        let now = self.heads.now;
        let key = (message.inbox, message.sender, message.id.as_str());
        if let Some((seq, first)) = self.placed.get(&key) {
            let content =
                Content { kind: first.kind.as_str().to_owned(), payload: Some(first.payload.clone()) };
            let repeated = StoredMessage::Repeated { seq: *seq, sent_at: now };
            return if is_repeat(message, &content) { Ok(repeated) } else { Err(SendError::IdReused) };
        }
        if message.relation.is_some_and(|relation| !self.active_relations.contains(&relation)) {
            return Err(SendError::RelationEnded);
        }
        let seq = self.next_seq(message.inbox);
        self.placed.insert(key, (seq, message));
        match message.target {
            Target::Durable => {
                let head =
                    self.sender_heads.entry((message.inbox, message.sender)).or_insert(known.sender_head);
                self.durable.push((message, seq, *head));
                *head = seq;
            }
            Target::Ring { .. } => self.ring.push((message, seq)),
        }
        Ok(StoredMessage::New { seq, sent_at: now })
    }

    fn next_seq(&mut self, inbox: InboxId) -> InboxSeq {
        let last = self.heads.last_seqs.entry(inbox).or_default();
        *last = last.next();
        self.changed.insert(inbox, *last);
        *last
    }

    async fn write(self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        self.write_durable(connection).await?;
        if self.ring.is_empty() { Ok(()) } else { self.write_ring(connection).await }
    }

    /// Also moves the heads, so it runs even where all messages go to rings.
    async fn write_durable(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let rows = &self.durable;
        let column = |value: fn(&NewMessage) -> i64| -> Vec<i64> {
            rows.iter().map(|(message, ..)| value(message)).collect()
        };
        let text = |value: fn(&NewMessage) -> &str| -> Vec<&str> {
            rows.iter().map(|(message, ..)| value(message)).collect()
        };
        let recipients: Vec<Option<i64>> =
            rows.iter().map(|(message, ..)| message.recipient.map(InboxId::get)).collect();
        let seqs: Vec<i64> = rows.iter().map(|(_, seq, _)| seq.get()).collect();
        let relations: Vec<Option<uuid::Uuid>> =
            rows.iter().map(|(message, ..)| message.relation.map(RelationId::as_uuid)).collect();
        let previous: Vec<i64> = rows.iter().map(|(.., previous)| previous.get()).collect();
        let now = self.heads.now;
        let lifetime = rows.first().map_or(SignedDuration::ZERO, |(message, ..)| message.lifetime);
        let (heads, next): (Vec<i64>, Vec<i64>) =
            self.changed.iter().map(|(inbox, seq)| (inbox.get(), seq.get())).unzip();
        let senders: Vec<(i64, i64, i64)> = self
            .sender_heads
            .iter()
            .map(|((inbox, sender), seq)| (inbox.get(), sender.get(), seq.get()))
            .collect();
        let sender_column =
            |value: fn(&(i64, i64, i64)) -> i64| -> Vec<i64> { senders.iter().map(value).collect() };
        sqlx::query_file!(
            "queries/inbox_messages/insert.sql",
            &column(|message| message.inbox.get()),
            &seqs,
            &column(|message| message.sender.get()),
            &recipients as &[Option<i64>],
            &text(|message| message.id.as_str()) as &[&str],
            &text(|message| message.kind.as_str()) as &[&str],
            &text(|message| &message.envelope_type) as &[&str],
            &previous,
            &text(|message| &message.payload) as &[&str],
            now.to_sqlx() as SqlTimestamp,
            now.saturating_add(lifetime).unwrap_or(now).to_sqlx() as SqlTimestamp,
            &heads,
            &next,
            &sender_column(|sender| sender.0),
            &sender_column(|sender| sender.1),
            &sender_column(|sender| sender.2),
            &relations as &[Option<uuid::Uuid>]
        )
        .execute(connection)
        .await?;
        Ok(())
    }

    async fn write_ring(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let rows = &self.ring;
        let column = |value: fn(&NewMessage) -> i64| -> Vec<i64> {
            rows.iter().map(|(message, _)| value(message)).collect()
        };
        let text = |value: fn(&NewMessage) -> &str| -> Vec<&str> {
            rows.iter().map(|(message, _)| value(message)).collect()
        };
        let instance = |part: fn(&(String, String)) -> &str| -> Vec<Option<&str>> {
            let instance = |message: &'a NewMessage| match &message.target {
                Target::Durable => None,
                Target::Ring { instance } => instance.as_ref().map(part),
            };
            rows.iter().map(|(message, _)| instance(message)).collect()
        };
        let seqs: Vec<i64> = rows.iter().map(|(_, seq)| seq.get()).collect();
        sqlx::query_file!(
            "queries/ring_messages/insert.sql",
            &column(|message| message.inbox.get()),
            &seqs,
            &column(|message| message.sender.get()),
            &text(|message| message.id.as_str()) as &[&str],
            &text(|message| message.kind.as_str()) as &[&str],
            &text(|message| &message.envelope_type) as &[&str],
            &text(|message| &message.payload) as &[&str],
            &instance(|(device, _)| device) as &[Option<&str>],
            &instance(|(_, slot)| slot) as &[Option<&str>],
            self.heads.now.to_sqlx() as SqlTimestamp,
            i64::from(RING_SIZE)
        )
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// A sealed message differs each time that it is sealed: the id decides alone. One that was recalled has no content left.
fn is_repeat(message: &NewMessage, stored: &Content) -> bool {
    let is_same = stored.payload.as_deref().is_none_or(|payload| payload == message.payload);
    stored.kind == message.kind.as_str() && (message.kind.is_sealed() || is_same)
}
