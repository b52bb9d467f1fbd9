//! Renews the certificates of agents before they end.

use guildhall_store::{StoreError, agent_inboxes};
use jiff::SignedDuration;

use super::reconcile::{AnswerMessages, warn_of};

/// A certificate is renewed when it has less than this left of its 90 days.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Certificates renewed in one round.
const BATCH: u32 = 20;

impl AnswerMessages {
    pub(super) async fn renew_certificates(&self) -> Result<(), StoreError> {
        let Ok(aids) = self.identity.aids() else { return Ok(()) };
        let before = self.clock.now() + RENEW_BEFORE;
        for aid in agent_inboxes::list_expiring(&self.deps.store, before, BATCH).await? {
            if let Err(error) = aids.renew_hosted(&aid, RENEW_BEFORE).await {
                warn_of(&aid, &error, "cannot renew the certificate of an agent");
            }
        }
        Ok(())
    }
}
