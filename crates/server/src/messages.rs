//! Messages between AIDs: how long they are kept, the removal of what has expired, and the answers of agents.

use std::time::Duration;

use guildhall_domain::messages::{MAX_MESSAGE_LIFETIME, MAX_QUEUE_LIFETIME};
use guildhall_runtime::Tasks;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_service::front::agent_inboxes::AnswerMessages;
use guildhall_service::messages::ExpireMessages;
use guildhall_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::Config;

const MIN_LIFETIME: Duration = Duration::from_secs(1);

/// A lifetime of messages is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessageLifetime {
    #[error(
        "invalid aun.message_lifetime (GUILDHALL_AUN_MESSAGE_LIFETIME): expected a second to 30 days, such as 24h"
    )]
    Durable,
    #[error(
        "invalid aun.queue_lifetime (GUILDHALL_AUN_QUEUE_LIFETIME): expected a second to an hour, such as 5m"
    )]
    Queue,
}

/// How long messages are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageLifetimes {
    pub(crate) durable: SignedDuration,
    /// Those of the mode `queue`.
    pub(crate) queue: Duration,
}

impl MessageLifetimes {
    pub(crate) fn new(config: &Config) -> Result<Self, InvalidMessageLifetime> {
        let (durable, queue) = (config.aun.message_lifetime, config.aun.queue_lifetime);
        if !(MIN_LIFETIME..=MAX_MESSAGE_LIFETIME).contains(&durable) {
            return Err(InvalidMessageLifetime::Durable);
        }
        if !(MIN_LIFETIME..=MAX_QUEUE_LIFETIME).contains(&queue) {
            return Err(InvalidMessageLifetime::Queue);
        }
        let durable = SignedDuration::try_from(durable).map_err(|_| InvalidMessageLifetime::Durable)?;
        Ok(Self { durable, queue })
    }
}

/// Creates the partitions of messages, and starts to remove what has expired. `store` connects as the owner of the tables.
pub(crate) async fn start_expiry(
    store: &Store,
    lifetimes: MessageLifetimes,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) -> Result<(), StoreError> {
    let MessageLifetimes { durable: lifetime, queue: queue_lifetime } = lifetimes;
    let expire = ExpireMessages { store: store.clone(), lifetime, queue_lifetime, stop: tasks.stop() };
    // The lifetime may be longer than it was: its messages need partitions before the first one is sent.
    expire.create_partitions().await?;
    reconcilers.start(tasks, ExpireMessages::INTERVAL, expire);
    Ok(())
}

/// Starts to answer the messages of agents.
pub(crate) fn start_answers(answers: AnswerMessages, tasks: &Tasks, reconcilers: &Reconcilers) {
    let signal = reconcilers.start(tasks, AnswerMessages::INTERVAL, answers.clone());
    answers.notify(signal);
}
