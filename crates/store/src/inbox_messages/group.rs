//! Group commit: messages of many senders are stored in one transaction.
//!
//! There are a few lanes, each with its own connection; an inbox always uses the same lane of a replica. The next group
//! collects while a lane waits for a commit, so no message is delayed to fill a group.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use guildhall_domain::messages::{InboxId, InboxSeq};
use guildhall_runtime::Tasks;
use metrics::{counter, histogram};
use sqlx::{Connection, PgConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::insert::{NewMessage, SendError, StoredMessage, insert};
use crate::{Store, StoreError};

/// Connections of a writer. Fewer lanes make larger groups.
const LANES: usize = 2;

/// Messages that wait for one lane: 220 MB of the largest ones, and usually less than 1 MB.
const MAX_WAITING: usize = 512;

/// Messages of one group: enough to amortise the commit, few enough to keep the latency low.
const MAX_GROUP: usize = 256;

/// Bytes of payloads of one group.
const MAX_GROUP_BYTES: usize = 8 * 1024 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

type Outcome = Result<StoredMessage, SendError>;

struct PendingMessage {
    message: NewMessage,
    reply: oneshot::Sender<Outcome>,
}

/// An inbox has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxUpdate {
    pub inbox: InboxId,
    pub last_seq: InboxSeq,
}

/// Stores messages in groups. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MessageWriter {
    lanes: Vec<mpsc::Sender<PendingMessage>>,
}

impl MessageWriter {
    /// Starts the lanes. Each reports growing inboxes on `updates`; a timer finds reports that were dropped.
    #[must_use]
    pub fn start(store: &Store, tasks: &Tasks, updates: &mpsc::Sender<Vec<InboxUpdate>>) -> Self {
        let lanes = (0..LANES).map(|_| {
            let (sender, requests) = mpsc::channel(MAX_WAITING);
            let lane = Lane { store: store.clone(), requests, updates: updates.clone(), connection: None };
            tasks.spawn("message-lane", lane.run(tasks.stop()));
            sender
        });
        Self { lanes: lanes.collect() }
    }

    /// Stores a message, and returns after PostgreSQL has confirmed the commit.
    pub async fn send(&self, message: NewMessage) -> Outcome {
        let (reply, response) = oneshot::channel();
        let lane = usize::try_from(message.inbox.get()).unwrap_or_default() % self.lanes.len().max(1);
        self.lanes[lane].try_send(PendingMessage { message, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SendError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => SendError::Store(StoreError::Closed),
        })?;
        response.await.unwrap_or(Err(SendError::Store(StoreError::Closed)))
    }
}

struct Lane {
    store: Store,
    requests: mpsc::Receiver<PendingMessage>,
    updates: mpsc::Sender<Vec<InboxUpdate>>,
    connection: Option<PgConnection>,
}

impl Lane {
    /// Runs until `stop`; messages that were queued by then are still stored.
    async fn run(mut self, stop: CancellationToken) {
        loop {
            let first = tokio::select! {
                biased;
                first = self.requests.recv() => first,
                () = stop.cancelled() => {
                    self.requests.close();
                    self.requests.recv().await
                }
            };
            let Some(first) = first else { return };
            let group = self.collect_group(first);
            self.commit(group).await;
        }
    }

    fn collect_group(&mut self, first: PendingMessage) -> Vec<PendingMessage> {
        let mut bytes = first.message.payload.len();
        let mut group = vec![first];
        while group.len() < MAX_GROUP
            && bytes < MAX_GROUP_BYTES
            && let Ok(next) = self.requests.try_recv()
        {
            bytes += next.message.payload.len();
            group.push(next);
        }
        group
    }

    async fn commit(&mut self, group: Vec<PendingMessage>) {
        #[expect(clippy::cast_precision_loss, reason = "a count of messages is exact to 2^53")]
        histogram!("guildhall_message_group_size").record(group.len() as f64);
        let messages: Vec<&NewMessage> = group.iter().map(|pending| &pending.message).collect();
        let results = self.store_all(&messages).await;
        self.announce(&messages, &results);
        for (pending, result) in group.into_iter().zip(results) {
            // The sender may have gone away; the message stays.
            let _sender_gone = pending.reply.send(result);
        }
    }

    /// Stores a group. An outage is retried once for the whole group, because the connection may be of a PostgreSQL that was
    /// restarted; then all fail together. A group that PostgreSQL rejects is stored one by one: one message fails alone.
    ///
    /// Repeated messages are recognised by their ids, so this is safe after a commit with an unknown outcome.
    async fn store_all(&mut self, messages: &[&NewMessage]) -> Vec<Outcome> {
        let mut stored = self.store_group(messages).await;
        if let Err(StoreError::Unavailable(error)) = &stored {
            debug!(error = error as &dyn Error, "cannot store the group: trying a new connection");
            stored = self.store_group(messages).await;
        }
        match stored {
            Ok(results) => results,
            Err(StoreError::Unavailable(error)) => {
                debug!(error = &error as &dyn Error, "cannot store the group: PostgreSQL does not respond");
                messages.iter().map(|_| Err(StoreError::lost_with_group().into())).collect()
            }
            Err(error) => {
                debug!(error = &error as &dyn Error, "cannot store the group: storing one by one");
                counter!("guildhall_message_groups_split_total").increment(1);
                self.store_one_by_one(messages).await
            }
        }
    }

    /// Ends at the first outage: a silent PostgreSQL would cost the time of a connection attempt for each message.
    async fn store_one_by_one(&mut self, messages: &[&NewMessage]) -> Vec<Outcome> {
        let (mut results, mut is_unavailable) = (Vec::with_capacity(messages.len()), false);
        for message in messages {
            if is_unavailable {
                results.push(Err(StoreError::lost_with_group().into()));
                continue;
            }
            let outcome = self.store_alone(message).await;
            is_unavailable = matches!(&outcome, Err(SendError::Store(StoreError::Unavailable(_))));
            results.push(outcome);
        }
        results
    }

    async fn store_alone(&mut self, message: &NewMessage) -> Outcome {
        let mut results = self.store_group(std::slice::from_ref(&message)).await?;
        results.pop().unwrap_or(Err(SendError::Store(StoreError::Closed)))
    }

    async fn store_group(&mut self, messages: &[&NewMessage]) -> Result<Vec<Outcome>, StoreError> {
        let answer_timeout = self.store.answer_timeout;
        let stored = timeout(answer_timeout, self.try_group(messages)).await;
        let stored = stored.unwrap_or_else(|_| Err(StoreError::silent()));
        if stored.is_err() {
            // Perhaps it is in the middle of a transaction.
            self.connection = None;
        }
        stored
    }

    async fn try_group(&mut self, messages: &[&NewMessage]) -> Result<Vec<Outcome>, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            closed => closed.insert(connect(&self.store).await?),
        };
        let mut transaction = connection.begin().await?;
        let results = insert(&mut transaction, messages).await?;
        transaction.commit().await?;
        Ok(results)
    }

    fn announce(&self, messages: &[&NewMessage], results: &[Outcome]) {
        let mut grown: HashMap<InboxId, InboxSeq> = HashMap::new();
        for (message, result) in messages.iter().zip(results) {
            // A repeat too: the first announcement may have been lost with its commit's answer.
            if let Ok(StoredMessage::New { seq, .. } | StoredMessage::Repeated { seq, .. }) = result {
                let last = grown.entry(message.inbox).or_default();
                *last = (*last).max(*seq);
            }
        }
        let updates = grown.into_iter().map(|(inbox, last_seq)| InboxUpdate { inbox, last_seq }).collect();
        let _timer_finds_it = self.updates.try_send(updates);
    }
}

async fn connect(store: &Store) -> Result<PgConnection, StoreError> {
    // The statements never change; planning them each time would cost more than running them.
    let options =
        store.pool.connect_options().as_ref().clone().options([("plan_cache_mode", "force_generic_plan")]);
    let connecting = timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&options));
    let opened = connecting.await.map_err(|_| StoreError::from(sqlx::Error::PoolTimedOut))?;
    Ok(opened?)
}
