//! Following a run: every event once, in order, from where the reader left off, on any replica.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::journal::{Cursor, Gap, Seq};
use guildhall_store::journal::Entry;
use guildhall_store::runs as rows;

use super::Runs;
use crate::ServiceError;
use crate::journal::{Follower, Opening};

/// An open stream of a run's events.
#[derive(Debug)]
pub struct RunStream {
    pub run: RunId,
    pub tenant: TenantId,
    opening: Opening,
    follower: Follower,
}

impl RunStream {
    /// Waits for the next event. After an error it may be asked again; nothing is lost.
    pub async fn next(&mut self) -> Result<(Entry, Cursor), ServiceError> {
        let entry = self.follower.next().await?;
        let cursor = Cursor { incarnation: self.opening.incarnation, seq: entry.seq };
        Ok((entry, cursor))
    }

    /// Returns why the reader's cursor led nowhere, and the run begins anew.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.opening.gap
    }

    /// Returns where history ended, once all of it was handed out.
    #[must_use]
    pub fn replayed(&self) -> Option<Seq> {
        (self.follower.position() >= self.opening.last).then_some(self.opening.last)
    }
}

impl Runs {
    /// Follows a run from a cursor, or from its beginning. The caller's authority must be looked at again meanwhile.
    pub async fn follow(
        &self,
        caller: &Caller,
        id: RunId,
        cursor: Option<Cursor>,
    ) -> Result<RunStream, ServiceError> {
        let run = self.load(caller, id, Right::RunsRead).await?;
        let stream = rows::stream(id);
        let opening = Opening::find(&self.store, stream, cursor).await?;
        let follower = self.journals.follow(stream, opening.after);
        Ok(RunStream { run: id, tenant: run.tenant, opening, follower })
    }

    /// Returns whether a caller may read the runs of a tenant now.
    #[must_use]
    pub fn may_read(caller: &Caller, tenant: TenantId) -> bool {
        caller.acting(tenant).and_then(|acting| acting.require(Right::RunsRead)).is_ok()
    }
}
