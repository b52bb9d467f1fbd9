//! The questions of a tenant as they are asked and answered.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::{Cursor, Entry, Gap, Seq};
use guildhall_store::approvals::stream;

use super::Approvals;
use crate::ServiceError;
use crate::journal::{EntryStream, read_end};

/// A waiting caller reads again at least this often.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// An open stream of the questions of a tenant.
#[derive(Debug)]
pub struct ApprovalStream {
    pub tenant: TenantId,
    entries: EntryStream,
}

impl ApprovalStream {
    /// Waits for the next event. May be called again after an error; no event is lost.
    pub async fn next(&mut self) -> Result<(Entry, Cursor), ServiceError> {
        self.entries.next().await
    }

    /// Returns why the cursor was unusable and the stream starts from the beginning.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.entries.gap()
    }

    /// Returns the seq where history ends, once all of it was returned.
    #[must_use]
    pub fn replayed(&self) -> Option<Seq> {
        self.entries.replayed()
    }
}

impl Approvals {
    /// Returns the position after everything that has happened. Read it before a list, and continue after it.
    pub async fn position(&self, caller: &Authorized<RunsRead>) -> Result<Cursor, ServiceError> {
        Ok(read_end(&self.deps.store, stream(caller.tenant())).await?)
    }

    /// Follows the questions of a tenant from a cursor, or from now on. The caller must re-check authority while the
    /// stream is open.
    pub async fn follow(
        &self,
        caller: &Authorized<RunsRead>,
        cursor: Option<Cursor>,
    ) -> Result<ApprovalStream, ServiceError> {
        let (tenant, deps) = (caller.tenant(), &self.deps);
        let cursor = match cursor {
            Some(cursor) => cursor,
            None => self.position(caller).await?,
        };
        let entries = EntryStream::open(&deps.store, &deps.journals, stream(tenant), Some(cursor)).await?;
        Ok(ApprovalStream { tenant, entries })
    }

    /// Waits until something has happened after a position, at most for a time. A position from before a restore of the
    /// database is in the past.
    pub async fn wait_for_change(
        &self,
        caller: &Authorized<RunsRead>,
        after: Cursor,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        let deadline = tokio::time::Instant::now() + wait;
        let mut growth = self.deps.journals.watch_growth(stream(caller.tenant()));
        loop {
            let now = tokio::time::Instant::now();
            if self.position(caller).await? != after || now >= deadline {
                return Ok(());
            }
            let until = deadline.min(now + POLL_INTERVAL);
            let _growth_or_timeout = tokio::time::timeout_at(until, growth.next()).await;
        }
    }
}
