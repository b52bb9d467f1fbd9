//! Confirms messages: moves the cursor of an instance, and tells the senders.

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::InboxSeq;
use guildhall_domain::messages::keys::MAX_DEVICES;
use guildhall_runtime::Clock;
use guildhall_store::{Store, inbox_cursors, inbox_senders};

use super::InboxClient;
use super::ack_notice::AckNotice;
use super::addresses::Addresses;
use super::notices::Notices;
use crate::ServiceError;

/// Senders that one confirmation tells.
const MAX_TOLD: u32 = 100;

/// A cursor after a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmedCursor {
    pub ack_seq: InboxSeq,
}

/// Confirms messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Acks {
    store: Store,
    clock: Clock,
    addresses: Addresses,
    notices: Notices,
}

impl Acks {
    pub(super) fn new(store: Store, clock: Clock, addresses: Addresses, notices: Notices) -> Self {
        Self { store, clock, addresses, notices }
    }

    /// Confirms everything up to a seq: of one sender, or of all. A cursor never goes back, and not past the end of the inbox.
    pub async fn confirm(
        &self,
        client: &InboxClient,
        sender: Option<&Aid>,
        seq: InboxSeq,
    ) -> Result<ConfirmedCursor, ServiceError> {
        let (inbox, instance, now) = (client.inbox, &client.instance, self.clock.now());
        let sender = match sender {
            Some(sender) => Some(self.addresses.inbox_of(sender).await?),
            None => None,
        };
        inbox_cursors::see_instance(&self.store, inbox, instance, MAX_DEVICES, now).await?;
        let moved = inbox_cursors::advance(&self.store, inbox, instance, sender, seq).await?;
        if moved.ack_seq > moved.earlier {
            let range = (moved.earlier, moved.ack_seq);
            let told = inbox_senders::list_confirmed(&self.store, inbox, range, sender, MAX_TOLD).await?;
            for (to, _, newest) in told {
                let notice = AckNotice {
                    by: client.aid.clone(),
                    instance: instance.clone(),
                    ack_seq: newest,
                    at: now,
                };
                self.notices.add(to, notice);
            }
        }
        Ok(ConfirmedCursor { ack_seq: moved.ack_seq })
    }
}
