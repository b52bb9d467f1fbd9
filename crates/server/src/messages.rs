//! Messages between AIDs: how long they are kept, the removal of what has expired, and the answers of agents.

use std::time::Duration;

use guildhall_runtime::Tasks;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_service::front::agent_inboxes::AnswerMessages;
use guildhall_service::messages::ExpireMessages;
use guildhall_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::Config;

/// The partitions of a longer lifetime would be too large, or too many.
const MAX_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
const MIN_LIFETIME: Duration = Duration::from_secs(1);

/// `aun.message_lifetime` is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid aun.message_lifetime (GUILDHALL_AUN_MESSAGE_LIFETIME): expected a second to 30 days, such as 24h"
)]
pub struct InvalidMessageLifetime;

/// Returns how long durable messages are kept.
pub(crate) fn lifetime(config: &Config) -> Result<SignedDuration, InvalidMessageLifetime> {
    let configured = config.aun.message_lifetime;
    if !(MIN_LIFETIME..=MAX_LIFETIME).contains(&configured) {
        return Err(InvalidMessageLifetime);
    }
    SignedDuration::try_from(configured).map_err(|_| InvalidMessageLifetime)
}

/// Creates the partitions of messages, and starts to remove what has expired. `store` connects as the owner of the tables.
pub(crate) async fn start_expiry(
    store: &Store,
    lifetime: SignedDuration,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) -> Result<(), StoreError> {
    let expire = ExpireMessages { store: store.clone(), lifetime, stop: tasks.stop() };
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
